#!/bin/bash
# SPDX-License-Identifier: MIT
# The runtime directory is full: what was made is removed again, and the end of what runs is not lost.
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
[ "$(id -u)" = 0 ] || { echo '1..0 # SKIP only root can mount a small file system on its registry'; exit; }
mount -t tmpfs -o size=256k,mode=755 tmpfs /run || exit 99
chmod 755 "$work"
export HOME=$work

# leave KIB: fills all but as much.
leave() {
	rm -f /run/ballast
	head -c "$((256 - $1))K" /dev/zero >/run/ballast 2>/dev/null || true
}
has_room() { [ "$(df -k --output=avail /run | tail -n 1)" -ge 200 ]; }
# status_of ID: what "list" says of it.
status_of() { sbx-ctl list | sed -nE "s/^$1 +(.*[^ ]) +[0-9]+s .*/\\1/p"; }

for room in 0 4 8; do
	leave "$room"
	run sbx-ctl create --id a -- true
	if [ "$status" -eq 0 ]; then
		run sbx-ctl remove a
		continue
	fi
	check "a_creation_without_room_is_told_with_${room}K" err_has 'No space left on device'
	rm /run/ballast
	check "nothing_is_left_of_it_with_${room}K" is_gone a
done

run sbx-ctl create --id end -- sh -c 'read -r line <wait/fifo; exit 3'
if [ "$status" -ne 0 ]; then
	skip the_end_is_kept "this host cannot build a sandbox: $(printf %s "$err" | head -n 1)"
	finish
	exit
fi
sbx-ctl remove end

leave 8
run sbx-ctl create --id full -- true
check there_is_room_to_create has_status 0
run sbx-ctl start full
check a_start_without_room_for_its_log_is_refused has_status 125
check and_says_why err_has 'No space left on device'
check and_what_to_do err_has 'make room in the runtime directory'
check it_can_be_started_later state_is full CREATING
rm /run/ballast
run sbx-ctl start full
check with_room_it_starts has_status 0

# With room for the log alone the state that says that the command runs is written over the old one.
sbx-ctl create --id slow -- sleep 1000 >/dev/null
head -c 256K /dev/zero >/run/ballast 2>/dev/null
truncate -s "-$(getconf PAGESIZE)" /run/ballast
run timeout 60 sbx-ctl start slow
check start_sees_a_state_that_was_written_over_the_old_one has_status 0
rm /run/ballast
check which_says_that_it_runs state_is slow RUNNING
sbx-ctl remove --force --time 0s slow

begin loud -- sh -c 'head -c 1M /dev/zero; exit 4'
run sbx-ctl wait loud
check the_status_of_a_command_that_has_filled_it_is_kept has_status 4
check list_shows_it test "$(status_of loud)" = 'exit 4'
run sbx-ctl gc
check gc_finds_nothing_to_do ends_with 0
run sbx-ctl remove loud
check it_can_be_removed ends_with 0

# A removed log keeps its room until its supervisor, which has it open, exits.
until_true has_room
begin killed -- sleep 1000
leave 0
orphan killed
run sbx-ctl gc
check gc_records_the_end_of_an_orphan out_has 'killed: recorded that it was killed'
check which_list_shows test "$(status_of killed)" = 'killed 9'
rm /run/ballast
finish
