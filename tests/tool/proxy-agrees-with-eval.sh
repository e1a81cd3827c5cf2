#!/bin/bash
# SPDX-License-Identifier: MIT
# The decisions of sbx-proxy and of sbx-policy eval, compared on random policies and requests.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

if ! unshare -rn true 2>/dev/null; then
	skip the_proxy_connects_where_eval_allows 'no network namespace can be made here'
	finish
	exit
fi

compare() { # SEED POLICIES REQUESTS [--plant]
	run unshare -rn sh -c 'ip link set lo up && ip route add local 0.0.0.0/0 dev lo && ip -6 route add local ::/0 dev lo &&
		exec python3 "$@"' sh "$SBX_SOURCE/tests/tool/proxy-agrees-with-eval.py" "$@"
}

compare 1 25 40
check the_proxy_connects_where_eval_allows has_status 0
sed 's/^/# /' "$work/out"
compare 3 4 20 --plant
check a_planted_mistake_is_found has_status 0
finish
