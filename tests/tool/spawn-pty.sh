#!/bin/bash
# SPDX-License-Identifier: MIT
# --pty: the command gets a terminal of its own. Without it the user's terminal is not passed on: a lent terminal
# replaces it, and is the command's controlling terminal.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

cat >"$work/drive.py" <<'PY'
"""drive.py KEYS COMMAND...: runs it on a terminal of 33 by 77, types KEYS when "ready" is shown, and says what came."""
import fcntl, os, pty, re, select, struct, sys, termios, time

keys, argv = sys.argv[1].encode().decode("unicode_escape").encode("latin1"), sys.argv[2:]
pid, master = pty.fork()
if pid == 0:
    os.execvp(argv[0], argv)
fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
seen, typed, end = b"", False, time.monotonic() + 90
while time.monotonic() < end:
    if select.select([master], [], [], 0.2)[0]:
        try:
            data = os.read(master, 4096)
        except OSError:
            break
        if not data:
            break
        seen += data
    if b"ready" in seen and not typed:
        os.write(master, keys)
        typed = True
    if b"resize" in seen and b"resized" not in seen:
        fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 88, 0, 0))
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
for wrong in re.findall(rb".*(?<!\r)\n|.*\r\r\n", seen):
    print("wrong end of a line:", wrong)
    status = 99
print(seen.decode(errors="replace").replace("\r", ""))
sys.exit(status)
PY
on_terminal() { # KEYS ARGUMENT...
	local keys=$1
	shift
	places
	local starter=()
	[ "$who" = user ] && [ "$(id -u)" -eq 0 ] && starter=(setpriv "--reuid=$user" "--regid=$user" --clear-groups)
	(cd "$project" && python3 "$work/drive.py" "$keys" "${starter[@]}" sbx-spawn "$@")
}
chmod 644 "$work/drive.py"
# Another process sets the size: wait for it, up to five minutes.
until_size() { echo "i=0; until [ \"\$(stty size)\" = '$1' ] || [ \$i = 3000 ]; do sleep 0.1; i=\$((i + 1)); done; stty size"; }
for who in $starters; do
	run on_terminal '' -q --pty -- sh -c 'test -t 0 && test -t 1 && tty'
	check "has_a_terminal_of_its_own_by_$who" out_has /dev/pts/0
	run on_terminal 'words\n' -q --pty -- sh -c 'stty -echo; echo ready; read -r line; echo "got $line"'
	check "typed_input_arrives_by_$who" out_has 'got words'
	run on_terminal '\x03' -q --pty -- sh -c 'trap "echo interrupted; exit 5" INT; echo ready; while :; do sleep 0.1; done'
	check "ctrl_c_interrupts_the_command_by_$who" out_has interrupted
	check "ctrl_c_leaves_the_status_to_the_command_by_$who" has_status 5
	run on_terminal '' -q --pty -- sh -c "$(until_size '33 77')"
	check "has_the_size_of_ours_by_$who" out_has '33 77'
	run on_terminal '' -q --pty -- sh -c "echo resize; $(until_size '44 88'); echo resized"
	check "a_new_size_arrives_by_$who" out_has '44 88'
	run on_terminal '' -q --pty -- sh -c 'exit 9'
	check "the_status_is_the_commands_own_with_a_terminal_by_$who" has_status 9
	run spawn -q --pty -- sh -c 'test -t 1 && echo terminal'
	check "without_one_of_ours_it_has_one_all_the_same_by_$who" out_has terminal
	run on_terminal 'words\n' -q -- sh -c 'echo ready; read -r line </dev/tty; echo "got $line"'
	check "without_pty_it_reads_the_terminal_that_is_lent_by_$who" out_has 'got words'
	run on_terminal '' -q -- sh -c 'echo one; echo two'
	check "without_pty_lines_end_as_they_should_by_$who" has_status 0
	# getpass() changes the modes and restores them.
	run on_terminal 'words\n' -q -- /usr/bin/python3 -c 'import getpass
print("got", getpass.getpass("ready")); print("next")'
	check "a_program_that_restores_the_modes_restores_the_ends_of_lines_by_$who" eval 'has_status 0 && out_has "got words" && out_has next'
	run on_terminal '' -q -- tty
	check "without_pty_its_terminal_has_no_name_by_$who" out_has 'not a tty'

	# One that catches SIGTTOU, as top(1) does, is not brought to the foreground: changing the modes fails.
	cat >"$project/top" <<-'END'
		#!/usr/bin/python3
		import os, signal, termios
		signal.signal(signal.SIGTTOU, lambda *_: os._exit(1))
		termios.tcsetattr(0, termios.TCSANOW, termios.tcgetattr(0))
	END
	chmod 755 "$project/top"
	run on_terminal '' -- ./top
	check "a_program_that_catches_SIGTTOU_is_told_of_pty_by_$who" eval 'has_status 1 && out_has "note: top needs a terminal of its own, and begins in the background of this one; add --pty"'
	run on_terminal '' -q -- ./top
	check "nothing_is_said_with_q_by_$who" eval 'has_status 1 && ! out_has note'
	run on_terminal '' --pty -- ./top
	check "with_pty_it_works_by_$who" has_status 0
done
finish
