#!/bin/bash
# SPDX-License-Identifier: MIT
# The first command of a new user, in any directory and with an incomplete environment: it runs, or the error says
# what to do.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

sbx_spawn=$(command -v sbx-spawn)
closed=$work/closed # inaccessible to every user but root
mkdir -m 700 "$closed"

from() { # DIRECTORY COMMAND...
	(cd "$1" && as "$who" "${@:2}")
}

from_removed() { # DIRECTORY COMMAND...
	mkdir "$1"
	(cd "$1" && rmdir "$1" && as "$who" "${@:2}")
}

# shellcheck disable=SC2016 # it is the shell inside that expands
for who in $starters; do
	places
	echo mine >"$HOME/file"
	mkdir -p "$HOME/.ssh" "$HOME/project"
	echo secret >"$HOME/.ssh/id_ed25519"
	places

	# The first start creates the spool, in a home that the command may read.
	run as "$who" env -u XDG_STATE_HOME sh -c 'cd ~ && sbx-spawn -q -- sh -c "cat .local/state/sbx/spool/records.jsonl || echo closed"'
	check "the_first_command_reads_no_record_by_$who" out_is closed

	# cd ~
	run from "$HOME" sbx-spawn -- sh -c 'cat file; cat .ssh/*; touch made || cd /tmp && touch made && pwd'
	check "in_the_home_it_reads_and_does_not_write_by_$who" test "$status" -eq 0 -a "$out" = "$(printf 'mine\n/tmp')" -a ! -e "$HOME/made"
	run from "$HOME" sbx-spawn --write . -- sh -c 'echo new >file && cat .ssh/id_ed25519'
	check "in_the_home_it_writes_where_that_is_granted_by_$who" test "$(cat "$HOME/file")" = new
	check "and_reads_no_key_by_$who" test "$status" -ne 0 -a -z "$out"

	# cd /
	run from / sbx-spawn -- sh -c "ls -d usr etc && cat '$HOME/file' etc/shadow || touch ~/made && ls -A ~"
	check "in_the_root_directory_the_home_is_private_by_$who" eval 'has_status 0 && [[ $out == etc*usr*made && ! -e $HOME/made ]]'

	# A directory with the mode of mktemp -d.
	made=$(as "$who" mktemp -d "$work/$who/XXXXXX")
	run from "$made" sbx-spawn -- sh -c 'pwd; stat -c %a .; touch new'
	check "in_a_directory_of_mode_0700_it_reads_by_$who" test "$status" -ne 0 -a "$out" = "$(printf '%s\n700' "$made")" -a ! -e "$made/new"
	run from "$made" sbx-spawn --write . -- sh -c 'echo new >new && cat new'
	check "in_a_directory_of_mode_0700_it_writes_by_$who" test "$out" = new -a "$(stat -c %U "$made/new")" = "$(stat -c %U "$made")"
	run from "$made" sbx-spawn --out "$made.out" -- sh -c 'echo changed >new'
	check "in_a_directory_of_mode_0700_changes_are_taken_out_by_$who" test "$(cat "$made/new" "$made.out/new")" = "$(printf 'new\nchanged')"

	run from_removed "$work/$who/removed" sbx-spawn -- true
	check "a_directory_that_was_removed_is_an_error_by_$who" eval 'has_status 125 && err_has "change to an existing directory"'

	# Without the variables that a login sets.
	run from "$HOME" env -u XDG_RUNTIME_DIR sbx-spawn -- cat file
	check "without_XDG_RUNTIME_DIR_it_runs_by_$who" test "$status,$out,$err" = 0,new,
	run from "$HOME" env -i HOME="$HOME" XDG_STATE_HOME="$XDG_STATE_HOME" XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" "$sbx_spawn" -- \
		sh -c 'cat file; echo $PATH; id -un >/dev/null'
	check "without_any_other_variable_it_runs_by_$who" test "$status,$out,$err" = "$(printf '0,new\n/usr/local/bin:/usr/bin:/bin,')"
done

if [ "$(id -u)" -ne 0 ]; then
	skip "a_path_of_root_is_an_error_by_user" 'only root can make it'
	finish
	exit
fi

# After "su USER" in a directory of root, with root's environment.
who=user
places
run from "$closed" sbx-spawn -- true
check a_directory_that_is_closed_to_the_user_is_an_error eval 'has_status 125 && err_has "start the command elsewhere with --cwd"'
for below in '' /none; do
	run from "$HOME" env XDG_RUNTIME_DIR="$closed$below" sbx-spawn -- true
	check "a_runtime_directory_of_root${below/\//_with_}_is_an_error" eval 'has_status 125 &&
		err_has "  fix: set XDG_RUNTIME_DIR to a directory of your own, or unset it"'
done
run from "$HOME" env XDG_RUNTIME_DIR="$HOME/none" sbx-spawn -- true
check a_runtime_directory_that_is_missing_is_an_error eval 'has_status 125 && err_has "make the directory, or correct XDG_RUNTIME_DIR"'

# Root in its own home, which the user of its sandbox cannot enter.
who=root
places
home=$(getent passwd 0 | cut -d : -f 6)
run from "$home" env HOME="$home" sbx-spawn -- sh -c 'pwd && ls -A >/dev/null && ! cat /etc/shadow .ssh/* 2>/dev/null && ! touch made 2>/dev/null'
check root_reads_its_own_home test "$status,$out" = "0,$home" -a ! -e "$home/made"
finish
