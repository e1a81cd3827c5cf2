#!/bin/bash
# SPDX-License-Identifier: MIT
# What a policy or --deny denies is denied under every name inside, whatever options and mounts show: random policies and options
# over random trees. SEED=N takes another seed than 1, POLICIES=N changes their number.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

if ! unshare -Urm true 2>/dev/null; then
	skip denials_hold 'no user namespace can be made here'
	finish
	exit
fi
seed=${SEED:-1}
echo "# seed: SEED=$seed"
compare() { # ARGUMENT...
	run python3 "$SBX_SOURCE/tests/tool/policy-denials-hold.py" "$seed" "${POLICIES:-60}" "$@"
}

compare
check denials_hold has_status 0
sed 's/^/# /' "$work/out"
if [ "$(id -u)" = 0 ]; then
	compare --root
	check denials_hold_in_sandboxes_of_root has_status 0
	sed 's/^/# /' "$work/out"
fi
compare --plant
check a_planted_mistake_is_found has_status 0
finish
