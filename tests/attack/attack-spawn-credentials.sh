#!/bin/bash
# SPDX-License-Identifier: MIT
# A command in a home tries to read a key under other names, to connect to services of its user, and to write files
# that the host executes later. Each attempt is also made outside, where it must succeed.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

fresh_home() {
	places
	export HOME=$work/$who/people/me
	rm -rf "${HOME%/*}"
	mkdir -p "$HOME/p" "$HOME/.ssh" "$HOME/.config/gh" "$HOME/.config/systemd/user" "$HOME/.local/bin" "$HOME/dot"
	echo secret | tee "$HOME/.ssh/id" "$HOME/.config/gh/hosts.yml" "$HOME/dot/netrc" >/dev/null
	echo original | tee "$HOME/.bashrc" "$HOME/.local/bin/ls" "$HOME/.config/systemd/user/a.service" "$HOME/dot/zshrc" >/dev/null
	ln -s ../.ssh "$HOME/p/link"
	ln -s dot/netrc "$HOME/.netrc"
	ln -s dot/zshrc "$HOME/.zshrc"
	chown -hR "$(stat -c %u:%g "$project")" "${HOME%/*}"
}

# Other names of the key and of the token: links, magic links, renamed directories.
cat >"$work/reach" <<'END'
cd "$1" || exit
cat p/link/id /proc/self/cwd/.ssh/id /proc/self/root"$1"/.ssh/id p/../.ssh/id dot/netrc .netrc
(cd p && cat ../.ssh/id /proc/self/cwd/../.ssh/id)
ln .ssh/id p/hard && cat p/hard
chmod 755 .ssh
mv .ssh s && cat s/id
mv .config c && cat c/gh/hosts.yml
mv .config/gh g && cat g/hosts.yml
mv "$1" "$1.moved" && cat "$1.moved/.ssh/id"
umount .ssh && cat .ssh/id
cp -r .ssh copy && cat copy/id
true
END
# Files that a shell, a session or PATH executes later.
cat >"$work/plant" <<'END'
cd "$1" || exit
for file in .bashrc .local/bin/ls .config/systemd/user/a.service dot/zshrc; do
	echo mine >>$file
	truncate -s 0 $file
	chmod 777 $file
	echo mine >new && mv -f new $file
	rm -f $file
	echo mine >new && ln -f new $file
	ln -sf new $file
done
echo mine >.config/systemd/user/b.service
for directory in .config .local .config/systemd .local/bin; do
	mv $directory away && mkdir -p .local/bin .config/systemd/user && echo mine | tee .local/bin/ls .config/systemd/user/a.service
done
true
END
chmod 644 "$work/reach" "$work/plant"
inside() { # SCRIPT TOP OPTION...
	local script=$work/$1 top=$2
	shift 2
	run start_in / "$@" --read "$script" -- sh "$script" "$top"
}
start_in() { (cd "$1" && shift && as "$who" sbx-spawn "$@"); }
kept_secret() { ! out_has secret; }
kept() {
	[ "$(cat "$home/.bashrc" "$home/.local/bin/ls" "$home/.config/systemd/user/a.service" "$home/dot/zshrc" | sort -u)" = original ] &&
		[ ! -e "$home/.config/systemd/user/b.service" ] && [ "$(stat -c %a "$home/.bashrc")" = 644 ]
}

written() { ! kept; }

for who in $starters; do
	fresh_home
	home=$HOME
	run as "$who" sh "$work/reach" "$home"
	check "outside_other_names_reach_a_key_for_$who" out_has secret
	while read -r way top options; do
		fresh_home
		# shellcheck disable=SC2086 # words
		inside reach "$top" $options
		check "no_other_name_reaches_a_key_with_${way}_for_$who" kept_secret
		check "the_command_ran_with_${way}_for_$who" has_status 0
	done <<-END
		read $home --read $home
		write $home --write $home
		write_parent $home --write ${home%/*}
		write_and_a_known_name $home --write $home --optional-read $home/.ssh/absent
		bind /x --bind $home:/x:rw
		bind_twice /x --bind $home:/x:rw --bind $home:/y:rw
		bind_of_the_parent /x/me --bind ${home%/*}:/x:rw
	END

	fresh_home
	(as "$who" sh "$work/plant" "$home") >/dev/null 2>&1
	check "outside_startup_files_are_written_by_$who" written
	while read -r way top options; do
		fresh_home
		# shellcheck disable=SC2086 # words
		inside plant "$top" $options
		check "no_startup_file_is_written_with_${way}_by_$who" kept
		check "but_the_rest_is_with_${way}_by_$who" test -e "$home/new"
	done <<-END
		write $home --write $home
		write_parent $home --write ${home%/*}
		bind /x --bind $home:/x:rw
	END

	# In a fresh account none of these files exists.
	rm -rf "$home"
	mkdir "$home"
	chown "$(stat -c %u:%g "$project")" "$home"
	run start_in "$home" --write . -- touch file
	check "a_fresh_home_is_writable_for_$who" test -e "$home/file"
	check "which_is_said_to_$who" err_has 'can create missing startup files: ~/.profile'
done

# Services of the user act outside of the sandbox for every client.
who=user
places
talk='import socket, sys
socket.socket(socket.AF_UNIX).connect(sys.argv[1])'
listen='import os, socket, sys, time
kept = []
for path in sys.argv[2:]:
    kept.append(socket.socket(socket.AF_UNIX))
    kept[-1].bind(path)
    kept[-1].listen(100)
open(sys.argv[1], "w").close()
time.sleep(600)'
run_folder=$XDG_RUNTIME_DIR
as user mkdir -p "$run_folder/gnupg" "$project/agent"
sockets=("$run_folder/bus" "$run_folder/docker.sock" "$run_folder/gnupg/S.gpg-agent" "$project/agent/a.1")
become=()
[ "$(id -u)" -ne 0 ] || become=(setpriv --reuid="$user" --regid="$user" --clear-groups)
# With exec, so that the PID is that of the listener: a remaining child would keep the output open.
(exec "${become[@]}" /usr/bin/python3 -c "$listen" "$work/$who/ready" "${sockets[@]}") &
listener=$!
trap 'kill "$listener"; rm -rf "$work"' EXIT
until [ -e "$work/$who/ready" ]; do kill -0 "$listener" || break; done
export SSH_AUTH_SOCK="$project/agent/a.1"
for socket in "${sockets[@]}"; do
	service=${socket##*/}
	run as user /usr/bin/python3 -c "$talk" "$socket"
	check "outside_${service}_answers" has_status 0
	for options in "--read $run_folder --read $project" "--write $run_folder --write $project" "--read $work"; do
		# shellcheck disable=SC2086 # words
		run begin_spawn $options -- /usr/bin/python3 -c "$talk" "$socket"
		check "${service}_cannot_be_connected_to_with_${options%% *}" test "$status" -eq 1
	done
	run begin_spawn --read "$run_folder" --unix "$socket" -- /usr/bin/python3 -c "$talk" "$socket"
	check "${service}_can_with_--unix" has_status 0
done
finish
