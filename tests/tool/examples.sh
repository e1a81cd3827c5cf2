#!/bin/sh
# SPDX-License-Identifier: MIT
. "$SBX_SOURCE/tests/tool/tap.sh"

unset SBX_COLOR SBX_PROGRESS SBX_LOG_LEVEL
export HOME="$work/home" XDG_CONFIG_HOME="$work/config"

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
finish
