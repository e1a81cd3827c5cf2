#!/bin/bash
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
fake

sbx-ctl create --id waits -- true >/dev/null
begin lives -- sleep 1000
begin over -- true
sbx-ctl wait over
begin made -- sh -c 'echo said; exec sleep 1000'
supervisor --id own -- sleep 1000 &
until_running own
first=$(member made init) second=$(member own init)
until_true logs_are made said
until_true sleeps "$first"
orphan made
orphan own
run sbx-ctl list
check an_orphan_is_shown_as_one out_has orphaned

run sbx-ctl gc --dry-run
check a_dry_run_prints_all_actions out_is 'made: would kill its processes
made: would record that it was killed
own: would kill its processes
own: would record that it was killed
own: would remove its directory'
check a_dry_run_kills_nothing test "$(process_state "$first")" = S
check a_dry_run_removes_nothing test -e "$sandboxes/own"

run sbx-ctl gc
check gc_prints_its_actions out_is 'made: killed its processes
made: recorded that it was killed
own: killed its processes
own: recorded that it was killed
own: removed its directory'
check its_first_process_is_gone is_dead "$first"
check so_is_the_other is_dead "$second"
check the_directory_of_an_orphan_is_removed is_gone own
check a_created_sandbox_can_still_be_inspected state_is made DESTROYED
run sbx-ctl logs made
check its_last_words_are_kept out_is said
check gc_keeps_a_running_sandbox state_is lives RUNNING
check gc_keeps_a_waiting_sandbox state_is waits CREATING
run sbx-ctl gc
check a_second_time_there_is_nothing_to_do ends_with 0

run sbx-ctl --json gc --ended
check gc_ended_removes_ended_sandboxes out_is '{"id":"made","done":"removed its directory"}
{"id":"over","done":"removed its directory"}'
check gc_ended_keeps_a_running_sandbox state_is lives RUNNING

# A reused PID belongs to another process.
sleep 1000 &
other=$!
mkdir -m 700 "$sandboxes/reused"
printf '{"id":"reused","state":"RUNNING","init":%d,"init_start":1,"supervisor":%d,"supervisor_start":1}' "$other" "$other" \
	>"$sandboxes/reused/state.json"
run sbx-ctl gc
check only_the_directory_of_a_reused_pid_is_removed out_is 'reused: recorded that it was killed
reused: removed its directory'
check the_process_with_the_reused_pid_lives test -e "/proc/$other"
kill "$other"

# Supervisors that were killed between any two steps.
mkdir -m 700 "$sandboxes/empty" "$sandboxes/half" "$sandboxes/broken" "$sandboxes/unstored"
printf '/\0--\0tr' >"$sandboxes/unstored/configuration.new"
echo '{"id":"half","state":"RUN' >"$sandboxes/half/state.json.new"
echo '{"id":"broken","state":"RUN' >"$sandboxes/broken/state.json"
run sbx-ctl gc
check a_half_created_entry_is_removed is_gone empty
check so_does_a_state_that_was_half_written is_gone half
check so_is_one_whose_configuration_was_half_written is_gone unstored
check an_entry_with_a_malformed_state_is_removed is_gone broken
check all_of_it_is_no_failure has_status 0

# What sbx has not put there. Reading a FIFO would wait for a writer.
mkdir -m 700 "$sandboxes/odd"
mkfifo "$sandboxes/odd/state.json" "$sandboxes/odd/log"
for verb in list 'inspect odd' 'logs odd'; do
	read -ra words <<<"$verb"
	run timeout 60 sbx-ctl "${words[@]}"
	check "a_fifo_as_the_state_is_told: $verb" err_has "it is not a regular file"
done
run timeout 60 sbx-ctl gc
check gc_does_not_wait_for_a_fifo out_is 'odd: removed its directory'
mkdir -m 700 "$sandboxes/odd"
echo '{"id":"odd","state":"CREATING"}' >"$sandboxes/odd/state.json"
mkfifo "$sandboxes/odd/configuration" "$sandboxes/odd/log"
run timeout 60 sbx-ctl logs odd
check nor_does_logs ends_with 0
run timeout 60 sbx-ctl start odd
check nor_does_start err_has "cannot read the configuration of 'odd'"
run timeout 60 sbx-ctl remove odd
check it_can_be_removed ends_with 0
mkdir -m 700 "$sandboxes/odd"
echo '{"id":"odd","state":"RUNNING","supervisor":1,"supervisor_start":1}' >"$sandboxes/odd/state.json"
mkfifo "$sandboxes/odd/state.json.new"
run timeout 60 sbx-ctl gc
check gc_does_not_write_to_a_fifo out_is 'odd: recorded that it was killed
odd: removed its directory'

