#!/bin/bash
# SPDX-License-Identifier: MIT
# An rlimit only counts the private memory of each process, which is reported. In a strict template a System V
# segment, which no process is charged for, cannot be created.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

programs_policy
cat >>"$work/p.yaml" <<'END'
isolation: {template: ai-provider, seccomp: standard}
net: {mode: none}
END
# Creates and fills a segment of 300 MiB; the template's limit is 256 MiB.
cat >"$work/segment.py" <<'END'
import ctypes
import sys

BYTES, IPC_CREAT, IPC_RMID = 300 << 20, 0o1000, 0
library = ctypes.CDLL(None, use_errno=True)
library.shmat.restype = ctypes.c_void_p
number = library.shmget(0, ctypes.c_size_t(BYTES), IPC_CREAT | 0o600)
if number < 0:
    sys.exit(1)
place = library.shmat(number, None, 0)
ctypes.memset(ctypes.c_void_p(place), 1, BYTES)
library.shmctl(number, IPC_RMID, None)
END
chmod 644 "$work/segment.py"

for who in $starters; do
	run spawn --policy "$work/p.yaml" --print-plan -v -- true
	if ! out_has 'limit memory 256MiB by rlimit'; then
		skip "no_segment_passes_the_limit_by_$who" 'a cgroup counts the memory here'
		continue
	fi
	check "the_plan_names_the_enforced_part_by_$who" out_has 'by rlimit (private memory of each process)'
	run as "$who" /usr/bin/python3 "$work/segment.py"
	check "a_segment_can_be_made_outside_by_$who" has_status 0
	run spawn -q --policy "$work/p.yaml" --read "$work/segment.py" --report "$work/$who/report" -- \
		/usr/bin/python3 "$work/segment.py"
	check "no_segment_passes_the_limit_by_$who" has_status 1
	check "the_report_names_the_enforced_part_by_$who" grep -q \
		'"held_by":"rlimit","of":"private memory of each process"' "$work/$who/report"
	run spawn --check
	check "the_check_names_the_enforceable_part_by_$who" out_has 'no: only private memory of each process'
done
finish
