#!/bin/bash
# SPDX-License-Identifier: MIT
# The command's home: private, empty and writable, unless the host's was granted; programs that store files there
# work.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

make_home() {
	places
	rm -rf "${HOME:?}"
	mkdir -p "$HOME/data" "$HOME/.cargo/bin" "$HOME/.local/bin" "$HOME/private"
	echo private >"$HOME/private/file"
	echo data >"$HOME/data/file"
	printf '[user]\n\tname = A\n' >"$HOME/.gitconfig"
	printf '#!/bin/sh\necho made by cargo\n' >"$HOME/.cargo/bin/made"
	printf '#!/bin/sh\necho local\n' >"$HOME/.local/bin/mine"
	printf '#!/bin/sh\necho hidden\n' >"$HOME/private/hidden-tool"
	chmod +x "$HOME"/.cargo/bin/made "$HOME"/.local/bin/mine "$HOME"/private/hidden-tool
	places
}

# Files in the home belong to the user who starts the sandbox.
in_home() { (cd "$HOME/$1" && shift && as "$who" sbx-spawn "$@"); }

begin_home() { # HOME|-u COMMAND...
	local home=$1
	shift
	if [ "$home" = -u ]; then
		(cd "$project" && as "$who" env -u HOME sbx-spawn -- "$@")
	else
		(cd "$project" && as "$who" env HOME="$home" sbx-spawn -- "$@")
	fi
}

# In a home at a usual path: below /tmp everything would be private.
in_root() {
	local home
	home=$(getent passwd "$([ "$who" = root ] && echo 0 || echo "$user")" | cut -d: -f6)
	[ -d "$home" ] || home=/root
	(cd / && as "$who" env HOME="$home" sbx-spawn -- "$@")
}

# shellcheck disable=SC2016,SC2088 # it is the shell inside that expands
for who in $starters; do
	make_home
	run spawn -- sh -c 'touch ~/x && stat -c "%a %u" ~ && id -u && ls -A ~/private ~/data'
	check "the_home_is_private_by_$who" test "${out%% *}" = 700 -a "$(echo "$out" | sed -n '1s/.* //p')" = "$(echo "$out" | sed -n 2p)"
	check "nothing_of_the_hosts_home_is_there_by_$who" err_has private
	check "a_file_written_to_the_private_home_stays_inside_by_$who" test ! -e "$HOME/x"
	run spawn -- sh -c 'cp /bin/echo ~/e && ~/e runs'
	check "a_program_is_executed_from_it_by_$who" out_is runs
	run spawn --tmp-size 1MiB -- sh -c 'head -c 700K /dev/zero >/tmp/a && head -c 700K /dev/zero >~/b'
	check "it_has_one_size_together_with_tmp_by_$who" err_has 'No space left'
	run spawn --tmp-size 1MiB -- sh -c 'head -c 700K /dev/zero >~/b && stat -c %s ~/b'
	check "it_has_the_size_of_tmp_by_$who" out_is 716800

	# Grants below the home appear in it; a grant of the home itself replaces it.
	run spawn --read "$HOME/data" -- sh -c 'cat ~/data/file; echo y >~/data/file; touch ~/data/new ~/beside && ls -A ~ | tr "\n" " "'
	check "a_granted_directory_appears_in_the_private_home_by_$who" test "${out%%
