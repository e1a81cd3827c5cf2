#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout: 300
# Each installed unit is valid, and as restricted as documented.
. "$(dirname "$0")/tap.sh"
here=$(cd "$(dirname "$0")" && pwd)

installed() # system|user PATTERN
{
	dpkg -L sbx-tools | grep -E "/systemd/$1/[^/]*\\.$2\$" || :
}

verified() # UNIT [OPTION]
{
	unit=$1
	shift
	told=$(SYSTEMD_LOG_LEVEL=warning systemd-analyze "$@" verify --man=no "$unit" 2>&1) || fail "$told"
	[ -z "$told" ] || fail "$told"
}

every_unit_is_understood()
{
	[ -n "$(installed system '[a-z]*')" ] || fail 'there are no units'
	for unit in $(installed system '[a-z]*'); do verified "$unit"; done
}

every_user_unit_is_understood()
{
	XDG_RUNTIME_DIR=$(mktemp -d)
	export XDG_RUNTIME_DIR
	for unit in $(installed user '[a-z]*'); do verified "$unit" --user; done
}

refuses_a_misspelt_protection()
{
	! (verified "$here/fixtures/misspelt.service") || fail 'it was accepted'
}

every_service_keeps_its_bound()
{
	# shellcheck disable=SC2046 # names of units have no spaces
	"$here/check-exposure" $(installed '(system|user)' service)
}

accepts_a_service_that_is_well_confined() { "$here/check-exposure" "$here/fixtures/probe.service"; }

accepts_a_wider_bound_with_a_reason() { "$here/check-exposure" "$here/fixtures/builder.service"; }

refused() { ! "$here/check-exposure" "$here/fixtures/$1" || fail "$1 was accepted"; }

refuses_a_weak_service() { refused weak.service; }

refuses_a_wider_bound_without_a_reason() { refused unreasoned.service; }

refuses_a_bound_above_every_bound() { refused greedy.service; }

needs_its_wider_bound()
{
	sed '/exposure-bound/d' "$here/fixtures/builder.service" >/tmp/builder.service
	! "$here/check-exposure" /tmp/builder.service || fail 'the fixture shows nothing'
}

run_tests \
	every_unit_is_understood \
	every_user_unit_is_understood \
	refuses_a_misspelt_protection \
	every_service_keeps_its_bound \
	accepts_a_service_that_is_well_confined \
	accepts_a_wider_bound_with_a_reason \
	needs_its_wider_bound \
	refuses_a_weak_service \
	refuses_a_wider_bound_without_a_reason \
	refuses_a_bound_above_every_bound
