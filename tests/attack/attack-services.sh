#!/bin/bash
# SPDX-License-Identifier: MIT
# Attacks on the services by a sandboxed command of the same user, and by users that open all connections.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

cd "$work" || exit 1
# A Python that every user and every sandbox can run, whatever PATH contains.
python=/usr/bin/python3
cp "$SBX_SOURCE/tests/attack/attack-services.py" attack.py
cp "$SBX_SOURCE/tests/tool/seqpacket.py" "$SBX_SOURCE/tests/vm/fixtures/linger.py" .
cat >p.yaml <<'END'
capabilities:
  - { name: src, match: { syscall: fs.write, path_glob: ["/srv/p/src/**"] }, action: require_review }
END
# With 64 connections, one user gets a quarter: 16.
start() { # WHO
	mkdir "$1.d"
	touch records
	[ "$(id -u)" -ne 0 ] || [ "$1" = root ] || chown "$user:$user" "$1.d" records
	as "$1" "$python" seqpacket.py start "$1.d/policy.pid" sbx-policy serve --socket "$work/$1.d/policy.sock" \
		--max-clients=64 --audit-fd 9 p.yaml 9>>records 2>>log
	as "$1" "$python" seqpacket.py start "$1.d/audit.pid" sbx-audit serve --log="$work/$1.d/log" \
		--socket="$work/$1.d/audit.sock" --max-clients=64 2>>log
}
stop() { # WHO
	for service in policy audit; do
		[ -e "$1.d/$service.pid" ] && "$python" seqpacket.py stop "$1.d/$service.pid"
		rm -f "$1.d/$service.pid"
	done
}
crowd=''
release() {
	exec 7<&- 8>&-
	wait "$crowd"
	crowd=''
}
end() {
	[ -z "$crowd" ] || release
	stop user
	stop root
	rm -rf "$work"
}
trap end EXIT

who=user
places
start user
control="$python $work/attack.py control $work/user.d/policy.sock $work/user.d/audit.sock"
merges() { as user sbx-audit query --log="$work/user.d/log" --json --event=merge_approved; }
last_merge_has() { merges | tail -n 1 | grep -q "$1"; }
last_refusal_has() { grep 'cannot control the service' records | tail -n 1 | grep -q "$1"; }

# Outside of a sandbox every request works.
run as user $control
check outside_a_token_is_had out_has 'token done'
check outside_it_reloads out_has 'reload done'
check outside_the_record_is_of_its_user test "$(merges | grep -c confined)" -eq 0 -a "$(merges | wc -l)" -eq 1

attack() { # ATTACKER COMMAND...
	local attacker=$1
	shift
	run "$@" $control
	check "${attacker}_issues_itself_no_token" \
		out_has 'token refused: cannot control the service; the peer is in another user namespace'
	check "${attacker}_does_not_reload" out_has 'reload refused'
	check "${attacker}_does_not_see_tokens" out_has 'list refused'
	check "a_refusal_of_${attacker}_says_where_it_is" last_refusal_has '"confined":"user_namespace"'
	check "${attacker}_approves_a_merge_as_a_confined_process" last_merge_has '"confined":"user_namespace"'
}
if as user unshare -U true 2>/dev/null; then
	attack a_process_in_a_user_namespace as user unshare -U -r
else
	skip a_process_in_a_user_namespace_is_not_trusted 'this host lets a user make no user namespace'
fi
run begin_spawn -q -- true
if [ "$status" -eq 0 ]; then
	attack a_sandboxed_command begin_spawn -q --read "$work" --
else
	skip a_sandboxed_command_is_not_trusted 'this host runs no sandbox'
fi

lingers() { # SERVICE PACKET
	run as user "$python" "$work/linger.py" "$work/user.d/$1.sock" "$(cat "user.d/$1.pid")" "$2"
}
# The attack succeeds on a service that only calls recv().
run as user "$python" "$work/linger.py" plain "$work/user.d/plain.sock" x
check a_socket_that_lingers_blocks_a_plain_service out_is 'not served'
lingers policy '{"op":"fs.read","path":"/a"}'
check a_socket_that_lingers_does_not_hold_up_decisions out_is served
lingers audit '{"event":"state_transition"}'
check a_socket_that_lingers_does_not_hold_up_the_log out_is served
stop user

if [ "$(id -u)" -ne 0 ]; then
	skip four_users_do_not_lock_root_out 'only root has four users'
	finish
	exit
fi
start root
# They keep the group that may connect to the socket.
hold() { # SOCKET PACKET
	coproc crowd_process { exec "$python" attack.py crowd "$1" "$2" 20001 16; }
	exec 7<&"${crowd_process[0]}" 8>&"${crowd_process[1]}"
	eval "exec ${crowd_process[0]}<&- ${crowd_process[1]}>&-"
	crowd=$crowd_process_PID
	read -r held <&7
}
sync='{"event":"state_transition"}'
answered() { # SOCKET PACKET ANSWER
	timeout 60 "$python" seqpacket.py ask "$1" <<<"$2" | grep -q "$3"
}
hold root.d/policy.sock '{"op":"fs.read","path":"/a"}'
check untrusted_users_get_three_quarters_of_the_connections test "$held" -eq 48
check root_is_still_served answered root.d/policy.sock '{"do":"status"}' '"ok":true'
release
hold root.d/audit.sock "$sync"
check untrusted_users_get_three_quarters_of_the_connections_of_the_log test "$held" -eq 48
check root_still_writes_to_the_log answered root.d/audit.sock "$sync" '"seq":'
release
check a_crowd_does_not_fill_the_journal test "$(grep -c 'cannot serve a client' log)" -le 20
finish
