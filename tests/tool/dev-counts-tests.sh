#!/bin/bash
# SPDX-License-Identifier: MIT
# tests/run.py, which runs and counts the tests of "./dev test", on a small project: what must count as a failure.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

mkdir "$work/tests"
cp "$SBX_SOURCE/tests/run.py" "$work/tests"
cat >"$work/meson.build" <<-'END'
	project('sbx')
	foreach name, suite : {'alpha': 'unit', 'beta': 'tool'}
	  test(name, find_program('bash'), args: files('tests' / name + '.sh'), suite: suite, protocol: 'tap')
	endforeach
END
for name in alpha beta; do
	printf '%s\n' '. "$SBX_SOURCE/tests/tool/tap.sh"' "check ${name}_is_true true" \
		"for way in here; do check ${name}_goes_\$way true; done" finish >"$work/tests/$name.sh"
done
printf '%s\n' '# a comment' '' 'unit/alpha: no such device' >"$work/tests/skips"
meson setup "$work/build" "$work" >"$work/setup.log" 2>&1 || cat "$work/setup.log"
dev_test() { # [NAME=VALUE...] -- WORD...
	local settings=()
	while [ "$1" != -- ]; do settings+=("$1"); shift; done
	run env -u TEST_ONLY -u CI "${settings[@]}" python3 -B "$work/tests/run.py" "$work/build" "${@:2}"
}

dev_test -- --suite=unit --suite=tool
check every_case_is_counted has_status 0
check every_case_is_counted_once out_has '4 passed, 0 failed, 0 skipped'

dev_test -- alpha
check a_name_selects_a_test out_has '2 passed, 0 failed, 0 skipped'
dev_test -- alpha_is_true
check a_name_selects_a_case out_has '1 passed, 0 failed, 0 skipped'
check a_name_selects_a_case_and_passes has_status 0

dev_test -- --sanitize --suite=unit --suite=tool
check sanitizers_run_what_they_add_to out_has '4 passed, 0 failed, 0 skipped'
sed -i "s/suite: suite,/suite: name == 'beta' ? [suite, 'plain'] : [suite],/" "$work/meson.build"
meson setup --reconfigure "$work/build" "$work" >"$work/setup.log" 2>&1 || cat "$work/setup.log"
dev_test -- --sanitize --suite=unit --suite=tool
check sanitizers_leave_out_a_plain_test out_has '2 passed, 0 failed, 0 skipped'
dev_test -- --sanitize beta
check a_plain_test_that_is_named_runs_with_sanitizers out_has '2 passed, 0 failed, 0 skipped'
dev_test -- --suite=tool
check a_plain_test_counts_for_its_suite out_has '2 passed, 0 failed, 0 skipped'

if [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
	sed -i "s|^finish|check a_record_is_made touch /var/lib/sbx/of-a-test /run/sbx/of-a-test\\n&|" "$work/tests/beta.sh"
	dev_test SBX_TEST_MOUNTS= -- beta
	check roots_tests_may_write_records out_has '3 passed, 0 failed, 0 skipped'
	check roots_tests_leave_no_records test ! -e /var/lib/sbx/of-a-test -a ! -e /run/sbx/of-a-test
	rm -f /var/lib/sbx/of-a-test /run/sbx/of-a-test
fi

# A meson that fails before it runs a test.
mkdir "$work/bin"
printf '%s\n' '#!/bin/sh' '[ "$1" != test ] || exit 1' "exec '$(command -v meson)' \"\$@\"" >"$work/bin/meson"
chmod +x "$work/bin/meson"
dev_test PATH="$work/bin:$PATH" -- --suite=unit
check the_answers_of_a_former_run_are_not_ours has_status 125
check the_answers_of_a_former_run_are_not_counted test ! -e "$work/build/meson-logs/counts.json"

dev_test -- --targets alpha
check targets_of_a_script_alone_are_none out_is ''
cat >>"$work/meson.build" <<-'END'
	foreach name : ['one', 'two']
	  custom_target(name, output: name, command: ['touch', '@OUTPUT@'], build_by_default: true)
	endforeach
	exe = custom_target('exe', output: 'exe', command: ['touch', '@OUTPUT@'], build_by_default: true)
	test('gamma', find_program('true'), depends: exe, suite: 'unit')
END
meson setup "$work/targets" "$work" >"$work/setup.log" 2>&1 || cat "$work/setup.log"
targets() { run python3 -B "$work/tests/run.py" "$work/targets" --targets "$@"; }
targets gamma
check a_unit_test_needs_only_its_own_targets out_is exe
targets beta
check a_script_may_start_anything_but_unit_tests out_is "$(printf 'one\ntwo')"
targets beta gamma
check two_tests_need_the_targets_of_both out_is "$(printf 'exe\none\ntwo')"
check nothing_is_run_for_targets test ! -e "$work/targets/meson-logs/testlog.json"

dev_test -- gamma
check a_name_of_nothing_is_refused has_status 2
dev_test -- alpha gamma
check one_name_of_nothing_among_others_is_refused has_status 2
check one_name_of_nothing_among_others_is_named err_has "no test is called 'gamma'"
check one_name_of_nothing_among_others_runs_nothing out_is ''
dev_test -- 'check beta'
check a_name_that_no_case_contains_is_not_green has_status 2
check a_name_that_no_case_contains_is_named err_has "no test is called 'check beta'"

printf '%s\n' '. "$SBX_SOURCE/tests/tool/tap.sh"' 'check alpha_is_here true' \
	'skip alpha_is_true "there is no such device"' finish >"$work/tests/alpha.sh"
dev_test -- --suite=unit --suite=tool
check a_skip_is_counted_and_said out_has 'skipped: unit/alpha: alpha_is_true: there is no such device'
dev_test CI=true -- --suite=unit --suite=tool
check ci_accepts_a_skip_of_the_list has_status 0
sed -i 's/no such device/no such kernel/' "$work/tests/skips"
dev_test CI=true -- --suite=unit --suite=tool
check ci_refuses_another_reason has_status 1
check ci_refuses_another_reason_by_name out_has "unit/alpha: alpha_is_true: was skipped, and tests/skips does not"
sed -i 's/.*/tool\/beta: no such device/' "$work/tests/skips"
dev_test CI=true -- --suite=unit --suite=tool
check ci_refuses_the_skip_of_another_test has_status 1
dev_test -- --suite=unit --suite=tool
check elsewhere_a_skip_is_only_said has_status 0

printf '%s\n' '. "$SBX_SOURCE/tests/tool/tap.sh"' 'run echo what it printed' 'check alpha_is_true false' \
	finish >"$work/tests/alpha.sh"
dev_test -- --suite=unit
check a_failure_is_said_at_the_end out_has 'failed: unit/alpha: alpha_is_true'
check the_report_has_the_failed_checks_remarks out_has 'failed:   # out: what it printed'
finish
