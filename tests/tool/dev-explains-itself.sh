#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

dev=$SBX_SOURCE/dev
run "$dev" help
check help_is_a_success has_status 0
for verb in run test build vm bench lint fuzz coverage install-deps shell fresh packages; do
	check "help_names_$verb" out_has "  $verb "
done

for verb in test vm fuzz lint install-deps packages; do
	run "$dev" "$verb" --help
	check "${verb}_has_help_and_does_nothing_else" out_has '  fuzz [TARGET...] '
done

# With CDPATH, cd prints a path and may change to another directory.
mkdir "$work/$(basename "$SBX_SOURCE")"
cd "$SBX_SOURCE/.." || exit 1
run env CDPATH="$work" "$(basename "$SBX_SOURCE")/dev" packages build
check cdpath_does_not_lead_astray out_has clang
cd "$work" || exit 1

run "$dev" frobnicate
check an_unknown_verb_ends_with_125 has_status 125
check an_unknown_verb_is_told_where_to_look err_has 'fix: see ./dev help'

run "$dev" packages build
check the_build_set_names_the_compiler_of_bpf out_has clang
run "$dev" packages nonsense
check an_unknown_set_is_refused has_status 125
check an_unknown_set_is_told_the_known_ones err_has toolchain

chmod 755 "$work"
run "$dev" run -- sh -c "touch '$work/trace'; exit 7"
check run_passes_the_status_on has_status 7
check run_never_runs_the_command_bare test ! -e "$work/trace"
finish
