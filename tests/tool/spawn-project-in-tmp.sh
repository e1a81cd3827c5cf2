#!/bin/bash
# SPDX-License-Identifier: MIT
# A project below /tmp, where the rules around it are about a fresh tmpfs, is shown and written as anywhere else.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

place=$(mktemp -d /tmp/sbx-test.XXXXXX)
trap 'rm -rf "$work" "$place"' EXIT
chmod 755 "$place"
project=$place
mkdir "$project/src"

says_less() { grep -q 'is allowed, but not possible here' "$work/out"; }

for who in $starters; do
	places
	for words in '--write .' '--write src' '--read . --write .' '--read . --write src' '--tmpfs src' '--bind src:/mnt'; do
		# shellcheck disable=SC2086
		run spawn $words --print-plan -- true
		check "a_plan_is_made_for $words by_$who" has_status 0
		check "it_says_of_nothing_that_it_is_allowed_and_impossible for $words by_$who" test "$(says_less && echo less)" = ''
	done
	run spawn --read . --write . -- sh -c 'echo 1 >f && cat f && rm f'
	check "what_is_read_and_written_is_both_by_$who" test "$status$out" = 01
	run spawn --write src -- sh -c 'echo 1 >src/f && ! touch g 2>/dev/null && cat src/f'
	check "what_is_not_named_is_not_written_by_$who" test "$status$out" = 01
	run spawn -- sh -c "! touch g 2>/dev/null && echo 1 >$place.f && cat $place.f"
	check "what_stands_around_it_is_written_by_$who" test "$status$out" = 01
	check "nothing_of_that_is_left_by_$who" test ! -e "$place.f" -a ! -e "$project/g"
done

# A rule about /tmp is not about the host's files that are shown in it.
cat >"$work/p.yaml" <<'END'
capabilities:
 - {name: system, match: {op: [fs.read, fs.list, fs.exists, exec], path: [/usr, /bin, /lib, /lib64, ./]}, action: allow}
 - {name: tmp, match: {op: fs.*, path: /tmp}, action: allow}
END
chmod 644 "$work/p.yaml"
run spawn --policy "$work/p.yaml" --print-plan -v -- true
check a_plan_says_why_it_permits_less out_has "what is allowed in a fresh /tmp does not count for the host's files"
run spawn --policy "$work/p.yaml" -- touch g
check it_does_permit_less test "$status" -ne 0 -a ! -e "$project/g"
finish
