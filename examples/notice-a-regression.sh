#!/bin/sh
# SPDX-License-Identifier: MIT
# Keep a baseline and compare with it later: the first run writes FILE, each later one reports whether something got
# slower. Exits with 0 unless the comparison itself failed.
set -eu

baseline=${1:-baseline.jsonl}
[ -e "$baseline" ] || sbx-bench --json --filter=frame --samples=20 >"$baseline"

status=0
sbx-bench --filter=frame --samples=20 --threshold=1000 --compare "$baseline" || status=$?
case $status in
0) echo "no regression" ;;
1) echo "something got slower" ;;
*) exit "$status" ;; # sbx-bench has printed the error
esac
