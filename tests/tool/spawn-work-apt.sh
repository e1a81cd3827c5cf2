#!/bin/bash
# SPDX-License-Identifier: MIT
# Real work that must fail: apt-get finds a package in its index, but cannot download it without a network.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

package=$(apt-cache pkgnames hello 2>/dev/null | grep -x hello)
lists=(--read /var/lib/apt --read /var/lib/dpkg --read /var/cache/apt --write .)
if [ -z "$package" ] || ! apt-get download --print-uris hello >"$work/uris" 2>/dev/null; then
	skip apt_get_cannot_fetch 'apt has no lists of packages here'
	finish
	exit
fi

for who in $starters; do
	run spawn -q "${lists[@]}" -- apt-get download --print-uris hello
	check "apt_get_knows_where_it_lies_by_$who" test "$status" -eq 0 -a "$out" = "$(cat "$work/uris")"
	run spawn -q "${lists[@]}" -- apt-get -o Acquire::Retries=0 download hello
	check "apt_get_fails_by_$who" has_status 100
	check "apt_get_says_that_it_could_not_fetch_by_$who" err_has 'Failed to fetch'
	check "nothing_was_fetched_by_$who" test -z "$(ls "$project")"
done
finish
