#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit-serve.sh"

head_sizes() { grep -A1 '^sbx-audit/' "$1" | grep -E '^[0-9]+$'; }

serve --witness 'cat >>heads'
client write s 100 >seq
stop
last=$(head_sizes heads | tail -n 1)
check the_last_head_is_given_to_the_witness test "$last" -gt "$(cat seq)"
check the_log_reproduces_the_witnessed_heads intact --witness-file=heads
cp -r log copy
python3 -c '
import sqlite3
db = sqlite3.connect("copy/00000000000000000000.db")
db.execute("DELETE FROM records WHERE seq>5")
db.execute("DELETE FROM checkpoints WHERE size>6")
db.commit()'
run sbx-audit verify -q --log="$work/copy" --full --witness-file=heads
check a_log_that_was_cut_is_found_by_it test "$status" -ne 0

serve --witness 'echo never >&2; exit 3'
ask "$sync" >/dev/null
stop
check a_witness_that_fails_is_reported errors_have 'the witness ended with 3'
check it_stops_nothing intact

printf '{"event":"syscall"}\n' | sbx-audit append --log="$work/log" --witness 'cat >one'
check append_gives_its_last_head_too test "$(head_sizes one)" -gt "$last"
printf '{"event":"syscall"}\n' | sbx-audit append --log="$work/log" --witness 'exit 1' 2>errors
check append_reports_a_witness_that_fails errors_have 'the witness ended with 1'
check and_the_log_has_the_record intact
finish
