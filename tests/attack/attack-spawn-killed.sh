#!/bin/bash
# SPDX-License-Identifier: MIT
# The supervisor is killed at a system call of its own, from the registration to the end. 'sbx-ctl gc' then finds all
# that it has left, and each sandbox that the log knows has an end there.
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
chmod 755 "$work"
export HOME=$work
spool=/var/lib/sbx/spool/records.jsonl
[ "$(id -u)" = 0 ] || spool=$XDG_STATE_HOME/sbx/spool/records.jsonl
mkdir -m 755 project place

run env --chdir=project sbx-spawn -q --id whole --out ../place/c.tar -- true
if [ "$status" -ne 0 ]; then
	skip a_killed_supervisor_leaves_nothing "this host cannot build a sandbox: $(printf %s "$err" | head -n 1)"
	finish
	exit
fi
rm place/c.tar

n_of() { grep "\"sandbox_id\":\"$2\"" "$spool" | grep -cE "\"event\":\"($1)\""; }
has_an_end() { [ "$(n_of sandbox_created "$1")" = 0 ] || [ "$(n_of 'sandbox_(destroyed|failed)' "$1")" = 1 ]; }
# An exiting process loses its command line before it closes the directory, which it keeps locked until then.
has_no_processes() {
	! grep -qsF "# of $1" /proc/[0-9]*/cmdline && { is_gone "$1" || flock --shared --nonblock "$sandboxes/$1" true; }
}
left() { find place -name '.*'; }

# These are called first after the registration; the last ones while the command runs and when it has ended.
for call in pipe2 socketpair signalfd4 ppoll recvmsg pidfd_send_signal; do
	for kind in none dir tar; do
		id=$call-$kind
		case $kind in
		none) words=() ;;
		dir) words=(--out "../place/$id") ;;
		tar) words=(--out "../place/$id.tar") ;;
		esac
		run env --chdir=project "$SBX_BUILD/tests/attack/without-call" "$call" KILL "$SBX_BUILD/tools/sbx-spawn" -q --id "$id" "${words[@]}" -- \
			sh -c "echo x >f 2>/dev/null; : # of $id"
		killed=$status
		check "its_processes_end_$id" eventually has_no_processes "$id"
		run sbx-ctl gc
		check "gc_can_clean_up_$id" has_status 0
		check "it_is_not_in_the_registry_any_more_$id" is_gone "$id"
		check "no_work_directory_is_left_$id" test -z "$(left)"
		check "it_has_an_end_in_the_log_$id" has_an_end "$id"
		[ "$killed" -ne 159 ] || n_killed=$((${n_killed:-0} + 1))
	done
done
check supervisors_were_killed test "${n_killed:-0}" -ge 9

begin made -- sleep 1000
orphan made
run sbx-ctl gc
check gc_says_what_it_has_recorded out_has 'made: recorded that it was killed'
check its_end_is_in_the_log has_an_end made
end=$(grep '"sandbox_id":"made"' "$spool" | tail -n 1)
check it_is_one_of_a_killed_sandbox grep -q '"event":"sandbox_failed","tool":"sbx-ctl".*"status":137,"reason":"killed"' <<<"$end"
run sbx-ctl gc
run sbx-ctl remove made
check it_is_recorded_once has_an_end made

begin forced -- sleep 1000
kill -STOP "$(member forced supervisor)"
run sbx-ctl kill forced
check a_supervisor_that_does_not_react_is_killed ends_with 0
check its_end_is_recorded_by_kill has_an_end forced

# Nowhere to write the record: it is not forgotten.
begin kept -- sleep 1000
orphan kept
mv "$spool" "$spool.away"
mkdir "$spool"
run sbx-ctl gc
check without_a_place_for_the_record_gc_fails has_status 125
check it_says_so err_has "cannot record the end of 'kept'"
check it_says_why err_has 'why: cannot open the spool of audit records'
check it_does_not_say_that_it_was_recorded eval '! out_has recorded'
rmdir "$spool"
mv "$spool.away" "$spool"
run sbx-ctl gc
check the_next_gc_records_it out_has 'kept: recorded that it was killed'
check the_late_record_is_there has_an_end kept
finish
