#!/bin/bash
# SPDX-License-Identifier: MIT
# --ring-fd gives the command a connected unix socket and its number; anything else is refused before it runs.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

programs_policy
install -m 644 "$SBX_SOURCE/tests/tool/ring.py" "$work/ring.py"
cat >"$work/inside.py" <<'END'
import os, socket, sys
end = socket.socket(fileno=int(os.environ["SBX_RING_FD"]))
end.send(end.recv(100).replace(b"outside", b"inside"))
end.close()
sys.stdin.read()
END
chmod 644 "$work/inside.py"
speak() { # ARGUMENT...
	places
	(cd "$project" && as "$who" python3 "$work/ring.py" speak sbx-spawn -q --ring-fd 9 "$@")
}
give() { # KIND ARGUMENT...
	local kind=$1
	shift
	places
	(cd "$project" && as "$who" python3 "$work/ring.py" give "$kind" sbx-spawn "$@")
}
spoke() { [ "$status" -eq 0 ] && [ "$out" = "$(printf 'from inside\nclosed')" ]; }

for who in $starters; do
	# The command still runs when its end is closed, so sbx-spawn has not kept one.
	run speak --read "$work/inside.py" -- python3 "$work/inside.py"
	check "the_command_speaks_over_it_by_$who" spoke
	run speak --policy "$work/p.yaml" --read "$work/inside.py" -- /usr/bin/python3 "$work/inside.py"
	check "it_does_under_a_policy_by_$who" spoke
	run speak --no-sandbox -- python3 "$work/inside.py"
	check "it_does_without_a_sandbox_by_$who" spoke
	run give stream --ring-fd 9 -- sh -c 'echo "$SBX_RING_FD"'
	check "a_stream_is_taken_and_named_by_$who" out_is 9
	run give stream --ring-fd 9 --pty -- sh -c 'echo "$SBX_RING_FD"'
	check "it_is_named_beside_a_terminal_by_$who" test "$status${out%$'\r'}" = 09
	run give stream -- sh -c 'echo "${SBX_RING_FD-unset}"; cat <&9'
	check "without_the_option_there_is_none_by_$who" out_is unset

	while read -r kind why; do
		run give "$kind" --ring-fd 9 -- true
		check "a_${kind}_is_refused_by_$who" has_status 125
		check "the_error_says_that_${kind}_cannot_carry_it_by_$who" err_has "$why"
		check "the_error_says_what_can_instead_of_${kind}_by_$who" err_has 'fix: '
	done <<-'END'
		closed no file is open under this number
		file it is not a socket
		pipe it is not a socket
		terminal it is a terminal
		inet it is not a unix socket
		unconnected it is not connected
		listening it is listening
		datagram it is a datagram socket
	END
	for fd in 0 1 2; do
		run give stream --ring-fd "$fd" -- true
		check "the_command_cannot_have_it_as_${fd}_by_$who" err_has 'it is stdin, stdout or stderr'
	done
	run give stream --ring-fd 9 --audit-fd 9 -- true
	check "the_socket_of_records_is_refused_by_$who" err_has 'another option uses the same file descriptor'
	run give stream --ring-fd 9 --pass-fd 0 --pass-fd 9 -- true
	check "the_socket_is_not_passed_twice_by_$who" err_has 'another option uses the same file descriptor'
	run give stream --ring-fd 9 --ring-fd 9 -- true
	check "two_are_refused_by_$who" has_status 125

	run give stream --ring-fd 9 --env SBX_RING_FD=7 -- true
	check "a_second_number_is_refused_by_$who" has_status 125
	check "the_error_names_both_sources_by_$who" err_has '--ring-fd sets it, and --env would, too'
	run give stream --env SBX_RING_FD=7 -- sh -c 'echo "$SBX_RING_FD"'
	check "without_a_channel_it_is_a_variable_like_any_by_$who" out_is 7
done
finish
