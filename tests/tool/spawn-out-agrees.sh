#!/bin/bash
# SPDX-License-Identifier: MIT
# The changes that --out collects, as a directory or an archive, compared with what random commands changed.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

compare() { # SEED TREES [--plant]
	places
	run as "$who" env TMPDIR="$work/$who" python3 "$work/agrees.py" "$@"
	sed 's/^/# /' "$work/out" "$work/err"
}

cp "$SBX_SOURCE/tests/tool/spawn-out-agrees.py" "$work/agrees.py"
for who in $starters; do
	compare 1 20
	check "the_changes_are_what_the_command_did_by_$who" has_status 0
	compare 2 5 --plant
	check "a_planted_mistake_is_found_by_$who" has_status 0
done
finish
