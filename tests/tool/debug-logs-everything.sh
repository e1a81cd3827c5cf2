#!/bin/bash
# SPDX-License-Identifier: MIT
# SBX_DEBUG with any value makes each tool log at debug level.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

places
# No journal: the log goes to stderr.
unset JOURNAL_STREAM
echo '{"version":1}' >"$work/p.yaml"
for tool in 'sbx-config list' "sbx-policy print $work/p.yaml" 'sbx-ctl list' 'sbx-bench --list'; do
	# shellcheck disable=SC2086 # words
	run as user env SBX_DEBUG='*' $tool
	check "it_logs_the_version_of_${tool%% *}" err_has "${tool%% *}: version "
	# shellcheck disable=SC2086 # words
	run as user env -u SBX_DEBUG $tool
	check "without_it_nothing_is_logged_by_${tool%% *}" err_is ''
done

run env SBX_DEBUG='*' SBX_COLOR=never sbx-config list
check it_logs_which_layer_says_so err_has 'sbx-config: color is never (SBX_COLOR)'

debug_spawn() { places; (cd "$project" && as "$who" env SBX_DEBUG='*' sbx-spawn -q "$@"); }
run debug_spawn --env SECRET=hidden-value -- true
check the_command_runs has_status 0
check the_plan_is_logged_line_by_line test "$(grep -c '^sbx-spawn: ' "$work/err")" -gt 10
check the_log_names_the_mounted_directory err_has "$project"
check no_value_of_a_variable_is_logged test "$(grep -c hidden-value "$work/err")" -eq 0
finish
