#!/bin/sh
# SPDX-License-Identifier: MIT
# A program reads errors of sbx as JSON objects: level, what, why, fix, context. Needs python3.
set -eu

sbx-config --json set color sometimes 2>&1 >/dev/null |
	python3 -c 'import json, sys; error = json.loads(sys.stdin.readline()); print("what to do:", error["fix"])'
