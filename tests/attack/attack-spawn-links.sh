#!/bin/bash
# SPDX-License-Identifier: MIT
# A grant or a denial whose path contains a symbolic link is about the target: it must not show what is hidden under
# the real name, and a link that a command of root has created must not lead the next command outside.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

if [ "$(id -u)" -ne 0 ]; then
	skip links_of_root 'only root can make them'
	finish
	exit
fi
links=$work/links # owned by root, accessible to users
mkdir -m 755 "$links"
refused() { test "$status" -eq 125 && test "$out" = ''; }

# An ordinary user, with links that root has created.
who=user
places
ln -s "$work/user" "$links/rundir"
mkdir -p "$work/user/run/sbx" "$project/real/secret"
echo secret | tee "$project/real/secret/file" >"$work/user/run/sbx/state"
chown -R "$user:$user" "$work/user" "$project"
ln -s "$project/real" "$links/real"
ln -s /proc "$links/proc"
ln -s / "$links/root"
run spawn --read "$work/user/run" -- cat "$work/user/run/sbx/state"
check sbxs_own_files_are_hidden test "$status" -ne 0 -a "$status" -ne 125 -a "$out" = ''
for option in read write bind; do
	path=$links/rundir
	[ "$option" = bind ] && path=$path:/x
	run spawn "--$option" "$path" -- sh -c "cat '$links/rundir/run/sbx/state' /x/run/sbx/state"
	check "they_are_not_shown_through_a_link_by_--$option" refused
done
run spawn --bind "$work/user:/x" -- cat /x/run/sbx/state
check a_bind_of_their_parent_does_not_show_them test "$status" -ne 0 -a "$status" -ne 125 -a "$out" = ''
# A link inside of a bind stays a link: its target is resolved inside.
run spawn --bind /var:/x -- ls -d /x/lib
check a_directory_with_links_to_them_can_be_bound out_is /x/lib
for show in "--read=$work/user" "--bind=$work/user/run:$work/user/run" "--bind=$work/user:/y"; do
	XDG_RUNTIME_DIR=$links/rundir/run run begin_spawn "--bind=$links:/x" "$show" -- \
		sh -c "cat /x/rundir/run/sbx/state '$links/rundir/run/sbx/state' '$work/user/run/sbx/state' /y/run/sbx/state"
	check "and_they_stay_hidden_behind_them_with_${show%%=*}" test "$status" -ne 0 -a "$status" -ne 125 -a "$out" = ''
done
mkdir "$work/user/loose"
ln -s "$work/user/run" "$work/user/loose/run"
chown "$user:$user" "$work/user/loose"
XDG_RUNTIME_DIR=$work/user/loose/run run begin_spawn "--bind=$work/user/loose:/x:rw" -- sh -c 'mv /x/run /x/moved; echo moved'
check a_link_to_them_that_the_command_could_replace_is_refused refused
run spawn --read "$links/proc" -- true
check the_hosts_proc_is_not_shown_through_a_link refused
run spawn --bind "$links/root:/x" -- ls /x
check nor_is_its_root refused
run spawn --bind "$project/real:/x" --deny "$project/real/secret" -- cat /x/secret/file
check a_path_that_is_denied_outside_is_denied_inside test "$status" -ne 0 -a "$status" -ne 125 -a "$out" = ''
run spawn --bind "$links/real:/x" --deny "$project/real/secret" -- cat /x/secret/file
check nor_is_it_shown_by_a_bind_through_a_link refused
run spawn --bind "$project/real:/x" --deny "$links/real/secret" -- cat /x/secret/file
check nor_where_the_denial_passes_a_link refused
cat >"$work/p.yaml" <<END
version: 1
capabilities:
  - {name: system, match: {op: [fs.read, fs.list, fs.exists, exec], path: [/usr, /bin, /lib, /lib64]}, action: allow}
  - {name: secret, match: {op: fs.*, path: $project/real/secret}, action: deny}
