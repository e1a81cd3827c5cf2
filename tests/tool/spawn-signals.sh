#!/bin/bash
# SPDX-License-Identifier: MIT
# Signals reach the command; no process survives the supervisor.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

# A shell cannot trap a signal that was ignored at its start (nohup), and the command would ignore it, too; env can
# reset it. Starts a command that prepares itself, prints "ready" and waits; $supervisor is the PID of sbx-spawn.
begin() { # PREPARATION COMMAND
	rm -f "$work/ready"
	mkfifo "$work/ready"
	chmod 666 "$work/ready"
	places
	(
		cd "$project" || exit 1
		if [ "$who" = user ] && [ "$(id -u)" -eq 0 ]; then
			exec env --default-signal setpriv --reuid="$user" --regid="$user" --clear-groups \
				"$SBX_BUILD/tools/sbx-spawn" -q -- sh -c "$1 echo ready; $2"
		fi
		exec env --default-signal "$SBX_BUILD/tools/sbx-spawn" -q -- sh -c "$1 echo ready; $2"
	) >"$work/ready" 2>"$work/err" &
	supervisor=$!
	exec 6<"$work/ready"
	read -r _ <&6
}
end() {
	status=0
	wait "$supervisor" || status=$?
	exec 6<&-
}
is_gone() { ! alive "$1"; }
# A command of a sandbox, found by the one argument that it alone has.
alive() { grep -qzxF "$1" /proc/[0-9]*/cmdline 2>/dev/null; }

# The masks of blocked and of ignored signals that a command begins with.
masks() (
	places
	cd "$project" || exit 1
	trap '' HUP INT QUIT TSTP TTIN TTOU TERM USR1 PIPE XFSZ
	as "$who" env --block-signal=USR2 sbx-spawn -q -- sed -nE 's/^Sig(Ign|Blk):.//p' /proc/self/status
)

for who in $starters; do
	for signal in TERM INT HUP USR1 USR2 QUIT; do
		begin "trap 'echo got $signal; exit 9' $signal;" 'while :; do sleep 0.05; done'
		kill "-$signal" "$supervisor"
		read -r line <&6
		end
		check "${signal}_reaches_the_command_by_$who" test "$line" = "got $signal"
		check "the_command_handles_${signal}_by_$who" has_status 9
	done
	run masks
	check "only_the_signals_of_a_terminal_stay_ignored_by_$who" out_is "$(printf '%016x\n%016x' 0 0x380007)"
	token=8$RANDOM$RANDOM
	begin "sleep $token &" wait
	check "the_command_runs_before_by_$who" eventually alive "$token"
	kill -KILL "$supervisor"
	end
	check "nothing_survives_the_supervisor_by_$who" eventually is_gone "$token"
	run spawn -q -- sh -c 'sleep 600 & kill -STOP $! ; (sleep 600 &) ; exit 3'
	check "stopped_and_lost_children_do_not_hold_it_up_by_$who" has_status 3
	run spawn -q -- sh -c 'kill -KILL 1; kill -TERM 1; sleep 0.1; echo here'
	check "the_first_process_cannot_be_killed_from_inside_by_$who" test "$status" -ne 125
done
finish