# A start that was killed before the command ran. Its state names the supervisor; one that waits names none.
sbx-ctl create --id begun -- true >/dev/null
sed -i 's/"supervisor":[^,]*,/"supervisor":1,/; s/"supervisor_start":[^,]*,/"supervisor_start":1,/' "$sandboxes/begun/state.json"
mkdir -m 700 "$sandboxes/empty"
run sbx-ctl list
check a_killed_start_is_shown_as_orphaned grep -Eq '^begun +orphaned' "$work/out"
check an_entry_without_a_state_is_shown_as_orphaned grep -Eq '^empty +orphaned' "$work/out"
check one_that_waits_is_shown_as_created grep -Eq '^waits +created' "$work/out"
run sbx-ctl start begun
check a_killed_start_is_not_repeated err_has 'it has run already'
run sbx-ctl wait begun
check wait_says_that_its_supervisor_was_killed err_has 'its supervisor was killed'
run sbx-ctl gc
check gc_ends_a_killed_start out_is 'begun: recorded that it was killed
empty: removed its directory'
check a_killed_start_has_ended state_is begun DESTROYED
check one_that_waits_is_kept state_is waits CREATING

mkdir -m 700 "$sandboxes/loop" "$sandboxes/socket"
ln -s state.json "$sandboxes/loop/state.json"
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$sandboxes/socket/state.json"
run sbx-ctl gc
check gc_removes_what_has_no_file_as_its_state out_is 'loop: removed its directory
socket: removed its directory'

# A directory that cannot be cleaned up does not prevent the others from being cleaned up.
mkdir -m 700 "$sandboxes/a1" "$sandboxes/a1/strange" "$sandboxes/a2"
run sbx-ctl gc
check gc_reports_a_directory_that_it_cannot_remove err_has "cannot remove the directory of 'a1'"
check and_says_why err_has 'it contains files: sbx has not made them'
check and_does_not_say_that_it_has_removed_it out_is 'a2: removed its directory'
check the_next_one_is_removed_all_the_same is_gone a2
rmdir "$sandboxes/a1/strange" "$sandboxes/a1"

# The directory of --out, which a killed supervisor could not look through, until its work directory is removed.
mkdir -p place/.d.sbx-work-1.sbx-work-2/work place/d.sbx-work-1 place/d
for name in d.sbx-work-1 d; do
	touch "place/$name/program" && chmod 6755 "place/$name/program"
done
put_out() {
	mkdir -m 700 "$sandboxes/o"
	printf '{"id":"o","state":"RUNNING","out_work":"%s"}' "$work/place/.d.sbx-work-1.sbx-work-2" >"$sandboxes/o/state.json"
}
put_out
run sbx-ctl gc --dry-run
check a_dry_run_leaves_a_programs_bits test -u place/d.sbx-work-1/program
run sbx-ctl gc
check a_program_left_in_out_has_no_bits test "$(stat -c %a place/d.sbx-work-1/program)" = 755
check another_directory_keeps_its_own test -u place/d/program
check the_work_directory_is_removed test ! -e place/.d.sbx-work-1.sbx-work-2
put_out
chmod u+s place/d.sbx-work-1/program
run sbx-ctl gc
check later_bits_are_the_users test -u place/d.sbx-work-1/program
# A link where its parent was: nothing is removed before that is looked through.
mkdir -p place/.d.sbx-work-1.sbx-work-2/work
put_out
mv place moved
ln -s moved place
run sbx-ctl gc
check gc_fails_if_it_cannot_look_for_out has_status 125
check gc_says_where_it_could_not_look err_has "cannot look for the directory of --out in '$work/place/'"
check gc_removes_nothing_then test -d moved/.d.sbx-work-1.sbx-work-2 -a -d "$sandboxes/o"
rm place
mv moved place
run sbx-ctl gc
check gc_clears_the_bits_afterwards test "$(stat -c %a place/d.sbx-work-1/program)" = 755 -a ! -e "$sandboxes/o"

# Work directories of --out, which the entry names, and the archive whose writer was killed.
mkdir -p place/.v.sbx-work-1/work place/.v.sbx-layer-1 place/other
echo half >place/.v.sbx-layer-1.tar
chmod 0 place/.v.sbx-work-1/work
mkdir -m 700 "$sandboxes/o"
printf '{"id":"o","state":"RUNNING","out_work":"%s","out_layer":"%s"}' "$work/place/.v.sbx-work-1" \
	"$work/place/.v.sbx-layer-1" >"$sandboxes/o/state.json"
run sbx-ctl gc
check its_work_directories_are_removed test -z "$(find place -name '.v*' -type d)"
check its_unfinished_archive_is_removed test ! -e place/.v.sbx-layer-1.tar
check gc_says_that_it_has_removed_the_archive out_has 'o: removed its unfinished archive'
mkdir -m 700 "$sandboxes/o"
printf '{"id":"o","state":"RUNNING","out_work":"%s","out_layer":"../x"}' "$work/place/other" >"$sandboxes/o/state.json"
run sbx-ctl gc
check a_directory_with_another_name_is_kept test -d place/other
finish
