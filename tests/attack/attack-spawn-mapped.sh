#!/bin/bash
# SPDX-License-Identifier: MIT
# Files that root's command may read as root's own must not include protected files of the system or of other users,
# and the access must not allow writing, connecting or executing.
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

# Files of the system that only root may read.
secrets='cat /etc/shadow /etc/gshadow /etc/ssh/ssh_host_*_key 2>/dev/null | wc -c'
for directory in / /etc /usr /var /home; do
	run from "$directory" -- sh -c "$secrets"
	check "no_secret_of_the_system_is_read_from_$directory" out_is 0
	run spawn --read "$directory" -- sh -c "$secrets"
	check "no_secret_of_the_system_is_read_by_--read_$directory" out_is 0
done
# An overlay is written as the owner of its directory, which must not be a way to read as root either.
for directory in /etc /var; do
	run from "$directory" --out "$work/out-of-${directory#/}.tar" -- sh -c "$secrets"
	check "nor_with_--out_in_$directory" out_is 0
done
cat >"$work/overlay.yaml" <<'EOF'
version: 1
capabilities:
  - {name: system, match: {op: [fs.read, fs.list, exec], path: [/usr, /bin, /lib, /lib64]}, action: allow}
mounts: [{source: /etc, target: /x, mode: overlay}]
EOF
run spawn --policy "$work/overlay.yaml" --cwd / -- sh -c 'cat /x/shadow /x/gshadow 2>/dev/null | wc -c'
check nor_by_an_overlay_of_a_policy out_is 0
check outside_root_reads_it test "$(sh -c "$secrets")" -gt 0
# A directory of the system that only root may enter.
shut=$(mktemp -d /etc/sbx-test-XXXXXX)
echo secret >"$shut/file"
run from "$shut" -- cat "$shut/file"
check a_closed_directory_of_the_system_is_not_mapped test "$status" -eq 125 -a "$out" = ''
run spawn --read "$shut" -- cat "$shut/file"
check nor_is_it_by_name test "$status" -ne 125 -a "$out" = ''
rm -r "$shut"

# In a private directory of root: a file of another user that root's group may read.
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
check another_users_file_is_not_read_by_roots_group test "$status" -ne 125 -a "$out" = ''
run from "$own" -- cat other/file
check another_users_closed_directory_is_not_entered test "$status" -ne 125 -a "$out" = ''

# A read-only mount does not restrict sockets and FIFOs of root.
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
check nothing_in_it_is_changed test "$status" -ne 0 -a "$status" -ne 125 -a -e "$own/theirs" -a ! -e "$own/new"

# Mounts below the named directory are not included.
mkdir "$own/mounted"
if unshare -m true 2>/dev/null; then
	run unshare -m sh -c "mount --bind /etc '$own/mounted' && cd '$own' && sbx-spawn -- sh -c 'ls mounted/passwd; cat mounted/shadow'"
	check a_mount_below_an_idmapped_directory_is_not_mapped out_is mounted/passwd
else
	skip a_mount_below_an_idmapped_directory_is_not_mapped 'no mount namespace can be made here'
fi
# Bind mounts of system directories or files below the named directory are not included either.
bound() { # DIRECTORY-OR-FILE-OF-THE-SYSTEM COMMAND...: with it mounted at $own/bound
	unshare -m sh -c 'mount --bind "$1" "$2" && shift 2 && "$@"' sh "$1" "$own/bound" "${@:2}"
}
if unshare -m true 2>/dev/null; then
	mkdir "$own/bound"
	shut=$(mktemp -d /etc/sbx-test-XXXXXX)
	chmod 755 "$shut"
	echo secret >"$shut/file"
	chmod 640 "$shut/file"
	run bound /etc sh -c "cd '$own/bound' && sbx-spawn -- sh -c 'ls passwd; cat shadow'"
	check a_mount_of_the_system_is_not_mapped_as_the_working_directory out_is passwd
	run bound /etc sbx-spawn --read "$own/bound" -- sh -c "ls '$own/bound/passwd'; cat '$own/bound/shadow'"
	check nor_is_it_by_--read out_is "$own/bound/passwd"
	run bound / sh -c "cd '$own/bound' && sbx-spawn -- cat etc/shadow"
	check nor_is_the_root test "$status" -ne 125 -a "$out" = ''
	run bound "$shut" sh -c "cd '$own/bound' && sbx-spawn -- sh -c 'ls file; cat file'"
	check nor_is_a_directory_of_it out_is file
	run bound /etc sh -c "cd '$own/bound/${shut##*/}' && sbx-spawn -- sh -c 'ls file; cat file'"
	check nor_is_a_directory_below_the_mount out_is file
	run bound /etc sh -c "cd '$own/bound' && sbx-spawn --out '$work/out-of-bound' -- sh -c 'ls passwd; cat shadow'"
	check nor_with_--out_in_it out_is passwd
	check a_note_says_so err_has "in '$own/bound' the command can change only what other users may change"
	sed "s|source: /etc|source: $own/bound|" "$work/overlay.yaml" >"$work/bound.yaml"
	run bound /etc sbx-spawn --policy "$work/bound.yaml" --cwd / -- sh -c 'ls /x/passwd; cat /x/shadow'
	check nor_by_an_overlay_of_a_policy_of_it out_is /x/passwd
	run bound "$shut" sbx-spawn --write "$own/bound" -- sh -c "ls '$own/bound/file'; cat '$own/bound/file'; echo over >'$own/bound/file'"
	check nor_by_--write out_is "$own/bound/file"
	check nothing_is_written_there test "$(cat "$shut/file")" = secret
	check a_note_says_so_for_--write err_has "in '$own/bound' the command can change only what other users may change"
	run bound /etc sbx-spawn --write "$own" -- sh -c "ls '$own/bound/passwd'; cat '$own/bound/shadow'"
	check a_mount_below_a_writable_directory_is_not_mapped out_is "$own/bound/passwd"
	rmdir "$own/bound"
	touch "$own/bound"
	run bound "$shut/file" sbx-spawn --read "$own/bound" -- sh -c "ls '$own/bound'; cat '$own/bound'"
	check nor_is_a_file_of_it out_is "$own/bound"
	rm "$own/bound"
	mkdir "$own/plain" "$own/bound"
	echo mine >"$own/plain/file"
	chmod 600 "$own/plain/file"
	run bound /etc sh -c "cd '$own/plain' && sbx-spawn -- cat file" # the mount is beside this directory
	check a_file_of_root_is_read out_is mine
	run bound /etc sh -c "cd '$own/plain' && sbx-spawn --out '$work/out-of-plain' -- sh -c 'cat file; echo new >file'"
	check an_overlay_of_it_is_read out_is mine
	check and_written test "$(cat "$work/out-of-plain/file")" = new
	run bound /etc sbx-spawn --write "$own/plain" -- sh -c "cat '$own/plain/file'; echo over >'$own/plain/file'"
	check by_--write_it_is_read out_is mine
	check and_written_by_--write test "$(cat "$own/plain/file")" = over
	run spawn --write "$shut" -- sh -c "echo over >'$shut/file'"
	check a_directory_of_the_system_that_root_names_by_--write_is_written test "$(cat "$shut/file")" = over
	rm -r "$own/plain" "$own/bound" "$shut"
else
	skip a_mount_of_the_system_is_not_mapped_as_the_working_directory 'no mount namespace can be made here'
fi
# A link to a system directory.
ln -s /etc "$work/link"
run spawn --read "$work/link" -- sh -c "$secrets"
check a_link_to_the_system_is_not_followed test "$status" -eq 125 -a "$out" = ''
finish
