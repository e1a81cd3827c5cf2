#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

run sbx-spawn --polcy x -- true
check a_mistyped_option_ends_with_125 has_status 125
check a_mistyped_option_names_the_one_that_was_meant err_has "fix: did you mean '--policy'?"
check a_mistyped_option_leaves_stdout_empty out_is ''
check the_last_line_of_the_error_is_the_fix test "$(tail -n 1 "$work/err" | cut -c1-6)" = '  fix:'

run sbx-spawn --json --polcy x
check json_gives_the_error_as_one_object \
	err_is "{\"level\":\"error\",\"what\":\"unknown option '--polcy'\",\"why\":\"there is no such option\",\"fix\":\"did you mean '--policy'?\"}"
run sbx-spawn --polcy=x --json
check json_counts_also_behind_the_mistake err_has '{"level":"error"'
run sbx-spawn --polcy=x jq --json
check json_of_the_command_is_not_ours err_has "sbx-spawn: unknown option '--polcy'"
run sbx-spawn --policy --json --polcy
check json_as_a_value_is_not_ours err_has "sbx-spawn: unknown option '--polcy'"

run sbx-spawn
check a_missing_command_ends_with_125 has_status 125
check a_missing_command_says_how_to_write_one err_has "fix: write 'sbx-spawn -- COMMAND'"
finish