mounts: [{source: $links/real, target: /x, mode: rw}]
END
run spawn --policy "$work/p.yaml" --cwd / -- sh -c 'cat /x/secret/file; echo over >/x/secret/file'
check nor_by_a_mount_of_the_policy refused
check its_file_is_as_before test "$(cat "$project/real/secret/file")" = secret
sed -i "s|$links/real|$project/real|" "$work/p.yaml"
run sbx-policy eval "$work/p.yaml" fs.read /x/secret/file
check eval_denies_a_denied_file_under_the_name_of_a_mount has_status 1
run spawn --policy "$work/p.yaml" --cwd / -- sh -c 'cat /x/secret/file; echo over >/x/secret/file'
check and_the_sandbox_does test "$status" -ne 0 -a "$status" -ne 125 -a "$out" = ''
mkdir "$project/real/secret/ok"
echo seen >"$project/real/secret/ok/file"
sed -i "s|fs.\*, path: $project/real/secret}|fs.write, path: $project/real/secret}, except: [{path: $project/real/secret/ok}]|" "$work/p.yaml"
run sbx-policy eval "$work/p.yaml" fs.write /x/secret/file
check eval_denies_it_by_a_rule_with_exceptions has_status 1
run sbx-policy eval "$work/p.yaml" fs.write /x/secret/ok/file
check eval_allows_the_exception_of_the_rule has_status 0
run spawn --policy "$work/p.yaml" --cwd / -- sh -c 'echo over >/x/secret/ok/file; echo over >/x/secret/file'
check the_sandbox_refuses_to_write_a_denied_file test "$status" -ne 0 -a "$status" -ne 125
check the_sandbox_writes_the_exception_of_the_rule test "$(cat "$project/real/secret/file" "$project/real/secret/ok/file")" = 'secret
over'
sed -i "s|fs.write, path|fs.*, path|" "$work/p.yaml"
run sbx-policy eval "$work/p.yaml" fs.read /x/secret/file
check eval_denies_reading_it_by_a_rule_with_exceptions has_status 1
run spawn --policy "$work/p.yaml" --cwd / -- cat /x/secret/file
check and_no_sandbox_shows_it test "$status" -ne 0 -a "$out" = ''
# A denial and an exception also apply to what a link of the user leads to, where the link itself is not shown.
mkdir "$project/other"
ln -s ../real/secret "$project/other/link"
chown -hR "$user:$user" "$project"
link_policy() { # NAME of the file, and the fields of the rules about $project/real
	cat >"$work/$1.yaml" <<-END
		version: 1
		capabilities:
		  - {name: system, match: {op: [fs.read, fs.list, fs.exists, exec], path: [/usr, /bin, /lib, /lib64]}, action: allow}
		  - {name: real, match: {op: [fs.read, fs.list], path: $project/real}, action: allow$2
	END
}
link=$project/other/link secret=$project/real/secret/file
link_policy no-link '}'
link_policy denied "}
  - {name: linked, match: {op: fs.*, path: $link}, action: deny}"
link_policy denied-twice "}
  - {name: linked, match: {op: fs.*, path: [$link, $project/other]}, action: deny}"
link_policy excepted ", except: [{path: $link}]}"
run spawn --policy "$work/no-link.yaml" --cwd / -- cat "$secret"
check without_a_rule_about_the_link_its_target_is_shown out_is secret
for how in denied denied-twice excepted; do
	run sbx-policy eval "$work/$how.yaml" fs.read "$secret"
	check "eval_denies_the_target_of_a_link_that_is_$how" has_status 1
	run spawn --policy "$work/$how.yaml" --cwd / -- cat "$secret"
	check "and_no_sandbox_shows_it_where_the_link_is_$how" refused
done
mkdir -p "$work/user/home/.ssh"
echo key >"$work/user/home/.ssh/id"
chown -R "$user:$user" "$work/user"
run spawn --tmpfs "$work/user" --read "$work/user/home" -- cat "$work/user/home/.ssh/id"
check a_tmpfs_around_the_home_shows_no_credentials test "$status" -ne 0 -a "$status" -ne 125 -a "$out" = ''

# A command replaces a directory by a symbolic link; the next --out and --report name paths below it.
keeps_results() { # WHAT EXPECTED
	run spawn --project in --out results/o -- sh -c 'echo planted >f'
	check "--out_$1_by_$who" "$2"
	run spawn --project in --out results/o.tar -- sh -c 'echo planted >f'
	check "--out_of_an_archive_$1_by_$who" "$2"
	run spawn --report results/r -- true
	check "--report_$1_by_$who" "$2"
}
wrote() { test "$status" -eq 0; }
mkdir "$project/in"
for who in user root; do
	aim=$work/aim-$who
	mkdir "$project/results" "$aim"
	[ "$who" = root ] || chown "$user:$user" "$aim"
	keeps_results writes_in_a_directory wrote
	check "the_file_written_by_the_command_is_there_by_$who" test "$(cat "$project/results/o/f")" = planted
	check "the_archive_and_the_report_are_there_by_$who" test -s "$project/results/o.tar" -a -s "$project/results/r"
	rm -r "$project/results"
	mkdir "$project/results"
	run spawn --write . -- sh -c "rmdir results && ln -s '$aim' results && echo made"
	check "a_command_makes_a_link_by_$who" out_is made
	keeps_results follows_no_link_of_a_command refused
	check "the_link_is_named_by_$who" err_has "cannot follow the link '$project/results'"
	check "nothing_is_made_behind_the_link_by_$who" test "$(ls -A "$aim")" = ''
	# Outside of sbx, the shell follows the link.
	as "$who" sh -c "echo seen >'$project/results/seen'"
	check "without_sbx_the_link_is_followed_by_$who" test "$(cat "$aim/seen")" = seen
	rm "$project/results" "$aim/seen"
done
# root names a link that another user owns.
who=root
places
ln -s "$aim" "$project/results"
chown -h "$user:$user" "$project/results"
run begin_spawn --project in --out results/o -- sh -c 'echo planted >f'
check root_follows_no_link_of_another_user_by_--out refused
run begin_spawn --report results/r -- true
check nor_by_--report refused
check nothing_is_made_behind_it test "$(ls -A "$aim")" = ''
rm -r "$project/results" "$project/in"

# Root's command creates a link, which root owns outside.
who=root
places
mkdir "$project/out" "$work/victim"
run spawn --write . -- sh -c "rmdir out && ln -s '$work/victim' out && echo made"
check a_command_of_root_makes_links out_is made
for option in write read home exec; do
	run spawn "--$option" ./out -- sh -c 'echo planted >out/file; ls out'
	check "the_next_one_does_not_follow_them_by_--$option" refused
done
run spawn --bind "$project/out:/x:rw" -- sh -c 'echo planted >/x/file'
check nor_by_--bind refused
run spawn --project ./out --out "$work/changes" -- ls
check nor_by_--project refused
check nothing_is_planted test ! -e "$work/victim/file"
own=$(mktemp -d /root/sbx-test-XXXXXX)
trap 'rm -rf "$work" "$own"' EXIT
echo seen >"$own/seen"
echo hidden >"$own/hidden"
run spawn --read "$own" --deny "$own/hidden" -- sh -c "cat '$own/seen' '$own/hidden'"
check a_mask_in_roots_closed_directory_holds test "$status" -ne 125 -a "$out" = seen
finish
