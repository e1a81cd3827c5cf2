#!/bin/bash
# SPDX-License-Identifier: MIT
# Real work: CPython's regression tests. Tests that pass outside pass inside.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

python=/usr/bin/python3.11
if [ ! -e /usr/lib/python3.11/test/test_abc.py ] || [ ! -x "$python" ]; then
	skip cpython_tests_pass 'libpython3.11-testsuite is not installed'
	finish
	exit
fi

modules_of() { # WHO
	awk -v who="$1" -v slow="${TEST_SLOW:-0}" '/^test_/ && (slow == 1 || $2 == "" || ($2 == "computes" && who != "root")) { print $1 }' \
		"$SBX_SOURCE/tests/tool/cpython-modules"
}
path=/usr/local/bin:/usr/bin:/bin
# The time limit of regrtest is for each module, that of sbx-spawn for all of them.
# In a user namespace setreuid() fails with EINVAL for a uid that is not mapped, where these two accept EPERM only.
ignored=(-i '*.POSIXProcessTestCase.test_user' -i '*.POSIXProcessTestCase.test_group')
inside() { spawn -q --env PATH="$path" --write . --pids 300 --time 20m -- "$python" -m test -j2 --timeout 100 "${ignored[@]}" "$@"; }
outside() { (cd "$project" && PATH=$path as "$who" "$python" -m test --timeout 100 "$1"); }
failed() { sed -n '/ tests\{0,1\} failed:$/,/^$/p' "$work/out" | tail -n +2; }
# Does not count modules that also fail outside, or that fail only sometimes: some depend on the time, and the host
# may be busy.
worse_inside() {
	for module in $(failed); do
		outside "$module" >/dev/null 2>&1 || continue
		inside "$module" >/dev/null 2>&1 || echo "$module"
	done
}

check the_list_is_long test "$(modules_of user | wc -l)" -ge 60
for who in $starters; do
	modules_of "$who" >"$project/modules"
	n_modules=$(wc -l <"$project/modules")
	run inside --fromfile modules
	worse=$(worse_inside)
	passed=$(sed -n -e 's/^All \([0-9]*\) tests OK\.$/\1/p' -e 's/^\([0-9]*\) tests OK\.$/\1/p' "$work/out" | tail -n 1)
	# The complete log is long; the summary is at its end.
	out=$worse err=$(tail -n 20 "$work/err" "$work/out")
	check "no_module_fails_only_inside_by_$who" test -z "$worse"
	check "nearly_all_modules_run_by_$who" test "${passed:-0}" -ge "$((n_modules - 3))"
	run inside test_no_such_module
	out=''
	check "a_module_that_fails_inside_is_seen_by_$who" test "$status" -ne 0 -a "$status" -ne 125
done
finish
