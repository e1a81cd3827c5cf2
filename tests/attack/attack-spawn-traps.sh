#!/bin/bash
# SPDX-License-Identifier: MIT
# Traps that a command leaves for sbx or another sandbox outside: links where sbx later writes, directories that are
# exchanged while sandboxes start, sparse files.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

n_races=${1:-40}
[ "${TEST_SLOW:-}" = 1 ] && n_races=400

# The file that must not change.
victim=$work/victim
beside=$work/beside
prepare() {
	rm -rf "$victim" "$beside" "${project:?}"
	mkdir -p "$victim/folder" "$beside" "$project/sub"
	echo precious >"$victim/file"
	places
	[ "$who" = user ] && [ "$(id -u)" -eq 0 ] && chown -R "$user:$user" "$victim" "$beside"
	[ "$who" = root ] && chown -R 0:0 "$victim" "$beside"
	return 0
}
is_precious() { [ "$(cat "$victim/file")" = precious ] && [ -z "$(ls -A "$victim/folder")" ]; }

# Without protection: the shell itself follows the link.
link_is_followed() {
	prepare
	ln -s "$victim/file" "$beside/result.tar"
	echo gone >"$beside/result.tar"
	! is_precious
}

report_through_a_link() {
	prepare
	run spawn -q --write . --report report.json -- sh -c "ln -s '$victim/file' report.json"
	is_precious && [ "$status" -eq 0 ] && [ ! -L "$project/report.json" ]
}

report_in_an_exchanged_directory() {
	prepare
	run spawn -q --write . --report sub/report.json -- sh -c "mv sub old && ln -s '$victim/folder' sub"
	is_precious && [ "$status" -eq 0 ] && [ -f "$project/old/report.json" ]
}

archive_through_a_link() {
	prepare
	run spawn -q --write "$beside" --out "$beside/result.tar" -- \
		sh -c "echo new >file && ln -s '$victim/file' '$beside/result.tar'"
	is_precious && [ "$status" -eq 0 ] && [ ! -L "$beside/result.tar" ] && tar -tf "$beside/result.tar" >"$work/listed"
}

# A name that looks like a wildcard: only the file is granted, not its directory.
strange_name() {
	prepare
	name=$(printf '\001')
	for one in "$name" "$name$name"; do
		as "$who" touch "$beside/$one"
		run spawn -q --write "$beside/$one" -- sh -c "touch '$beside/more'"
		[ ! -e "$beside/more" ] || return 1
	done
}

# Moving a parent directory must not change what a rule denies or grants at a path.
moved_parents() {
	prepare
	as "$who" mkdir -p "$beside/tree/a/b" "$beside/tree/c/d"
	echo precious | as "$who" tee "$beside/tree/a/b/hidden" "$beside/tree/c/d/shown" >/dev/null
	cat >"$work/moved.yaml" <<EOF
version: 1
capabilities:
  - {name: sys, action: allow, match: {op: [fs.read, fs.list, exec], path: [/usr, /bin, /lib, /lib64]}}
  - {name: tree, action: allow, match: {op: [fs.write, fs.list], path: $beside/tree}}
  - {name: a, action: allow, match: {op: fs.read, path: $beside/tree/a}}
  - {name: shown, action: allow, match: {op: fs.read, path: $beside/tree/c/d}}
  - {name: hidden, action: deny, match: {op: fs.read, path: $beside/tree/a/b/hidden}}
EOF
	run spawn -q --policy "$work/moved.yaml" -- sh -c "cd '$beside/tree' || exit 9
		mv a/b a/moved 2>/dev/null && exit 8
		mv c moved 2>/dev/null && exit 7
		mv c/d c/moved 2>/dev/null && exit 6
		cat c/d/shown"
	[ "$status" -eq 0 ] && out_is precious
}

archive_of_holes() {
	prepare
	run spawn -q --out "$beside/result.tar" -- sh -c 'echo x >one && truncate -s 500G one'
	[ "$status" -eq 0 ] && [ "$(stat -c %b "$beside/result.tar")" -lt 200 ] && tar -tf "$beside/result.tar" >"$work/listed"
}

archive_of_many_names() {
	prepare
	run spawn -q --out "$beside/result.tar" -- \
		sh -c 'head -c 1000000 /dev/urandom >one && for i in $(seq 50); do ln one "name-$i"; done && truncate -s 1G two'
	[ "$status" -eq 0 ] && [ "$(stat -c %s "$beside/result.tar")" -lt 2000000 ]
}