*}" = data
	check "a_directory_granted_for_reading_is_not_written_by_$who" test "$(cat "$HOME/data/file"; ls "$HOME/data")" = "$(printf 'data\nfile')"
	run spawn --write "$HOME/data" -- sh -c 'echo z >~/data/file'
	check "a_directory_granted_for_writing_is_written_by_$who" test "$(cat "$HOME/data/file")" = z
	run spawn --read "$HOME" -- sh -c 'cat ~/private/file; touch ~/x'
	check "a_home_that_is_granted_is_the_home_by_$who" out_is private
	check "and_is_written_only_where_that_is_granted_by_$who" test "$status" -ne 0 -a "$status" -ne 125 -a ! -e "$HOME/x"
	run in_home . -- cat private/file
	check "a_home_that_is_the_working_directory_is_the_home_by_$who" out_is private
	run in_home data -- sh -c 'cat file; touch ~/x; ls ~/private'
	check "a_working_directory_in_it_is_shown_in_it_by_$who" out_is z
	check "and_nothing_beside_it_is_shown_by_$who" err_has private
	run spawn --deny "$HOME" -- sh -c 'touch ~/x'
	check "a_home_that_is_denied_is_not_there_by_$who" test "$status" -ne 0 -a "$status" -ne 125

	# Programs that are installed in the home.
	PATH=$HOME/.cargo/bin:$HOME/.local/bin:$PATH run spawn -- sh -c 'made; mine; touch ~/.local/bin/x ~/.cargo/x'
	check "directories_of_the_path_and_toolchains_are_executable_by_$who" out_is "$(printf 'made by cargo\nlocal')"
	check "and_read_only_by_$who" test ! -e "$HOME/.local/bin/x" -a ! -e "$HOME/.cargo/x" -a "$status" -ne 0
	PATH=$HOME/.cargo/bin:$PATH run spawn --write "$HOME/.cargo" -- sh -c 'touch ~/.cargo/new ~/.cargo/bin/planted'
	check "a_directory_of_the_path_stays_read_only_in_a_writable_toolchain_by_$who" \
		test -e "$HOME/.cargo/new" -a ! -e "$HOME/.cargo/bin/planted"
	rm -f "$HOME/.cargo/new"
	as "$who" mkdir -p "$HOME/.ssh"
	as "$who" sh -c 'echo key >~/.ssh/id'
	ln -s "$HOME/.ssh" "$HOME/.rustup" # root's, which is followed
	run spawn -- sh -c 'cat ~/.rustup/id || echo closed'
	check "a_toolchain_that_leads_to_credentials_is_not_shown_by_$who" out_is closed
	rm -r "$HOME/.rustup" "$HOME/.ssh"
	PATH=$HOME/private:$PATH run spawn --deny "$HOME/private" -- true
	check "a_directory_of_the_path_may_be_denied_by_$who" has_status 0
	ln -sf "$HOME/private/hidden-tool" "$HOME/.local/bin/linked"
	PATH=$HOME/.local/bin:$PATH run spawn -- linked
	check "a_program_that_is_found_only_outside_is_an_error_by_$who" has_status 127
	check "the_error_shows_the_fix_by_$who" err_has "--read $HOME/private"
	run spawn -- "$HOME/private/hidden-tool"
	check "so_is_one_that_is_named_by_its_path_by_$who" err_has "--read $HOME/private"
	run spawn --read "$HOME/private" -- "$HOME/private/hidden-tool"
	check "the_fix_of_the_error_works_by_$who" out_is hidden

	# A single file.
	run spawn --read "$HOME/.gitconfig" -- sh -c 'git config --global user.name B && git config --global user.name'
	check "a_file_that_is_read_can_be_replaced_by_$who" out_is B
	check "the_hosts_stays_by_$who" test "$(git config -f "$HOME/.gitconfig" user.name)" = A
	run spawn --read "$HOME/data" --read "$HOME/data/file" -- sh -c 'mv ~/data/file ~/data/gone || cat ~/data/file'
	check "one_in_a_directory_that_is_shown_is_no_copy_by_$who" out_is z

	# --home
	mkdir "$HOME/kept"
	places
	run spawn --home "$HOME/kept" -- sh -c 'echo $HOME; touch ~/made'
	check "the_home_option_keeps_written_files_by_$who" test -e "$HOME/kept/made" -a "$out" = "$HOME/kept"
	run spawn --home "$HOME/none" -- true
	check "home_that_is_missing_is_an_error_by_$who" has_status 125
	run spawn --home "$HOME/data/file" -- true
	check "home_that_is_a_file_is_an_error_by_$who" err_has 'not a directory'
	run spawn --home / -- true
	check "home_is_not_the_root_by_$who" has_status 125

	# With other values of HOME.
	for home in / '' not/absolute /dev/null /nonexistent "$HOME/"; do
		run begin_home "$home" sh -c 'touch ~/x && stat -c %a ~'
		check "there_is_a_home_where_HOME_is_'$home'_by_$who" out_is 700
	done
	run begin_home -u sh -c 'touch ~/x && stat -c %a "$HOME"'
	check "there_is_a_home_without_HOME_by_$who" out_is 700
	run in_root sh -c 'touch ~/x && stat -c %a ~ && cat /etc/hostname >/dev/null'
	check "there_is_a_home_where_the_working_directory_is_the_root_by_$who" out_is 700

	# Under a policy only its rules make paths writable.
	programs_policy
	run spawn -p "$work/p.yaml" -- sh -c 'echo x >~/x'
	check "with_a_policy_there_is_none_by_$who" test "$status" -ne 0 -a "$status" -ne 125
	printf 'version: 1\ncapabilities:\n  - {name: all, match: {op: [fs.*, exec]}, action: allow}\n  - {name: never, match: {op: fs.write, path: "%s"}, action: deny}\n' "$HOME" >"$work/p.yaml"
	run spawn -p "$work/p.yaml" -- sh -c 'echo x >~/x || echo x >~/data/file'
	check "a_denial_of_the_home_holds_by_$who" test "$status" -ne 0 -a "$status" -ne 125 -a ! -e "$HOME/x" -a "$(cat "$HOME/data/file")" = z
done
finish
