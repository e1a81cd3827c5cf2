#!/bin/bash
# SPDX-License-Identifier: MIT
CTL_CGROUPS=1
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
# As root the command runs as an ordinary user, which must be able to reach this directory.
chmod 755 "$work"
export HOME=$work

run sbx-ctl ping
check whether_this_host_can_build_sandboxes_is_said test "$out" = 'sbx: ready' -o "$status" -eq 1

run sbx-ctl create --id a -- sh -c 'echo said; exec sleep 1000'
if [ "$status" -ne 0 ]; then
	skip a_real_sandbox_is_created "this host cannot build one: $(printf %s "$err" | head -n 1)"
	finish
	exit
fi
check a_real_sandbox_is_created out_is a
check the_tier_is_known_before_it_starts test "$(member a tier)" = full
[ "$(id -u)" -ne 0 ] || check whom_root_will_run_it_as_is_not_known_yet test "$(member a uid)" = null
run sbx-ctl start a
check it_starts ends_with 0
check it_runs state_is a RUNNING
until_true logs_are a said
init=$(member a init)
check its_pid_1_is_one_inside grep -q "^NSpid:.*	1$" "/proc/$init/status"

run sbx-ctl pause a
check it_can_be_held out_has 'a: paused ('
run sbx-ctl resume a
check it_goes_on out_has 'a: resumed ('
check pid_1_is_still_the_same test "$(member a init)" = "$init" -a -e "/proc/$init"

run sbx-ctl stop a
check it_stops ends_with 0
check pid_1_is_gone is_dead "$init"
run sbx-ctl wait a
check it_ended_by_the_signal has_status 143
run sbx-ctl logs a
check the_log_has_the_commands_output out_has said
run sbx-ctl remove a
check nothing_is_left_in_the_registry test -z "$(ls -A "$sandboxes")"

begin status -- sh -c 'exit 42'
run sbx-ctl wait status
check a_status_is_passed_through has_status 42

# A command that cannot be executed is refused at once, and again if it is so only when it is started.
install -m 644 /bin/true plain
for command in /no/such/program ./plain; do
	id=not-${command##*/}
	run sbx-ctl create --id "$id" --read . -- "$command"
	check "a_command_that_cannot_be_executed_is_not_stored_$id" has_status 2
	check "why_it_cannot_be_executed_is_said_$id" err_has "cannot execute '$command'"
	check "no_directory_was_made_for_it_$id" is_gone "$id"
done
cp /bin/true program
sbx-ctl create --id later --read . -- ./program >/dev/null
mv program moved
run sbx-ctl start later
check a_command_that_is_gone_is_not_started has_status 125
check that_it_is_gone_is_said err_has "cannot execute './program'"
check it_still_waits_for_its_start state_is later CREATING
mv moved program
run sbx-ctl start later
check with_its_command_it_starts has_status 0
sbx-ctl wait later
sbx-ctl remove later

run sbx-ctl create --id bad --no-such-option -- true
check an_option_that_sbx_spawn_does_not_know_is_refused has_status 2
check it_is_named err_has "'--no-such-option'"

begin d --debug -- sleep 1000
if [ "$(member d may_exec)" = true ]; then
	run sbx-ctl exec d -- sh -c 'echo inside; exit 5'
	check another_command_runs_inside out_is inside
	check its_status_comes_back has_status 5
	run sbx-ctl exec d -- /nonexistent
	check a_program_that_is_not_there_is_127 has_status 127
	check a_program_that_is_not_there_is_told err_has "cannot execute '/nonexistent'"
	run sbx-ctl exec d -- /etc/passwd
	check a_file_that_is_not_a_program_is_126 has_status 126
	run supervisor terminal sbx-ctl exec d -- sh -c 'echo again >/dev/stderr; stat -Lc %u:%a /dev/stderr; id -u'
	check its_terminal_can_be_opened_again out_has again
	check its_terminal_is_its_own_alone test "$(sed -n 's/:6[02]0.*//p' "$work/out")" = "$(tail -n 1 "$work/out")"
fi
sbx-ctl pause d >/dev/null
run timeout 100 sbx-ctl remove --force d
check one_that_is_held_can_be_removed ends_with 0
check it_is_gone is_gone d

# A supervisor that is killed before it makes PID 1 has taken the sandbox over: it does not wait any more.
if command -v strace >/dev/null; then
	sbx-ctl create --id begun -- true >/dev/null
	strace -qq -o "$work/trace" -e trace=signalfd4 -e inject=signalfd4:signal=KILL sbx-spawn --id begun -- true >/dev/null 2>&1
	check its_supervisor_is_killed grep -q 'killed by SIGKILL' "$work/trace"
	run sbx-ctl list
	check a_killed_start_is_not_shown_as_created grep -Eq '^begun +orphaned' "$work/out"
	run sbx-ctl gc
	check gc_ends_a_killed_start out_has 'begun: recorded that it was killed'
	sbx-ctl remove begun
else
	skip a_killed_start_is_not_shown_as_created 'strace is not installed'
fi

# SIGKILL of the supervisor kills all processes inside; gc removes the rest.
begin k -- sh -c 'sleep 1000 & sleep 1000 & wait'
init=$(member k init) cgroup=$(member k cgroup)
orphan k
supervisor ended "$init"
check with_the_supervisor_pid_1_goes is_dead "$init"
run sbx-ctl gc
check gc_succeeds has_status 0
check gc_leaves_no_cgroup test ! -e "$cgroup"
check gc_keeps_a_created_sandbox state_is k DESTROYED
sbx-ctl remove k status
check after_all_of_it_nothing_is_left test -z "$(ls -A "$sandboxes")"
finish