archive_with_strange_names() {
	prepare
	run spawn -q --out "$beside/result.tar" -- sh -c "touch -- \"\$(printf 'a\\377b')\" .wh.x '-rf' \"\$(printf 'a\\nb')\""
	[ "$status" -eq 0 ] && [ "$(tar -tf "$beside/result.tar" 2>/dev/null | wc -l)" -eq 3 ] && err_has "'.wh.x' is not in"
}

# A socket cannot be stored in an archive: no partial archive is left.
archive_of_deep_directories() {
	prepare
	run spawn -q --out "$beside/result.tar" -- sh -c 'for _ in $(seq 520); do mkdir d && cd d || exit 9; done'
	[ "$status" -eq 125 ] && [ ! -e "$beside/result.tar" ]
}

# If it may write beside the archive, it finds overlayfs's work directory, which sbx removes.
deep_directories_in_the_working_place() {
	prepare
	run spawn -q --write "$beside" --out "$beside/result.tar" -- \
		sh -c "cd '$beside'/.result.tar.sbx-work-*/ && for _ in \$(seq 1500); do mkdir d && cd d || exit 9; done; chmod 0 ."
	[ "$status" -eq 0 ] && [ "$(ls -A "$beside")" = result.tar ]
}

processes_of_the_host() {
	prepare
	run spawn -q --bind /proc:/srv -- ls /srv
	[ "$status" -eq 125 ] && err_has 'processes of the host'
}

# Paths that sbx itself reads and writes, wherever they are configured to be.
places_of_ours() {
	prepare
	mkdir -p "$work/$who/state/sbx" "$work/$who/run/sbx" "$work/$who/home/.config/sbx" \
		"$work/$who/home/.config/systemd" "$work/$who/home/.local/share/systemd" "$work/$who/home/.local/state/sbx"
	chmod 700 "$work/$who/run/sbx"
	places
	run spawn -q --write "$work/$who" -- sh -c "
		touch '$work/$who/written' || exit 9
		for folder in state/sbx run/sbx home/.config/sbx home/.local/state/sbx; do
			touch '$work/$who/'\$folder/evil 2>/dev/null && exit 8
			mv '$work/$who/'\$folder '$work/$who/moved' 2>/dev/null && exit 7
		done
		mv '$work/$who/home' '$work/$who/moved' 2>/dev/null && exit 6
		exit 0"
	[ "$status" -eq 0 ]
}

places_that_could_be_made() {
	prepare
	rm -rf "$work/$who/elsewhere"
	mkdir "$work/$who/elsewhere"
	places
	export XDG_CONFIG_HOME="$work/$who/elsewhere"
	run spawn -q --write "$work/$who/elsewhere" -- true
	unset XDG_CONFIG_HOME
	[ "$status" -eq 125 ] && err_has "$work/$who/elsewhere/s"
}

registry_in_tmp() {
	prepare
	run spawn_without_runtime --write /tmp --deny "$work" -- sh -c "
		ls '/tmp/sbx-$user' >&2; mkdir -p '/tmp/sbx-$user/sandboxes/forged' 2>/dev/null && exit 9; exit 0"
	# Do not remove the directory itself: another test of this user may be about to mask it.
	rmdir "/tmp/sbx-$user/sandboxes/forged" "/tmp/sbx-$user/sandboxes" 2>/dev/null
	[ "$status" -eq 0 ] && err_has 'Permission denied'
}
# The HOME of tests is in /tmp, but the trap must be in a persistent home: use another one.
spawn_without_runtime() {
	(cd / && as "$who" env -u XDG_RUNTIME_DIR HOME=/nonexistent XDG_STATE_HOME="$work/$who/state" sbx-spawn -q "$@")
}

