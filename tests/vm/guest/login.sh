# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Printed at the first login on the console of './dev vm --shell'.
if [ ! -e /run/sbx-vm-greeted ]; then
	: >/run/sbx-vm-greeted
	export SBX_VM=/opt/sbx-vm
	echo 'sbx: installing the packages'
	sh /opt/sbx-vm/install >/run/sbx-vm-install.log 2>&1 || cat /run/sbx-vm-install.log
	echo 'sbx: tests: sh /opt/sbx-vm/tests/test-X.sh    leave: poweroff (or Ctrl-a x)'
fi
