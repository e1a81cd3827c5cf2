#!/bin/bash
# SPDX-License-Identifier: MIT
# Tools print colours on a terminal that supports them, unless an option or variable turns them off.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

unset NO_COLOR SBX_COLOR
export HOME="$work/home" XDG_CONFIG_HOME="$work/config" TERM=xterm
mkdir -p "$work/config/sbx" "$work/project"
cd "$work/project" || exit 1
escape=$(printf '\033[')

# Prints all output of the terminal; script(1) may lose the last part.
on_a_terminal() { python3 -B "$SBX_SOURCE/tests/tool/ctl-supervisor.py" terminal sh -c "$*"; }
is_colored() { out_has "${escape}1;31msbx-spawn${escape}0m: "; }
is_plain_json() { out_has '{"level":"error"' && ! out_has "$escape"; }
is_plain() { out_has 'sbx-spawn: ' && ! out_has "$escape"; }

rows=$(cat <<'END'
colored	a_terminal_gets_colours_for_a_mistake_in_the_line	sbx-spawn --polcy
colored	a_terminal_gets_colours_for_a_failure	sbx-spawn -- no-such-program
plain	no_color_says_no	NO_COLOR=1 sbx-spawn --polcy
colored	an_empty_no_color_says_nothing	NO_COLOR= sbx-spawn --polcy
plain	a_dumb_terminal_has_none	TERM=dumb sbx-spawn --polcy
plain	without_term_there_are_none	env -u TERM sbx-spawn --polcy
plain	never_is_never_for_a_mistake_in_the_line	SBX_COLOR=never sbx-spawn --polcy
plain	never_is_never_for_a_failure	SBX_COLOR=never sbx-spawn -- no-such-program
colored	always_beats_no_color	SBX_COLOR=always NO_COLOR=1 sbx-spawn --polcy
END
)
while IFS=$'\t' read -r look name line; do
	run on_a_terminal "$line"
	check "$name" "is_$look"
done <<<"$rows"

run on_a_terminal sbx-spawn --json --polcy
check json_has_none is_plain_json

run sbx-spawn --polcy
check a_file_gets_no_colours test "${err#*"$escape"}" = "$err"
run env SBX_COLOR=always sbx-spawn --polcy
check always_is_always_for_a_mistake_in_the_line err_has "${escape}1;31m"

echo 'color: never' >"$work/config/sbx/config.yaml"
run on_a_terminal sbx-spawn --polcy
check the_users_file_counts_for_a_mistake_in_the_line is_plain
echo 'color: sometimes' >"$work/config/sbx/config.yaml"
run on_a_terminal SBX_COLOR=never sbx-spawn -- true
check the_environment_applies_despite_a_broken_file is_plain
check a_broken_file_is_the_error out_has "'color' cannot be 'sometimes'"
finish