# Another sandbox of the same user that can be entered, and a request to enter it as sbx-ctl sends it, with three fds.
enter=$(cat <<'EOF'
import array, os, socket, sys
try:
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    door.connect(sys.argv[1])
    door.sendmsg([b'{"exec":["true"]}'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
    print(door.recv(4096).decode() or "no answer")
except OSError as error:
    print(error)
EOF
)
enter_another() { # COMMAND...: asks from where that runs it
	local door=/run/sbx/sandboxes/entered-$$/control.sock other
	prepare
	[ "$who" = user ] && door=$XDG_RUNTIME_DIR/sbx/sandboxes/entered-$$/control.sock
	mkfifo "$beside/ready"
	(cd "$project" && become_sandbox -q --debug --id "entered-$$" -- sh -c 'echo ready; sleep 1000') >"$beside/ready" &
	other=$!
	read -r _ <"$beside/ready"
	run "$@" /usr/bin/python3 -c "$enter" "$door"
	kill "$other"
	wait "$other" 2>/dev/null
}
become_sandbox() {
	[ "$who" = user ] && [ "$(id -u)" -eq 0 ] &&
		exec setpriv --reuid="$user" --regid="$user" --clear-groups sbx-spawn "$@"
	exec sbx-spawn "$@"
}
sandbox_is_entered_outside() {
	enter_another as "$who"
	out_is '{"status":0}'
}
sandbox_is_entered_from_a_sandbox() {
	local shown=/run
	[ "$who" = user ] && shown=$work/$who/run
	enter_another spawn -q --read "$shown" --
	out_has 'No such file or directory' || out_has 'Permission denied'
}

exchange() { # A B: exchanges the two names in a loop
	exec python3 -c '
import ctypes, sys
call = ctypes.CDLL(None).renameat2
one, other = (name.encode() for name in sys.argv[1:])
while True:
    call(-100, one, -100, other, 2)' "$1" "$2"
}

# Whichever is found at each moment: the sandbox shows the directory itself, or does not start.
granted_directory_is_exchanged() { # OPTIONS for "$project/sub/granted"
	local racer n_good=0 n_refused=0
	prepare
	mkdir "$project/sub/granted"
	ln -s "$victim/folder" "$project/sub/link"
	places
	# A link of root would be followed.
	[ "$(id -u)" -ne 0 ] || chown -h "$user:$user" "$project/sub/link"
	(exchange "$project/sub/granted" "$project/sub/link") &
	racer=$!
	for _ in $(seq "$n_races"); do
		(cd "$beside" && as "$who" sbx-spawn -q "$@" -- sh -c "echo x >'$project/sub/granted/file'; echo x >out") >"$work/raced" 2>&1
		if [ $? -eq 125 ]; then n_refused=$((n_refused + 1)); else n_good=$((n_good + 1)); fi
		rm -f "$project/sub"/*/file "$project/sub"/*/out
	done
	kill "$racer"
	wait "$racer" 2>/dev/null
	echo "# $n_good ran, $n_refused were refused"
	[ -z "$(ls -A "$victim/folder")" ]
}

for who in $starters; do
	check "outside_a_link_is_followed_by_$who" link_is_followed
	check "no_report_is_written_through_a_link_by_$who" report_through_a_link
	check "no_report_lands_in_an_exchanged_directory_by_$who" report_in_an_exchanged_directory
	check "no_archive_is_written_through_a_link_by_$who" archive_through_a_link
	check "no_rule_is_left_by_moving_a_directory_by_$who" moved_parents
	check "a_strange_name_grants_no_directory_to_$who" strange_name
	check "an_archive_does_not_grow_by_holes_by_$who" archive_of_holes
	check "an_archive_has_content_once_by_$who" archive_of_many_names
	check "an_archive_takes_any_name_by_$who" archive_with_strange_names
	check "no_archive_is_left_half_made_by_$who" archive_of_deep_directories
	check "deep_leftovers_of_the_command_are_removed_by_$who" deep_directories_in_the_working_place
	check "the_processes_of_the_host_cannot_be_bound_by_$who" processes_of_the_host
	check "no_exchanged_directory_is_granted_by_$who" granted_directory_is_exchanged --write "$project/sub/granted"
	check "no_exchanged_directory_is_bound_by_$who" granted_directory_is_exchanged --bind "$project/sub/granted:/srv:rw"
	check "outside_another_sandbox_is_entered_by_$who" sandbox_is_entered_outside
	check "no_sandbox_is_entered_from_another_by_$who" sandbox_is_entered_from_a_sandbox
	check "no_exchanged_directory_takes_changes_by_$who" granted_directory_is_exchanged --out "$project/sub/granted"
done
who=user
check trusted_paths_cannot_be_written places_of_ours
check the_registry_in_tmp_cannot_be_written registry_in_tmp
check missing_trusted_paths_cannot_be_created places_that_could_be_made
finish
