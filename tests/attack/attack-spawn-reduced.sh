#!/bin/bash
# SPDX-License-Identifier: MIT
# The tier "reduced", in which PIDs and paths of the host are visible inside: attacks of "escape" on other processes,
# files and sockets of the same user, each also outside, where it must succeed.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

attacks='probe_victim signal_victim signal_victim_by_pidfd trace_victim seize_victim read_memory_of_victim
	write_memory_of_victim open_memory_of_victim take_fd_of_victim limit_victim renice_victim
	renice_everybody schedule_victim pin_victim io_priority_of_victim io_priority_of_everybody attach_shared_memory
	open_message_queue read_secret add_key read_keyring
	change_mode_of_shown change_mode_of_shown_by_descriptor change_owner_of_shown change_owner_of_shown_by_descriptor
	change_times_of_shown change_times_of_shown_by_descriptor set_attribute_of_shown set_attribute_of_shown_link
	set_attribute_of_shown_by_descriptor remove_attribute_of_shown remove_attribute_of_shown_by_descriptor
	set_flags_of_shown_by_descriptor change_mode_of_secret connect_to_named_socket connect_to_abstract_socket
	send_to_named_socket_by_pair connect_pair_to_named_socket'

# The name must not look like a cgroup of sbx, or a gc of another test would remove it.
cgroup=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)/reduced-test-$$
delegated() { (echo 0 >"$cgroup/cgroup.procs" && exec "$@"); }
forbidden() { delegated python3 "$SBX_SOURCE/tests/tool/no-userns.py" "$@"; }
if [ "$(id -u)" -ne 0 ] || [ "$cgroup" = "/reduced-test-$$" ] || ! mkdir "$cgroup" 2>/dev/null; then
	skip the_reduced_tier_holds 'no cgroup v2 in which we may make one'
	finish
	exit
fi
victim='' segment='' listener='' queue=/sbx-reduced-$$
end() {
	[ -z "$victim" ] || kill -KILL "$victim" # it may be stopped
	[ -z "$segment" ] || ipcrm -m "$segment"
	[ -z "$listener" ] || kill "$listener"
	rm -rf "$work"
	rmdir "$cgroup"
}
trap end EXIT
chown -R "$user:$user" "$cgroup"
run forbidden true
if [ "$status" -ne 0 ]; then
	skip the_reduced_tier_holds 'this host lets root make no user namespace'
	finish
	exit
fi

who=user
places
cp "$SBX_BUILD/tests/attack/escape" "$work/escape"
echo 'do not read this' >"$work/secret"
echo 'read this' >"$work/shown"
chown "$user:$user" "$work/secret" "$work/shown"
# Wait until the listener has created its sockets.
mkfifo "$work/ready"
python3 "$SBX_SOURCE/tests/attack/listeners.py" "$project" "sbx-reduced-$$" >"$work/ready" &
listener=$!
disown
read -r _ <"$work/ready"
setpriv --reuid="$user" --regid="$user" --clear-groups sleep 600 &
victim=$!
disown
segment=$(ipcmk -M 4096 -p 0666 | sed 's/.* //')
key=$(awk -v id="$segment" '$2 == id { print $1 }' /proc/sysvipc/shm)
export ESCAPE_VICTIM=$victim ESCAPE_SHM=$key ESCAPE_QUEUE=$queue ESCAPE_SECRET=$work/secret
export ESCAPE_SHOWN=$work/shown ESCAPE_SOCKET=$project/stream ESCAPE_DATAGRAM=$project/datagram
export ESCAPE_ABSTRACT=sbx-reduced-$$
make_queue() {
	python3 -c '
import ctypes, os, sys
library = ctypes.CDLL(None, use_errno=True)
name = sys.argv[1].encode()
sys.exit(library.mq_unlink(name) if len(sys.argv) > 2 else library.mq_open(name, os.O_CREAT | os.O_RDWR, 0o666, None) < 0)' "$@"
}
make_queue "$queue"

outside() { as user "$work/escape" "$1"; }
inside() {
	(cd "$project" && forbidden sbx-spawn -q --tier reduced --read "$work/escape" --read "$work/shown" --env ESCAPE_VICTIM \
		--env ESCAPE_SHM --env ESCAPE_QUEUE --env ESCAPE_SECRET --env ESCAPE_SHOWN --env ESCAPE_SOCKET \
		--env ESCAPE_DATAGRAM --env ESCAPE_ABSTRACT -- "$work/escape" "$1")
}
for attack in $attacks; do
	run outside "$attack"
	if [ "$status" -eq 2 ]; then
		skip "${attack}_works_outside_of_the_reduced_tier" 'this host lacks what the attack is about'
	else
		check "${attack}_works_outside_of_the_reduced_tier" has_status 0
	fi
	run inside "$attack"
	check "${attack}_is_refused_in_the_reduced_tier" has_status 1
done
make_queue "$queue" remove
check the_victim_of_the_reduced_tier_lives kill -0 "$victim"
# The filter does not apply to the creation of an inherited socket.
inherits() { # KIND
	(cd "$project" && delegated python3 "$SBX_SOURCE/tests/attack/inherit-socket.py" "$1" \
		python3 "$SBX_SOURCE/tests/tool/no-userns.py" sbx-spawn -q --tier reduced -- true)
}
for kind in datagram unconnected; do
	run inherits "$kind"
	check "an_inherited_${kind}_socket_is_refused_in_the_reduced_tier" has_status 125
	check "the_message_names_the_inherited_${kind}_socket" err_has 'Unix socket'
done
run inherits connected
check an_inherited_connected_socket_is_taken_in_the_reduced_tier has_status 0
run inside no_such_attack
check the_attacks_on_the_reduced_tier_are_run has_status 3
finish
