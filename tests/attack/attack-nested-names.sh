#!/bin/bash
# SPDX-License-Identifier: MIT
# A command that may make mount namespaces (isolation.nested) gives one of them a new root. There the masks of the sandbox are no
# mount points, so by the descriptor of a directory it can move what they hide to a directory that it has bound elsewhere before.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

cat >"$work/mover.py" <<'END'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(result):
    if result < 0:
        sys.exit(os.strerror(ctypes.get_errno()))
top = sys.argv[1]
top_fd = os.open(top, os.O_PATH | os.O_DIRECTORY)
ids = os.getuid(), os.getgid()
call(libc.unshare(0x10000000 | 0x20000))  # CLONE_NEWUSER, CLONE_NEWNS
for name, text in (("setgroups", "deny"), ("uid_map", f"{ids[0]} {ids[0]} 1"), ("gid_map", f"{ids[1]} {ids[1]} 1")):
    with open(f"/proc/self/{name}", "w") as file:
        file.write(text)
call(libc.mount(b"none", b"/", None, 1 << 18 | 1 << 14, None))  # MS_PRIVATE, MS_REC
call(libc.mount(b"tmpfs", b"/mnt", b"tmpfs", 0, None))
os.mkdir("/mnt/old")
os.mkdir("/mnt/seen")
call(libc.mount(f"{top}/open".encode(), b"/mnt/seen", None, 1 << 12, None))  # MS_BIND
os.chdir("/mnt")
call(libc.pivot_root(b".", b"old"))
call(libc.umount2(b"/old", 2))  # MNT_DETACH
os.rename("hidden", "open/hidden", src_dir_fd=top_fd, dst_dir_fd=top_fd)
with open("/seen/hidden/file") as file:
    print(file.read(), end="")
END
make_tree() {
	rm -rf "${project:?}"/*
	places
	as "$who" mkdir "$project/hidden" "$project/open"
	as "$who" sh -c "echo private >'$project/hidden/file'"
}
cat >"$work/p.yaml" <<END
version: 1
isolation: {nested: true}
capabilities:
  - {name: see, action: allow, match: {op: [fs.read, fs.list, fs.exists], path: [/usr, /bin, /lib, /lib64, $work/mover.py]}}
  - {name: programs, action: allow, match: {op: exec}}
  - {name: work, action: allow, match: {op: fs.*, path: ['./', /tmp]}}
  - {name: hidden, action: deny, match: {op: fs.*, path: ./hidden}}
END
chmod 644 "$work/p.yaml" "$work/mover.py"

for who in $starters; do
	make_tree
	run as "$who" unshare -Urm sh -c "mount -t tmpfs tmpfs '$project/hidden' && exec /usr/bin/python3 '$work/mover.py' '$project'"
	check "outside_a_hidden_directory_is_read_by_$who" out_is private
	make_tree
	run spawn --policy "$work/p.yaml" -- /usr/bin/python3 "$work/mover.py" "$project"
	check "a_sandbox_that_could_do_it_does_not_start_by_$who" eval 'has_status 125 && err_has "isolation.nested"'
	check "what_is_hidden_stays_where_it_is_by_$who" test -e "$project/hidden/file"
	sed '/name: hidden/d' "$work/p.yaml" >"$work/open.yaml"
	chmod 644 "$work/open.yaml"
	run spawn -q --policy "$work/open.yaml" -- true
	check "without_the_denial_it_starts_by_$who" has_status 0
done
finish
