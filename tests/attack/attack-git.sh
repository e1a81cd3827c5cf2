#!/bin/bash
# SPDX-License-Identifier: MIT
# A command with write access to a project makes the user's next git outside run a program: each attack works for a
# shell without a sandbox, and not for a command in one.
# shellcheck disable=SC2016 # what the commands do is expanded where they run
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
outside() { as "$who" env GIT_AUTHOR_NAME=Outside GIT_AUTHOR_EMAIL=outside@localhost \
	GIT_COMMITTER_NAME=Outside GIT_COMMITTER_EMAIL=outside@localhost git -c protocol.file.allow=always "$@"; }
in_main() { (cd "$project/main" && "$@"); }

# main: a clone with two commits and an uninitialised submodule, in the middle of a rebase if REBASE is set.
build() {
	rm -rf "${project:?}"/* "$work/origin" "$work/library"
	mkdir "$work/origin" "$work/library"
	places
	[ "$who" = user ] && [ "$(id -u)" -eq 0 ] && chown "$user:$user" "$work/origin" "$work/library"
	(
		cd "$work/library" && outside init -q -b main . && outside commit -q --allow-empty -m first
		cd "$work/origin" && outside init -q -b main . && outside submodule --quiet add "$work/library" sub &&
			outside commit -q -m first && outside commit -q --allow-empty -m second
		cd "$project" && outside clone -q "$work/origin" main
		cd main && as "$who" env GIT_SEQUENCE_EDITOR='sed -i 1ibreak' git rebase -i HEAD~1
	) >"$work/said" 2>&1
	printf '#!/bin/sh\ntouch "%s/was-executed"\n' "$project" >"$project/main/program"
	chmod 755 "$project/main/program"
	rm -rf "$work/built"
	places
	cp -a "$project" "$work/built"
}
fresh() {
	rm -rf "${project:?}"/*
	cp -a "$work/built/." "$project"
}
look() { in_main outside status >"$work/said" 2>&1; }
goes_on() { in_main outside rebase --continue >"$work/said" 2>&1; }
is_executed() { [ -e "$project/was-executed" ]; }
is_not() { ! "$@"; }
inside() { run spawn -q --project "$project/main" --cwd "$project/main" --write main -- sh -c "$1"; }

config='printf "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = %s\n\tfsmonitor = %s/program\n" "$PWD" "$PWD/$up"'
repository="mkdir -p objects refs/heads; echo 'ref: refs/heads/main' >HEAD; $config >config"
# NAME|git command outside|attack
ways=(
	"a_repository_around_one_without_HEAD|look|rm -f .git/HEAD; $repository"
	"a_repository_around_one_without_refs|look|mv .git/refs .git/gone; mv .git/packed-refs .git/gone2; $repository"
	"a_repository_around_one_without_objects|look|mv .git/objects .git/gone; $repository"
	"a_repository_around_one_with_garbage_in_HEAD|look|echo garbage >.git/HEAD; $repository"
	"a_repository_in_the_place_of_git|look|mv .git gone; $repository"
	"a_repository_in_an_empty_submodule|look|cd sub && up=.. && git init -q . && $config >.git/config"
	"a_moved_submodule|look|mv sub gone; mkdir sub && cd sub && up=.. && git init -q . && $config >.git/config"
	"the_list_of_a_rebase|goes_on|echo 'exec ./program' >>.git/rebase-merge/git-rebase-todo"
)
# A Python that every user can execute.
python=/usr/bin/python3
[ -x "$python" ] || python=python3
# Runs until the file "stop" exists.
relink='import os
def attempt(function):
    try:
        function()
    except OSError:
        pass
attempt(lambda: open(".git/name", "w").write(os.getcwd() + "/evil"))
print("ready", flush=True)
while not os.path.exists("stop"):
    attempt(lambda: os.link(".git/name", ".git/commondir"))'
# Runs git outside meanwhile.
while_it_links() { # COMMAND...
	rm -f "$work/from"
	mkfifo "$work/from"
	(cd "$project/main" && "$@" "$python" -c "$relink" >"$work/from" 2>"$work/linked") &
	read -r <"$work/from"
	for _ in {1..50}; do
		look
		is_executed && break
	done
	touch "$project/main/stop"
	wait "$!"
}

for who in $starters; do
	build
	look
	check "git_executes_nothing_at_first_by_$who" is_not is_executed
	for way in "${ways[@]}"; do
		IFS='|' read -r what ask script <<<"$way"
		fresh
		in_main as "$who" sh -c "$script" >"$work/said" 2>&1
		"$ask"
		check "without_a_sandbox_${what}_makes_git_execute_something_by_$who" is_executed
		fresh
		inside "$script"
		"$ask"
		check "with_a_sandbox_${what}_does_not_by_$who" is_not is_executed
	done

	# commondir names a copy of .git whose configuration names the program.
	for where in 'without as' 'with begin_spawn'; do
		fresh
		cp -a "$project/main/.git" "$project/main/evil"
		git config -f "$project/main/evil/config" core.fsmonitor "$project/main/program"
		places
		if [ "$where" = 'without as' ]; then
			while_it_links as "$who"
			check "without_a_sandbox_linking_commondir_again_and_again_makes_git_execute_something_by_$who" is_executed
		else
			while_it_links begin_spawn -q --project "$project/main" --cwd "$project/main" --write main --
			check "with_a_sandbox_linking_commondir_again_and_again_does_not_by_$who" is_not is_executed
		fi
	done

	# A run creates directories, so the next one would not find all repositories.
	spoil='for i in main 1 2 3 4; do git -C "$i" config core.fsmonitor "$PWD/main/program"; done'
	look_at_all() { for i in main 1 2 3 4; do (cd "$project/$i" && outside status) >"$work/said" 2>&1; done; }
	fresh
	for i in 1 2 3 4; do cp -a "$project/main" "$project/$i"; done
	run spawn -q --write . -- sh -c 'seq 1001 5000 | xargs mkdir'
	run spawn -q --write . -- sh -c "$spoil"
	look_at_all
	check "with_a_sandbox_many_directories_do_not_hide_a_repository_by_$who" is_not is_executed
	run spawn -q --write . -- sh -c 'seq 5001 5100 | xargs mkdir'
	run spawn -q --write . -- sh -c "$spoil"
	check "more_directories_than_are_looked_at_are_refused_by_$who" \
		eval 'has_status 125 && err_has "more than 4096 directories"'
	look_at_all
	check "and_then_nothing_is_executed_by_$who" is_not is_executed
	fresh
	run spawn -q --write . -- chmod 0 main
	run spawn -q --write . -- sh -c 'chmod 755 main; git -C main config core.fsmonitor "$PWD/main/program"'
	chmod 755 "$project/main"
	look
	check "a_directory_that_was_closed_does_not_hide_a_repository_by_$who" is_not is_executed
done
finish
