#!/bin/bash
# SPDX-License-Identifier: MIT
# The tier "reduced", where the host's processes have numbers inside, too: attacks of "escape" on another process of the
# same user, each also outside, where it must work.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

attacks='probe_victim signal_victim signal_victim_by_pidfd trace_victim seize_victim read_memory_of_victim
	write_memory_of_victim open_memory_of_victim take_fd_of_victim limit_victim renice_victim
	renice_everybody schedule_victim pin_victim io_priority_of_victim io_priority_of_everybody attach_shared_memory
	open_message_queue read_secret add_key read_keyring'

# Its name is none of ours, or a gc beside this test would take it for one.
cgroup=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)/reduced-test-$$
delegated() { (echo 0 >"$cgroup/cgroup.procs" && exec "$@"); }
forbidden() { delegated python3 "$SBX_SOURCE/tests/tool/no-userns.py" "$@"; }
if [ "$(id -u)" -ne 0 ] || [ "$cgroup" = "/reduced-test-$$" ] || ! mkdir "$cgroup" 2>/dev/null; then
	skip the_reduced_tier_holds 'no cgroup v2 in which we may make one'
	finish
	exit
fi
victim='' segment='' queue=/sbx-reduced-$$
end() {
	[ -z "$victim" ] || kill -KILL "$victim" # it may have been stopped
	[ -z "$segment" ] || ipcrm -m "$segment"
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
chown "$user:$user" "$work/secret"
setpriv --reuid="$user" --regid="$user" --clear-groups sleep 600 &
victim=$!
disown
segment=$(ipcmk -M 4096 -p 0666 | sed 's/.* //')
key=$(awk -v id="$segment" '$2 == id { print $1 }' /proc/sysvipc/shm)
export ESCAPE_VICTIM=$victim ESCAPE_SHM=$key ESCAPE_QUEUE=$queue ESCAPE_SECRET=$work/secret
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
	(cd "$project" && forbidden sbx-spawn -q --tier reduced --read "$work/escape" --env ESCAPE_VICTIM --env ESCAPE_SHM \
		--env ESCAPE_QUEUE --env ESCAPE_SECRET -- "$work/escape" "$1")
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
run inside no_such_attack
check the_attacks_on_the_reduced_tier_are_run has_status 3
finish
