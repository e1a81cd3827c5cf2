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
check a_dry_run_says_what_would_be_done out_is 'made: would kill its processes
made: would record that it was killed
own: would kill its processes
own: would remove its directory'
check a_dry_run_kills_nothing test "$(process_state "$first")" = S
check a_dry_run_removes_nothing test -e "$sandboxes/own"

run sbx-ctl gc
check what_is_done_is_said out_is 'made: killed its processes
made: recorded that it was killed
own: killed its processes
own: removed its directory'
check its_first_process_is_gone is_dead "$first"
check so_is_the_other is_dead "$second"
check its_folder_is_gone is_gone own
check what_was_created_can_still_be_looked_at state_is made DESTROYED
run sbx-ctl logs made
check its_last_words_are_kept out_is said
check what_lives_is_left_alone state_is lives RUNNING
check what_waits_is_left_alone state_is waits CREATING
run sbx-ctl gc
check a_second_time_there_is_nothing_to_do ends_with 0

run sbx-ctl --json gc --ended
check what_has_ended_goes_when_asked_for out_is '{"id":"made","done":"removed its directory"}
{"id":"over","done":"removed its directory"}'
check what_lives_still_lives state_is lives RUNNING

# A reused PID belongs to another process.
sleep 1000 &
other=$!
mkdir -m 700 "$sandboxes/reused"
printf '{"id":"reused","state":"RUNNING","init":%d,"init_start":1,"supervisor":%d,"supervisor_start":1}' "$other" "$other" \
	>"$sandboxes/reused/state.json"
run sbx-ctl gc
check only_the_folder_of_a_reused_pid_goes out_is 'reused: removed its directory'
check whoever_has_the_pid_now_lives test -e "/proc/$other"
kill "$other"

# Supervisors that were killed between any two steps.
mkdir -m 700 "$sandboxes/empty" "$sandboxes/half" "$sandboxes/broken"
echo '{"id":"half","state":"RUN' >"$sandboxes/half/state.json.new"
echo '{"id":"broken","state":"RUN' >"$sandboxes/broken/state.json"
run sbx-ctl gc
check what_was_never_finished_goes is_gone empty
check so_does_a_state_that_was_half_written is_gone half
check so_does_a_state_that_nobody_understands is_gone broken
check all_of_it_is_no_failure has_status 0

# A directory that cannot be cleaned up does not prevent the others from being cleaned up.
mkdir -m 700 "$sandboxes/a1" "$sandboxes/a1/strange" "$sandboxes/a2"
run sbx-ctl gc
check what_cannot_be_removed_is_told err_has "cannot remove the directory of 'a1'"
check the_next_one_is_removed_all_the_same is_gone a2
rmdir "$sandboxes/a1/strange" "$sandboxes/a1"

# Work directories of --out, which the entry names.
mkdir -p place/.v.sbx-work-1/work place/.v.sbx-layer-1 place/other
chmod 0 place/.v.sbx-work-1/work
mkdir -m 700 "$sandboxes/o"
printf '{"id":"o","state":"RUNNING","out_work":"%s","out_layer":"%s"}' "$work/place/.v.sbx-work-1" \
	"$work/place/.v.sbx-layer-1" >"$sandboxes/o/state.json"
run sbx-ctl gc
check its_work_folders_go test -z "$(find place -name '.v*')"
mkdir -m 700 "$sandboxes/o"
printf '{"id":"o","state":"RUNNING","out_work":"%s","out_layer":"../x"}' "$work/place/other" >"$sandboxes/o/state.json"
run sbx-ctl gc
check a_folder_that_is_not_named_as_ours_stays test -d place/other
finish
