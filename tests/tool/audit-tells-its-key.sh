#!/bin/bash
# SPDX-License-Identifier: MIT
# Which key is told: the one that signs the next checkpoint, from the log itself.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

setup
run sbx-audit key -l "$log"
check the_first_key_is_told out_is "$key"
append 1 3
new=$(sbx-audit key change -l "$log")
check a_change_tells_another test "$new" != "$key"
run sbx-audit key -l "$log"
check before_it_has_signed_anything_the_next_key_is_told out_is "$new"
append 4 6
run sbx-audit key -l "$log"
check afterwards_as_well out_is "$new"
sbx-audit rotate -q -l "$log"
run sbx-audit key -l "$log"
check in_a_new_segment_as_well out_is "$new"
run sbx-audit key --json -l "$log"
check json_has_the_log_its_id_and_the_key python3 -c 'import json, sys
told = json.loads(sys.argv[1])
assert told["log"] == sys.argv[2] and told["key"] == sys.argv[3], told
assert told["key"].startswith("sbx-audit/" + told["id"] + "+"), told' "$out" "$log" "$new"

sbx-audit setup -l "$work/other" >/dev/null
cp -a "$log" "$work/strange"
cat "$work/other/key" >"$work/strange/key"
run sbx-audit key -q -l "$work/strange"
check a_strange_key_in_the_directory_is_not_told out_is "$new"

last=$(printf '%s\n' "$log"/*.db | tail -n 1)
cp -a "$log" "$work/damaged"
rm "$work/damaged/key"
python3 -c 'import sqlite3, sys
sqlite3.connect(sys.argv[1]).executescript("DELETE FROM meta WHERE key = \"signer\"")' "$work/damaged/${last##*/}"
run sbx-audit key -q -l "$work/damaged"
check a_segment_that_does_not_tell_is_unreadable has_status 5
check no_key_is_told_then out_is ''
run sbx-audit key -l "$work/nowhere"
check without_a_log_there_is_none has_status 5
finish
