#!/bin/bash
# SPDX-License-Identifier: MIT
# gather refuses to run without root, and does nothing if the directory does not exist.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

if [ "$(id -u)" -eq 0 ]; then
	run setpriv --reuid=1000 --regid=1000 --clear-groups sbx-audit gather
else
	run sbx-audit gather
fi
check others_than_root_are_refused has_status 125
check names_the_owners_of_the_spools err_has 'they belong to root and to the users of services'
run sbx-audit gather somewhere
check takes_no_operand has_status 2
finish
