#!/bin/bash
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
fake

begin bytes -- printf 'a\0b\033[31m\377\r\nlast'
sbx-ctl wait bytes
check a_pipe_gets_every_byte test "$(sbx-ctl logs bytes | od -An -tx1)" = "$(printf 'a\0b\033[31m\377\r\nlast' | od -An -tx1)"
run supervisor terminal sbx-ctl logs bytes
check a_terminal_gets_escaped_control_characters out_is $'a\\x00b\\x1b[31m\\xff\\x0d\nlast'

begin slow -- sh -c 'echo one; until [ -e go ]; do sleep 0.01; done; echo two; echo three >&2'
sbx-ctl logs --follow slow >followed &
follower=$!
until_true grep -q one followed
check follow_shows_existing_lines_at_once test "$(cat followed)" = one
touch go
wait "$follower"
check following_ends_with_the_sandbox test $? -eq 0
check nothing_is_lost_at_the_end test "$(cat followed)" = $'one\ntwo\nthree'
run sbx-ctl logs -f slow
check following_an_ended_sandbox_shows_its_whole_log out_is $'one\ntwo\nthree'

begin killed -- sh -c 'echo up; exec sleep 1000'
sbx-ctl logs -f killed >killed.log &
follower=$!
until_true grep -q up killed.log
orphan killed
wait "$follower"
check following_ends_when_the_supervisor_is_killed test $? -eq 0

# A half-removed sandbox has a log, but no state any more.
begin half -- echo left
sbx-ctl wait half
rm "$sandboxes/half/state.json"
run timeout 100 sbx-ctl logs -f half
check following_a_half_removed_sandbox_ends has_status 0
check what_was_left_of_its_log_is_shown out_is left

# As if its start were about to run sbx-spawn.
waiting() {
	sbx-ctl create --id waiting -- true >/dev/null && echo early >"$sandboxes/waiting/log"
	sbx-ctl logs -f waiting >waiting.log &
	follower=$!
	until_true grep -q early waiting.log
	until_true sleeps "$follower"
}
follower_ends() { eventually is_dead "$follower" || ! kill "$follower"; }
waiting
sbx-ctl remove waiting
check following_ends_when_the_sandbox_is_removed follower_ends
check a_removal_keeps_what_was_printed test "$(cat waiting.log)" = early

waiting
kill -STOP "$follower"
sbx-ctl remove waiting && sbx-ctl create --id waiting -- true >/dev/null
kill -CONT "$follower"
check following_does_not_wait_for_a_new_sandbox_of_the_same_id follower_ends
sbx-ctl remove waiting

waiting
sbx-ctl start waiting
check a_start_without_output_is_followed_to_its_end follower_ends

begin flood -- sh -c 'head -c 3000000 /dev/zero | tr "\0" x'
run bash -c 'sbx-ctl logs -f flood | wc -c'
check a_flood_is_followed_to_its_end out_is 3000000
run supervisor terminal sbx-ctl logs flood
check a_line_without_an_end_is_shown_too test "${#out}" -eq 3000000

supervisor --id own -- sleep 1000 &
until_running own
run sbx-ctl logs own
check a_sandbox_of_another_starter_has_no_log has_status 1
check where_its_output_is_is_said err_has 'stdout'
run sbx-ctl logs nobody
check an_unknown_sandbox_has_no_log has_status 1
finish
