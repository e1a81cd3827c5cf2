#!/bin/bash
# SPDX-License-Identifier: MIT
# The answers of sbx-policy eval with their notes, and what a command in a sandbox can do: random policies over random trees with
# symbolic links. SEED=N takes another seed than 1, POLICIES=N changes their number.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

if ! unshare -Urm true 2>/dev/null; then
	skip eval_agrees_with_the_sandbox 'no user namespace can be made here'
	finish
	exit
fi
seed=${SEED:-1}
echo "# seed: SEED=$seed"
compare() { # ARGUMENT...
	run python3 "$SBX_SOURCE/tests/tool/policy-eval-agrees.py" "$seed" "${POLICIES:-30}" "$@"
}

compare
check eval_agrees_with_the_sandbox has_status 0
sed 's/^/# /' "$work/out"
compare --mounts
check eval_agrees_with_the_sandbox_about_mounts has_status 0
sed 's/^/# /' "$work/out"
compare --plant
check a_planted_mistake_is_found has_status 0
finish
