#!/bin/bash
# SPDX-License-Identifier: MIT
# Real work: programs that look up the address of their own host, and that set the user and group ids that they have.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

address_of_itself='import socket; print(socket.gethostbyname(socket.gethostname()))'
addresses() { spawn -q "$@" -- /usr/bin/python3 -c "$address_of_itself"; }
programs_policy
sed 's|, /etc\]|]|' "$work/p.yaml" >"$work/without-etc.yaml"
chmod 644 "$work/without-etc.yaml"

# Every way to set what is already so, as programs that give up privileges do, and a way to become another user.
cat >"$project/ids.py" <<'END2'
import os, subprocess
uid, gid = os.getuid(), os.getgid()
os.setgid(gid), os.setregid(gid, gid), os.setresgid(gid, gid, gid), os.setegid(gid)
os.setuid(uid), os.setreuid(uid, uid), os.setresuid(uid, uid, uid), os.seteuid(uid)
print("set", subprocess.run(["id", "-u"], user=uid, group=gid, capture_output=True).stdout == b"%d\n" % uid)
for name in ["setuid", "setgid"]:
    for other in [0, 1, uid + 1]:
        try:
            getattr(os, name)(other)
            print(name, other)
        except OSError:
            pass
END2

for who in $starters; do
	if [ -f /etc/hosts ] && [ ! -L /etc/hosts ]; then
		run addresses
		check "the_host_name_of_the_sandbox_has_an_address_by_$who" out_is 127.0.0.1
		run addresses --hostname box.example --net none
		check "so_has_a_chosen_one_without_a_network_by_$who" out_is 127.0.0.1
		run spawn -q -- head -n -1 /etc/hosts
		check "the_lines_of_the_host_are_there_too_by_$who" test "$out" = "$(cat /etc/hosts)"
		run spawn -q --hostname $'a\n10.0.0.1 b' -- cat /etc/hosts
		check "a_name_of_several_lines_adds_none_by_$who" test "$status,$out" = "0,$(cat /etc/hosts)"
		run spawn -q -p "$work/without-etc.yaml" -- cat /etc/hosts
		check "a_policy_that_does_not_show_the_file_gets_none_by_$who" test "$status" -ne 0 -a "$status" -ne 125 -a -z "$out"
	else
		skip "the_host_name_of_the_sandbox_has_an_address_by_$who" 'there is no regular file /etc/hosts'
	fi
	run spawn -q -- /usr/bin/python3 ids.py
	check "a_program_can_set_the_ids_that_it_has_by_$who" out_is 'set True'
	run spawn -q -- sh -c 'setpriv --reuid="$(id -u)" --regid="$(id -g)" --keep-groups --no-new-privs echo dropped'
	check "setpriv_can_give_up_privileges_by_$who" out_is dropped
done

# Root reads every file of root, but its command is another user.
with_private_hosts() {
	unshare --mount --propagation private sh -c 'mount --bind "$1" /etc/hosts && shift && exec "$@"' sh "$work/hosts" "$@"
}
if [ "$EUID" -eq 0 ] && [ -f /etc/hosts ] && [ ! -L /etc/hosts ] && unshare --mount true 2>/dev/null; then
	echo '10.0.0.1 secret' >"$work/hosts"
	chmod 600 "$work/hosts"
	run with_private_hosts sbx-spawn -q -- cat /etc/hosts
	check what_root_alone_can_read_is_not_copied eval 'has_status 1 && err_has "Permission denied" && ! out_has secret'
	chmod 644 "$work/hosts"
	run with_private_hosts sbx-spawn -q -- cat /etc/hosts
	check what_all_can_read_is_copied out_has '127.0.0.1 sandbox'
else
	skip what_root_alone_can_read_is_not_copied 'only root can mount another /etc/hosts'
fi
finish
