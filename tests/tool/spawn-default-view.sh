#!/bin/bash
# SPDX-License-Identifier: MIT
# Without a policy: the system and the working directory read-only, a private /tmp, no network, a clean environment.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

echo visible >"$project/file"
mkdir "$work/elsewhere"
echo hidden >"$work/elsewhere/file"
echo outside >"$work/marker"
export SECRET_TOKEN=do-not-pass

# A command that is started in /tmp gets a private /tmp.
seen=$(mktemp /tmp/sbx-view-XXXXXX)
trap 'rm -rf "$work" "$seen" "$seen.made"' EXIT
from_part() { places; (cd "$project/part" && as "$who" sbx-spawn "$@"); }
from_tmp() { places; (cd /tmp && as "$who" sbx-spawn "$@"); }

for who in $starters; do
	run spawn -- cat file
	check "reads_the_working_directory_by_$who" out_is visible
	run spawn -- sh -c 'echo new >file || echo made >other'
	check "writes_nothing_there_by_$who" test "$(cat "$project/file" "$project"/other 2>/dev/null)" = visible
	run spawn -- cat "$work/elsewhere/file"
	check "does_not_see_other_directories_by_$who" test "$status" -ne 0 -a "$status" -ne 125
	run spawn -- sh -c 'test -x /usr/bin/env && test -r /etc/passwd && /bin/sh -c true'
	check "sees_the_system_by_$who" has_status 0
	run spawn -- sh -c 'echo x >/usr/lib/sbx-test || echo x >/etc/sbx-test || echo x >/sbx-test'
	check "cannot_write_the_system_by_$who" test "$status" -ne 0 -a "$status" -ne 125
	run spawn -- sh -c 'echo mine >/tmp/a && cat /tmp/a && ls -A /tmp'
	check "has_a_tmp_of_its_own_by_$who" test "$out" = "$(printf 'mine\na')" -o "${out#mine}" != "$out"
	run spawn -- sh -c "ls '$work'"
	check "the_parent_of_directory_and_home_shows_nothing_else_by_$who" out_is "$(printf 'project\n%s' "$who")"
	run from_tmp -- sh -c "pwd; ls '$seen' || echo absent; echo made >'$seen.made'"
	check "a_start_in_tmp_is_one_in_a_private_tmp_by_$who" out_is $'/tmp\nabsent'
	check "which_it_can_write_by_$who" has_status 0
	check "and_the_hosts_stays_as_it_is_by_$who" test ! -e "$seen.made"
	run spawn --read "$project" --write "$project" -- sh -c 'echo made >both && rm both'
	check "two_options_about_one_directory_add_up_by_$who" has_status 0
	mkdir -p "$project/part" && chmod 777 "$project/part"
	run from_part --write .. -- sh -c 'echo made >made && rm made'
	check "a_writable_directory_contains_the_working_directory_by_$who" has_status 0
	run spawn --write . --bind "$project/part:$project/part" -- sh -c 'echo made >made && rm made && echo made >part/made'
	check "what_is_bound_in_it_stays_read_only_by_$who" test "$status" -ne 0 -a ! -e "$project/made" -a ! -e "$project/part/made"
	run spawn -- env
	check "secrets_do_not_pass_by_$who" test "${out#*SECRET_TOKEN}" = "$out"
	check "path_passes_by_$who" out_has PATH=
	run spawn -- sh -c 'cat /proc/net/dev | grep -c :'
	check "has_only_a_loopback_by_$who" out_is 1
	run spawn -- sh -c 'id -u'
	check "is_not_root_by_$who" test "$out" -ne 0
	run spawn -- sh -c 'grep -E "^(CapEff|CapPrm|CapBnd|CapInh|CapAmb|NoNewPrivs|Seccomp):" /proc/self/status | tr -d "\n\t "'
	check "has_nothing_left_by_$who" out_is \
		CapInh:0000000000000000CapPrm:0000000000000000CapEff:0000000000000000CapBnd:0000000000000000CapAmb:0000000000000000NoNewPrivs:1Seccomp:2
	run spawn -- sh -c 'ls /proc | grep -c "^[0-9]"'
	check "sees_only_its_own_processes_by_$who" test "$out" -le 5
	run spawn -- cat /proc/self/mountinfo
	check "sees_no_mount_of_the_host_by_$who" test "${out#*"$work/elsewhere"}" = "$out"
	run spawn -- sh -c 'echo $(ls -A /dev | sort)'
	check "has_a_minimal_dev_by_$who" out_is 'fd full null ptmx pts random shm stderr stdin stdout tty urandom zero'
	run spawn -- sh -c 'readlink /proc/self/fd/0 /proc/self/fd/1 >/dev/null; ls /proc/self/fd | wc -l'
	check "inherits_three_files_by_$who" test "$out" -le 4
done
finish
