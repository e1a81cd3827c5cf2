#!/bin/bash
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

unset SBX_COLOR SBX_PROGRESS SBX_LOG_LEVEL
export HOME="$work/home" XDG_CONFIG_HOME="$work/config"

cd "$work" || exit 1

for script in "$SBX_SOURCE"/examples/*.sh; do
	example=$(basename "$script" .sh)
	run "$script"
	check "${example}_succeeds" has_status 0
	check "${example}_is_in_the_list" grep -q "\`$example.sh\`" "$SBX_SOURCE/examples/README.md"
done
run "$SBX_SOURCE/examples/errors-for-programs.sh"
check the_error_object_holds_the_fix out_has 'what to do: '
run "$SBX_SOURCE/examples/settings-with-origins.sh"
check the_project_and_the_variable_are_named test "$(grep -c -e '.sbx/config.yaml:1' -e 'SBX_COLOR' "$work/out")" -eq 2

run "$SBX_SOURCE/examples/what-would-it-change.sh"
check changes_are_listed test "$(grep -cx -e './settings' -e './new-file' "$work/out")" -eq 2

notice() { "$SBX_SOURCE/examples/notice-a-regression.sh" baseline.jsonl; }
run notice
check a_baseline_is_written_where_there_is_none grep -q '"name":"frame_parse"' baseline.jsonl
check a_comparison_is_judged test "${out##*$'\n'}" = 'no regression' -o "${out##*$'\n'}" = 'something got slower'
sed -i -E 's/"ratio":[0-9.]+/"ratio":0.0001/' baseline.jsonl
run notice
check a_slower_run_is_said test "${out##*$'\n'}" = 'something got slower'
sed -i -E 's/"ratio":[0-9.]+/"ratio":1000/' baseline.jsonl
run notice
check a_faster_run_is_said test "${out##*$'\n'}" = 'no regression'
echo '{"name":7}' >baseline.jsonl
run notice
check a_broken_baseline_is_a_failure has_status 2
check a_broken_baseline_gets_no_verdict out_is ''
finish
