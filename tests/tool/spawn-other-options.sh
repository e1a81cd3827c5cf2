#!/bin/bash
# SPDX-License-Identifier: MIT
# Options of bubblewrap, firejail and Docker are explained by options that sbx-spawn has.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

sbx-spawn --help >"$work/help"
mapfile -t others < <(sed -n '/^static const struct option_other others/,/^};/s/^\t{ "\([^"]*\)".*/\1/p' "$SBX_SOURCE/tools/sbx-spawn.c")
exists() { grep -qE "(^|[ ,])$1([ =]|\$)" "$work/help"; }
wrong=()
for name in "${others[@]}"; do
	run sbx-spawn "--$name" x y -- true
	[ "$status" -eq 125 ] && err_has "why: it is an option of" || wrong+=("--$name: $err")
	! exists "--$name" || wrong+=("--$name exists")
	while read -r option; do
		exists "$option" || wrong+=("--$name: $option does not exist")
	done < <(sed -n 's/^ *fix: //p' "$work/err" | grep -oE -- '--[a-z-]+')
done
check there_are_such_options test "${#others[@]}" -gt 40
check each_is_explained_by_options_that_exist test "${#wrong[@]}" -eq 0
printf '# %s\n' "${wrong[@]}"
finish
