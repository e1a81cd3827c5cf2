#!/bin/sh
# SPDX-License-Identifier: MIT
# Keep a baseline, compare with it later: sbx-bench ends with 1 when a ratio got worse by more than the threshold.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

sbx-bench --json --filter=frame --samples=20 >"$folder/baseline.jsonl"
if sbx-bench --filter=frame --samples=20 --threshold=1000 --compare "$folder/baseline.jsonl"; then
	echo "no regression"
else
	echo "something got slower"
fi
