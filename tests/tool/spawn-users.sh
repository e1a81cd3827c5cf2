#!/bin/bash
# SPDX-License-Identifier: MIT
# A user without a line in /etc/passwd gets one inside; a directory that only root can enter is readable in root's
# sandbox.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

if [ "$(id -u)" -ne 0 ]; then
	skip users_without_a_name_get_one 'only root has other users'
	finish
	exit
fi

# A uid that is in no file of the host.
unlisted=54321
by_unlisted() {
	mkdir -p "$work/unlisted/run"
	chown -R "$unlisted:$unlisted" "$work/unlisted"
	(cd "$work/unlisted" && HOME=/ XDG_STATE_HOME=$PWD XDG_RUNTIME_DIR=$PWD/run \
		setpriv --reuid="$unlisted" --regid="$unlisted" --clear-groups sbx-spawn "$@")
}

# shellcheck disable=SC2016 # it is the shell inside that expands
names='whoami; id -gn; getent passwd "$(id -u)" | cut -d: -f1,6,7; echo "$HOME"'

who=root
run spawn -- sh -c "$names"
check roots_throw_away_user_has_a_name test "$out" = "$(printf 'sbx\nsbx\nsbx:%s:/bin/sh\n%s' "$HOME" "$HOME")"
run by_unlisted -- sh -c "$names"
check so_has_a_user_that_no_file_names out_is "$(printf 'sbx\nsbx\nsbx:/run/home:/bin/sh\n/run/home')"
run spawn --uid "$unlisted" -- whoami
check so_has_one_that_root_chooses out_is sbx
run spawn --uid 1 -- whoami
check one_that_the_host_names_keeps_its_name out_is "$(getent passwd 1 | cut -d: -f1)"
run spawn -- head -n -1 /etc/passwd
check the_others_are_there_too test "$out" = "$(cat /etc/passwd)"
run spawn -- sh -c 'echo "x::0:0::/:/bin/sh" >>/etc/passwd || mv /etc/passwd /etc/x || rm /etc/group'
check nothing_of_it_can_be_written test "$status" -ne 0 -a "$status" -ne 125
programs_policy
sed -i 's|, /etc\]|]|' "$work/p.yaml"
run spawn -p "$work/p.yaml" -- cat /etc/passwd
check a_policy_that_does_not_show_the_file_gets_none test "$status" -ne 0 -a "$status" -ne 125
run spawn --deny /etc/passwd -- cat /etc/passwd
check one_that_is_denied_is_denied test "$status" -ne 0 -a "$status" -ne 125

# The fallback runtime directory in /tmp does not exist yet; it is hidden before it is created.
check this_user_has_no_directory_in_tmp test ! -e "/tmp/sbx-$unlisted"
run by_unlisted --read /tmp -- sh -c "ls /tmp/sbx-$unlisted || echo hidden"
check it_starts_with_the_hosts_tmp_all_the_same test "$status:$out" = 0:hidden
run by_unlisted --read / -- true
check it_starts_with_all_of_the_host test "$status" -eq 0
rmdir "/tmp/sbx-$unlisted" 2>/dev/null

# Neither HOME nor an account with a home, as in a container that runs with a numeric uid.
without_home() { # VARIABLE ARGUMENT...
	mkdir -p "$work/homeless/run"
	chown "$unlisted:$unlisted" "$work/homeless" "$work/homeless/run"
	(cd "$work/homeless" && setpriv --reuid="$unlisted" --regid="$unlisted" --clear-groups \
		env -i PATH="$PATH" XDG_RUNTIME_DIR="$work/homeless/run" "$1" sbx-spawn "${@:2}")
}
spool=$work/homeless/run/sbx/state/sbx/spool
for variable in A=b HOME=/ HOME=/nonexistent/home HOME=relative; do
	run without_home "$variable" -- echo works
	check "a_start_with_${variable//\//_}_runs" test "$status:$out" = 0:works
	check "it_says_in_one_line_where_its_records_are_with_${variable//\//_}" \
		err_is "sbx-spawn: note: audit records go to '$spool', which the next boot may remove; set HOME or XDG_STATE_HOME to a directory that you can write"
done
check its_records_are_there test "$(grep -c sandbox_created "$spool/records.jsonl")" -eq 4
run without_home A=b --write . -- sh -c "echo x >run/seen; cat '$spool/records.jsonl' || echo x >>'$spool/records.jsonl'"
check a_sandbox_neither_reads_nor_writes_them test "$status:$out:$(cat "$work/homeless/run/seen")" = 2::x
run without_home XDG_STATE_HOME=/nonexistent -- echo works
check a_place_that_was_named_and_cannot_be_used_is_refused test "$status:$out" = 125:
chown 0:0 "$work/homeless/run/sbx"
chmod 777 "$work/homeless/run/sbx"
run without_home A=b -- echo works
check a_runtime_directory_of_others_is_refused test "$status:$out" = 125:

# Closed by its own mode, or by that of a parent directory.
closed=$work/closed/own
mkdir -p "$closed/sub" "$work/open"
echo for-root >"$closed/file"
echo sub >"$closed/sub/file"
echo hidden >"$work/open/hidden"
chmod 600 "$closed/file" "$work/open/hidden"
chmod 700 "$work/closed"
in_closed() { (cd "$closed" && sbx-spawn "$@"); }
places
run in_closed -- cat file sub/file
check root_reads_a_directory_that_others_cannot_enter out_is "$(printf 'for-root\nsub')"
run in_closed -- sh -c 'echo x >file || echo x >new'
check and_does_not_write_it test "$status" -ne 0 -a "$status" -ne 125 -a "$(cat "$closed/file")" = for-root -a ! -e "$closed/new"
run spawn --read "$closed" -- cat "$closed/file"
check so_it_does_one_that_is_named out_is for-root
chmod 755 "$work/closed"
chmod 700 "$closed"
run spawn --read "$closed" -- cat "$closed/file"
check or_one_that_is_closed_itself out_is for-root
run in_closed --write sub -- sh -c 'cat file && echo new >sub/file && stat -c %u sub/file'
check a_file_written_in_it_belongs_to_root test "$(stat -c %u "$closed/sub/file")" = 0 -a "$(cat "$closed/sub/file")" = new
run spawn --read "$work/open" -- cat "$work/open/hidden"
check a_file_that_only_root_may_read_in_an_open_directory_stays_closed test "$status" -ne 0 -a "$status" -ne 125
finish
