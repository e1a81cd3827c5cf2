#!/bin/bash
# SPDX-License-Identifier: MIT
# What root's command may read as root's own must not be what the system is protected by, nor anybody else's; and it must
# not become a way to write, to connect or to execute.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

if [ "$(id -u)" -ne 0 ]; then
	skip nothing_of_roots_is_mapped 'only root can try'
	finish
	exit
fi
who=root
places
from() { (cd "$1" && shift && sbx-spawn "$@"); }

# The system's files that are closed to others.
secrets='cat /etc/shadow /etc/gshadow /etc/ssh/ssh_host_*_key 2>/dev/null | wc -c'
for directory in / /etc /usr /var /home; do
	run from "$directory" -- sh -c "$secrets"
	check "no_secret_of_the_system_is_read_from_$directory" out_is 0
	run spawn --read "$directory" -- sh -c "$secrets"
	check "no_secret_of_the_system_is_read_by_--read_$directory" out_is 0
done
# A directory of the system that only root may enter.
shut=$(mktemp -d /etc/sbx-test-XXXXXX)
echo secret >"$shut/file"
run from "$shut" -- cat "$shut/file"
check a_closed_directory_of_the_system_is_not_mapped test "$out" = ''
run spawn --read "$shut" -- cat "$shut/file"
check nor_is_it_by_name test "$out" = ''
rm -r "$shut"

# In a directory of root's that others cannot enter: another user's file that root's group may read.
own=$work/own
mkdir "$own" "$own/other"
chmod 700 "$own"
echo theirs >"$own/theirs"
chown "$user:0" "$own/theirs"
chmod 640 "$own/theirs"
echo theirs >"$own/other/file"
chown -R "$user:$user" "$own/other"
chmod 700 "$own/other"
run from "$own" -- cat theirs
check another_users_file_is_not_read_by_roots_group test "$out" = ''
run from "$own" -- cat other/file
check another_users_closed_directory_is_not_entered test "$out" = ''

# What a read-only mount does not hold: sockets and FIFOs of root's alone.
cat >"$work/try.py" <<'EOF'
import os, socket, sys
os.chdir(sys.argv[1])
for name in "stream", "fifo", "open-fifo":
    try:
        if name == "stream":
            socket.socket(socket.AF_UNIX).connect(name)
        else:
            os.open(name, os.O_WRONLY | os.O_NONBLOCK)
        print("reached", name)
    except OSError as e:
        print(name, e.errno)
EOF
python3 - "$own" <<'EOF'
import os, socket, sys
os.chdir(sys.argv[1])
os.mkfifo("fifo", 0o600)
os.mkfifo("open-fifo")
os.chmod("open-fifo", 0o666)
s = socket.socket(socket.AF_UNIX)
s.bind("stream")
os.chmod("stream", 0o600)
EOF
chmod 644 "$work/try.py"
run from "$own" --bind "$work/try.py:/srv/try.py" -- python3 /srv/try.py "$own"
check sockets_and_fifos_of_roots_stay_closed out_is "$(printf 'stream 13\nfifo 13\nopen-fifo 13')"
run from "$own" -- sh -c 'chmod 777 . || touch new || mv theirs gone || rm theirs'
check nothing_in_it_is_changed test "$status" -ne 0 -a -e "$own/theirs" -a ! -e "$own/new"

# What is mounted below root has not named.
mkdir "$own/mounted"
if unshare -m true 2>/dev/null; then
	run unshare -m sh -c "mount --bind /etc '$own/mounted' && cd '$own' && sbx-spawn -- sh -c 'ls mounted/passwd; cat mounted/shadow'"
	check what_is_mounted_below_is_not_mapped out_is mounted/passwd
else
	skip what_is_mounted_below_is_not_mapped 'no mount namespace can be made here'
fi
# A link to the system is not the system.
ln -s /etc "$work/link"
run spawn --read "$work/link" -- sh -c "$secrets"
check a_link_to_the_system_is_not_followed test "$status" -eq 125 -a "$out" = ''
finish
