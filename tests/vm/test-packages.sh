#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout: 600
# The packages install all their files and remove them again. They are installed at the start and at the end of this
# test, because other tests need them; "before" was noted before their first installation.
. "$(dirname "$0")/tap.sh"
ours='sbx-tools libsbx0 libsbx-dev'

trap '[ -e /usr/bin/sbx-spawn ] || install_again >&2' EXIT

install_again() { sh "$SBX_VM/install"; }

purge()
{
	# shellcheck disable=SC2086 # names of packages
	dpkg --purge $ours
}

are_installed()
{
	for package in $ours; do
		[ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$package")" = 'ii ' ]
	done
	[ -z "$(dpkg --audit)" ]
}

unpack_what_they_say() { [ -z "$(dpkg --verify sbx-tools libsbx0 libsbx-dev)" ]; }

tools() { dpkg -L sbx-tools | grep '^/usr/bin/.'; }

bring_tools_of_their_version()
{
	version=$(dpkg-query -W -f '${Version}' sbx-tools)
	[ -n "$(tools)" ]
	for tool in $(tools); do
		"$tool" --version | grep -F "$version" || fail "$tool is not $version"
	done
}

bring_tools_that_find_their_libraries()
{
	for tool in $(tools); do
		! ldd "$tool" | grep 'not found' || fail "$tool"
	done
}

leave_the_name_of_another_product_alone()
{
	# shellcheck disable=SC2086 # names of packages
	dpkg -L $ours | while read -r path; do
		case $path in */sbx) [ -d "$path" ] || fail "$path" ;; esac
	done
	! command -v sbx
}

make_their_folders()
{
	for place in /etc/sbx /run/sbx /var/lib/sbx; do
		[ "$(stat -c '%A %U %G' "$place")" = 'drwxr-xr-x root root' ] || fail "$place: $(stat "$place")"
	done
}

make_their_group() { getent group sbx; }

purge_to_nothing()
{
	: >/var/lib/sbx/left-behind
	purge
	"$SBX_VM/snapshot" >/tmp/after
	expect_same /run/sbx-vm/before /tmp/after
	install_again
	are_installed
}

keep_the_configuration_when_removed()
{
	: >/etc/sbx/mine
	# shellcheck disable=SC2086 # names of packages
	dpkg --remove $ours
	[ -e /etc/sbx/mine ]
	getent group sbx
	install_again
}

keep_what_an_administrator_wrote_when_purged()
{
	: >/etc/sbx/mine
	purge
	[ -e /etc/sbx/mine ]
	rm /etc/sbx/mine
	install_again
	are_installed
}

run_tests \
	are_installed \
	unpack_what_they_say \
	bring_tools_of_their_version \
	bring_tools_that_find_their_libraries \
	leave_the_name_of_another_product_alone \
	make_their_folders \
	make_their_group \
	purge_to_nothing \
	keep_the_configuration_when_removed \
	keep_what_an_administrator_wrote_when_purged
