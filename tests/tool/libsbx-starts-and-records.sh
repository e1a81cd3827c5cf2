#!/bin/bash
# SPDX-License-Identifier: MIT
# A program with threads starts sandboxes and writes records through libsbx.so.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

client=${SBX_BUILD:?}/tests/abi/client
spawn=$SBX_BUILD/tools/sbx-spawn
in_project() { (cd "$project" && as "$who" timeout 120 "$client" "$@"); }
places
echo text >"$project/a"

run in_project spawn "$spawn" 1 cat a
check the_command_runs_in_the_working_directory out_is text
run in_project spawn "$spawn" 1 sh -c 'exit 7'
check its_status_arrives has_status 7
run in_project spawn "$spawn" 1 sh -c "echo x >/usr/sbx-x"
check it_runs_in_a_sandbox test "$status" -eq 2 -a ! -e /usr/sbx-x
run in_project spawn "$spawn" 20 true
check many_starts_among_busy_threads_all_end has_status 0

spool=$XDG_STATE_HOME/sbx/spool/records.jsonl
run in_project record tool_execute '{"operation":"test.run","path":"a\"b"}'
check a_record_is_written has_status 0
check it_has_the_members grep -q '"event":"tool_execute","tool":"client",.*"operation":"test.run","path":"a\\"b"}$' "$spool"
before=$(wc -l <"$spool")
run in_project record tool_execute '{"event":"sandbox_created"}'
check a_second_event_is_refused has_status 99
check a_second_event_is_told err_has 'a member has a name that the library writes itself'
check a_refused_record_is_not_written test "$(wc -l <"$spool")" = "$before"
run as "$who" sbx-audit setup
check a_log_is_made has_status 0
run as "$who" sbx-audit --json query --event tool_execute
check the_log_takes_it out_has '"tool":"client"'
finish
