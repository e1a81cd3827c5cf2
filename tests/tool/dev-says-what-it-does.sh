#!/bin/bash
# SPDX-License-Identifier: MIT
# ./dev with stubs of build tools: the targets that it requests, and its output during the build and after failures.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

dev=$SBX_SOURCE/dev
mkdir -p "$work/bin" "$work/build/tools"
stub() { # FILE LINE...
	printf '%s\n' '#!/bin/sh' "${@:2}" >"$1"
	chmod +x "$1"
}
stub "$work/bin/dpkg-query" 'shift 3' 'printf "installed %s\n" "$@"'
stub "$work/build/tools/sbx-spawn" 'echo hello'
meson_ends_with() {
	rm -f "$work/build/build.ninja"
	stub "$work/bin/meson" 'echo "Compiler for C supports arguments -Wvla: YES"' 'echo "Dependency yaml-0.1 found: NO"' \
		": >'$work/configured'" "exit $1"
}
ninja_ends_with() {
	stub "$work/bin/ninja" "echo \"\$@\" >'$work/asked'" \
		'[ "$1" = --quiet ] || echo "ninja: Entering directory build"' \
		'[ "$1" = --quiet ] || echo "${NINJA_STATUS:+dev 7/9 }Compiling a.c"' \
		"[ $1 -eq 0 ] || echo 'a.c:1: error: no such thing'" "exit $1"
}
dev() { run env PATH="$work/bin:$PATH" SBX_BUILD="$work/build" "$dev" "$@"; }
dev_on_a_terminal() {
	run env PATH="$work/bin:$PATH" SBX_BUILD="$work/build" TERM=xterm python3 -c \
		'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$dev" "$@"
}
asked_is() { [ "$(cat "$work/asked")" = "$1" ]; }
lacks() { ! out_has "$1" && ! err_has "$1"; }

meson_ends_with 0
ninja_ends_with 0
dev run -- true
check run_builds_the_target_run asked_is "--quiet -C $work/build run"
check run_passes_the_output_on out_is hello
check without_a_terminal_it_says_that_it_configures err_is "dev: configuring $work/build"
dev build
check build_builds_all asked_is "--quiet -C $work/build"
dev_on_a_terminal run -- true
check on_a_terminal_it_says_that_it_configures out_has "dev: configuring $work/build"
check on_a_terminal_dev_counts_built_targets out_has 'dev: building 7/9'
check on_a_terminal_the_names_of_files_are_not_shown lacks 'Compiling a.c'
check the_output_of_meson_is_not_shown lacks 'Compiler for C'
check the_progress_is_erased_before_the_command_begins out_has "$(printf '\r\033[Khello')"

ninja_ends_with 3
dev_on_a_terminal run -- true
check a_failed_build_says_why out_has 'a.c:1: error: no such thing'
check a_failed_build_gives_its_status has_status 3
check a_failed_build_runs_nothing lacks hello
dev run -- true
check a_failed_build_without_a_terminal_says_why err_has 'a.c:1: error: no such thing'
check a_failed_build_without_a_terminal_gives_its_status has_status 3

ninja_ends_with 0
meson_ends_with 4
rm -f "$work/asked"
dev_on_a_terminal run -- true
check a_failed_configuration_shows_all_of_it out_has 'Compiler for C'
check a_failed_configuration_shows_its_end out_has 'Dependency yaml-0.1 found: NO'
check a_failed_configuration_gives_its_status has_status 4
check a_failed_configuration_builds_nothing test ! -e "$work/asked"

# The target of the real build.
run ninja -C "${SBX_BUILD:?}" -t inputs run
for module in filter scope output; do
	check "the_target_run_has_the_module_of_$module" out_has "lib/$module/"
done
check the_target_run_has_the_planner out_has lib/plan/libplan.a
check the_target_run_has_no_test lacks tests/unit
check the_target_run_has_no_other_tool lacks sbx-audit
finish
