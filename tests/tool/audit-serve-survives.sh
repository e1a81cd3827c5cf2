#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit-serve.sh"

n_trials=5
[ "${TEST_SLOW:-}" = 1 ] && n_trials=50

# Each acknowledged record exists under its number.
acknowledged() {
	sbx-audit export --log="$work/log" | python3 -c '
import json, sys
log = {}
for line in sys.stdin:
    row = json.loads(line)
    if "seq" in row:
        log[row["seq"]] = row["record"] if isinstance(row["record"], dict) else json.loads(row["record"])
acked = [line.split() for line in open(sys.argv[1])]
wrong = [n for seq, n in acked if log.get(int(seq), {}).get("n") != int(n)]
sys.exit(f"{len(wrong)} of {len(acked)} are missing" if wrong or not acked else 0)' "$1"
}

trial=0
lost=0
while [ $((trial += 1)) -le "$n_trials" ]; do
	serve || break
	client until-killed pid s 8 "$((50 * trial))" >acked
	rm -f pid
	acknowledged acked || lost=$((lost + 1))
done
check acknowledged_records_are_there_after_kill_9 test "$lost" -eq 0 -a "$trial" -gt "$n_trials"
serve
check the_next_service_verifies_the_log_of_the_killed_one test "$(in_log log_verified | wc -l)" -eq "$((n_trials + 1))"
check and_goes_on asked "$sync" '"seq"'
stop
check the_log_is_intact intact

# At SIGTERM the service first stores and signs the records that clients have sent.
serve --group-time=500ms
python3 -c '
import socket
client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
client.connect("s")
client.send(b"{\"event\":\"state_transition\"}")
client.recv(4096)
for i in range(50):
    client.send(b"{\"event\":\"tool_execute\"}")'
stop
check sigterm_flushes test "$(in_log tool_execute | wc -l)" -eq 50
check and_signs intact
# Also those of clients that it has not accepted yet. It may accept one before it takes the signal.
serve
kill -STOP "$(cat pid)"
python3 -c '
import socket
for i in range(20):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.connect("s")
    client.send(b"{\"event\":\"tool_result\"}")'
kill -TERM "$(cat pid)"
kill -CONT "$(cat pid)"
stop
check sigterm_flushes_clients_that_wait test "$(in_log tool_result | wc -l)" -eq 20

# Each of these services closes its segment when it exits.
for _ in 1 2 3; do
	serve --segment-size=1
	asked "$sync" '"seq"'
	stop
done
check a_segment_that_ends_there_is_no_break test -z "$(in_log chain_broken)"
check and_is_verified_by_the_next_one intact

rm log/verified
mkfifo log/verified
serve
check a_fifo_in_the_place_of_the_state_does_not_stop_the_service asked "$sync" '"seq"'
stop

# Damage of the log is reported, and further records are accepted.
python3 -c '
import sqlite3
db = sqlite3.connect("log/00000000000000000000.db")
db.execute("UPDATE records SET body=CAST(? AS BLOB) WHERE seq=3", ("{}",))
db.commit()'
rm -f log/verified
serve
check a_break_is_reported errors_have 'the log is tampered'
check a_break_is_recorded sh -c 'sbx-audit query --log=log --json --event=chain_broken 2>/dev/null | grep -q "\"first_bad\":3"'
check and_records_are_taken asked "$sync" '"seq"'
stop
finish
