#!/bin/bash
# SPDX-License-Identifier: MIT
# With --ptrace a command may trace only its own children. Tries every other process that is visible in the sandbox:
# PID 1, and with sbx-ctl exec the process that keeps the visit and the visiting command, from both sides.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

# Prints "seized NUMBER" for each process that it can trace or whose memory it can open, its own child last. Tries all
# PIDs, because hidepid hides those that must not be traced.
cat >"$work/seize.py" <<'END'
import ctypes
import os
import signal

SEIZE, ATTACH = 0x4206, 16
library = ctypes.CDLL(None, use_errno=True)
library.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return pid != os.getpid()


def attack(pid):
    for request in SEIZE, ATTACH:
        if library.ptrace(request, pid, None, None) == 0:
            return True
    for name in "mem", "environ", "fd/0", "root/etc/passwd":
        try:
            os.close(os.open(f"/proc/{pid}/{name}", os.O_RDONLY))
            return True
        except OSError:
            pass
    return False


for pid in filter(is_there, range(1, os.getpid() + 100)):
    print("seized" if attack(pid) else "refused", pid, flush=True)
child = os.fork()
if child == 0:
    signal.pause()
print("own child seized" if attack(child) else "own child refused", flush=True)
os.kill(child, signal.SIGKILL)
END
chmod 644 "$work/seize.py"
seize='/usr/bin/python3 '$work/seize.py
sandboxes() { if [ "$who" = root ]; then echo /run/sbx/sandboxes; else echo "$work/$who/run/sbx/sandboxes"; fi; }

# Outside, a process of the same user can be traced.
if [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ]; then
	# A shell function would not forward the signal.
	if [ "$(id -u)" -eq 0 ]; then setpriv --reuid="$user" --regid="$user" --clear-groups sleep 1000 & else sleep 1000 & fi
	victim=$!
	eventually has_become "$victim" sleep
	run as user /usr/bin/python3 - "$victim" <<-'END'
		import ctypes, sys
		library = ctypes.CDLL(None)
		sys.exit(library.ptrace(0x4206, int(sys.argv[1]), None, None) != 0)
	END
	check outside_a_process_of_the_same_user_is_seized has_status 0
	kill "$victim"
	wait "$victim" 2>/dev/null
else
	skip outside_a_process_of_the_same_user_is_seized 'Yama forbids it on this host'
fi

# A sandbox that can be entered: its command waits for a word, then attacks.
# shellcheck disable=SC2086 # two words
for who in $starters; do
	run spawn -q --ptrace --read "$work/seize.py" -- $seize
	check "its_own_child_is_seized_by_$who" out_has 'own child seized'
	check "pid_1_is_not_seized_by_$who" test "$(grep -c '^refused' "$work/out") $(grep -c '^seized' "$work/out")" = '1 0'

	id=ptrace-$$-$who
	mkfifo "$work/go-$who" "$work/ready-$who"
	[ "$who" = user ] && [ "$(id -u)" -eq 0 ] && chown "$user" "$work/go-$who" "$work/ready-$who"
	places
	(begin_spawn -q --ptrace --debug --id "$id" --read "$work/seize.py" -- \
		sh -c "echo ready; read -r _; $seize; exec sleep 1000") \
		<"$work/go-$who" >"$work/ready-$who" 2>"$work/err-$who" &
	sandbox=$!
	exec 5>"$work/go-$who" 6<"$work/ready-$who"
	read -r _ <&6
	# The visitor sees PID 1, the command's shell and the process that keeps the visit.
	run as "$who" sbx-ctl exec "$id" -- $seize
	check "a_visit_seizes_its_own_child_by_$who" out_has 'own child seized'
	check "exec_seizes_no_other_process_by_$who" test "$(grep -c '^refused' "$work/out") $(grep -c '^seized' "$work/out")" = '3 0'
	mkfifo "$work/entered-$who"
	as "$who" sbx-ctl exec "$id" -- sh -c 'echo entered; exec sleep 1000' >"$work/entered-$who" 2>/dev/null &
	visit=$!
	read -r _ <"$work/entered-$who"
	echo go >&5
	while read -r line <&6; do
		echo "$line"
		case $line in own*) break ;; esac
	done >"$work/seen-$who"
	check "the_command_seizes_its_own_child_by_$who" grep -qx 'own child seized' "$work/seen-$who"
	# PID 1, the keeper of the visit and the visiting command; the command's own shell, PID 2, is in its Landlock
	# domain.
	check "the_command_seizes_no_visit_by_$who" \
		test "$(grep -c '^refused' "$work/seen-$who") $(grep '^seized' "$work/seen-$who")" = '3 seized 2'
	exec 5>&- 6<&-
	as "$who" sbx-ctl kill "$id" >/dev/null
	wait "$visit" "$sandbox" 2>/dev/null
done
finish
