#!/bin/bash
# SPDX-License-Identifier: MIT
# Files that the configuration of a repository names (hooks in another directory, included files, a program) are
# executed by git outside like the repository's own hooks. Each is shown to be executed without a sandbox and
# protected with one. If the named file is missing, the sandbox does not start.
# shellcheck disable=SC2016 # what is evaluated is so when it is checked
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

export GIT_CONFIG_NOSYSTEM=1
outside() { as "$who" env GIT_AUTHOR_NAME=Outside GIT_AUTHOR_EMAIL=outside@localhost \
	GIT_COMMITTER_NAME=Outside GIT_COMMITTER_EMAIL=outside@localhost git "$@"; }
fresh() {
	rm -rf "${project:?}"/*
	mkdir -p "$project/main/sub" "$project/main/other"
	printf '#!/bin/sh\ntouch "%s/was-executed"\n' "$project" >"$project/main/program"
	cp "$project/main/program" "$project/main/other/fsm"
	rm -rf "$work/$who/home/.gitconfig" "$work/$who/home/.config"
	chmod 755 "$project/main/program" "$project/main/other/fsm"
	places
	(cd "$project/main" && outside init -q -b main . && as "$who" sh -ec "$1") >"$work/said" 2>&1
	rm -f "$project/was-executed"
}
look() {
	rm -f "$project/was-executed"
	(cd "$project/main" && outside status && outside commit --allow-empty -q -m more; outside ls-remote x) >"$work/said" 2>&1
}
is_executed() { [ -e "$project/was-executed" ]; }
is_not() { ! "$@"; }
fsmonitor='printf "[core]\n\tfsmonitor = ./program\n"'

# NAME|preparation|attack
# shellcheck disable=SC2016 # they run elsewhere
ways=(
	'hooks_path|git config core.hooksPath .hooks; mkdir .hooks|cp program .hooks/pre-commit'
	'hooks_path_that_is_missing|git config core.hooksPath .hooks|mkdir .hooks; cp program .hooks/pre-commit'
	'hooks_path_in_a_directory_that_is_missing|git config core.hooksPath .a/b/hooks|mkdir -p .a/b/hooks; cp program .a/b/hooks/pre-commit'
	'hooks_path_of_the_directory_itself|git config core.hooksPath "$PWD"|cp program pre-commit'
	'hooks_path_that_is_absolute|git config core.hooksPath "$PWD/other"|cp program other/pre-commit'
	'hooks_path_of_husky|git config core.hooksPath .husky/_; mkdir -p .husky/_; echo true >.husky/pre-commit; printf "#!/bin/sh\n. .husky/pre-commit\n" >.husky/_/pre-commit; chmod 755 .husky/_/pre-commit|cat program >.husky/pre-commit'
	'hooks_path_in_an_include|git config include.path ../other/c; git config -f other/c core.hooksPath .hooks; mkdir .hooks|cp program .hooks/pre-commit'
	'hooks_path_for_a_worktree|git config extensions.worktreeConfig true; git config --worktree core.hooksPath .hooks; mkdir .hooks|cp program .hooks/pre-commit'
	'hooks_path_of_another_worktree|git config core.worktree "$PWD/other"; git config core.hooksPath hooks; mkdir hooks other/hooks|cp program other/hooks/pre-commit'
	'hooks_path_of_the_user|git config --global core.hooksPath .hooks; mkdir .hooks|cp program .hooks/pre-commit'
	'hooks_path_of_the_user_elsewhere|mkdir -p ~/.config/git; git config -f ~/.config/git/config core.hooksPath .hooks; mkdir .hooks|cp program .hooks/pre-commit'
	'hooks_path_of_the_user_that_is_missing|git config --global core.hooksPath .hooks|mkdir .hooks; cp program .hooks/pre-commit'
	'configuration_of_the_user_in_the_directory|: >other/c; ln -s "$PWD/other/c" ~/.gitconfig|printf "[core]\n\tfsmonitor = ./program\n" >other/c'
	"include|git config include.path ../other/c; : >other/c|$fsmonitor >other/c"
	"include_that_is_missing|git config include.path ../other/c|$fsmonitor >other/c"
	"include_of_an_include|git config include.path ../other/c; git config -f other/c include.path d; : >other/d|$fsmonitor >other/d"
	"include_under_a_condition|git config includeIf.onbranch:main.path ../other/c; : >other/c|$fsmonitor >other/c"
	'program|cp /bin/true other/fsm; git config core.fsmonitor ./other/fsm|rm -f other/fsm; cp program other/fsm'
	'filter|cp /bin/true other/fsm; git config filter.x.clean ./other/fsm; echo "f filter=x" >.git/info/attributes; echo 1 >f; git add f; echo 2 >f|rm -f other/fsm; cp program other/fsm; echo 3 >f'
	'program_of_a_remote|cp /bin/true other/fsm; git config remote.x.url "$PWD"; git config remote.x.uploadpack ./other/fsm|cp program other/fsm'
	'program_in_a_line|echo true >other/fsm; git config core.fsmonitor "sh other/fsm"|cat program >other/fsm'
)
for who in $starters; do
	for way in "${ways[@]}"; do
		IFS='|' read -r what before script <<<"$way"
		fresh "$before"
		look
		check "${what}_executes_nothing_at_first_by_$who" is_not is_executed
		(cd "$project/main" && as "$who" sh -c "$script")
		look
		check "without_a_sandbox_${what}_makes_git_execute_something_by_$who" is_executed
		fresh "$before"
		run spawn -q --project "$project/main" --cwd "$project/main" --write main -- sh -c "$script; true"
		case $what in
		*missing | *_itself) check "${what}_is_refused_by_$who" has_status 125 ;;
		*) check "the_sandbox_runs_with_${what}_by_$who" has_status 0 ;;
		esac
		look
		check "with_a_sandbox_${what}_does_not_by_$who" is_not is_executed
	done

	fresh 'git config core.hooksPath other; cp /bin/true sub/fsm; git config core.fsmonitor sub/fsm'
	run spawn -q --project "$project/main" --cwd "$project/main" --write main/other -- sh -c 'cp program other/pre-commit'
	look
	check "a_grant_that_names_the_hooks_writes_them_by_$who" is_executed
	run spawn -q --project "$project/main" --cwd "$project/main" --write main/sub -- sh -c 'rm -f sub/fsm; cp program sub/fsm; true'
	rm -rf "$project/main/other"
	look
	check "a_program_in_a_writable_part_of_a_repository_is_kept_by_$who" is_not is_executed

	in_home() { # HOME: starts a command that writes a hook
		(export HOME=$1 && begin_spawn -q --project "$project/main" --cwd "$project/main" --write main -- \
			sh -c 'cp program .hooks/pre-commit; true')
	}
	for home in "$HOME/" "/$HOME" "$HOME/../home"; do
		fresh 'git config --global core.hooksPath .hooks; mkdir .hooks'
		run in_home "$home"
		look
		check "the_users_configuration_is_found_by_${home#"$work"}_by_$who" eval 'has_status 0 && is_not is_executed'
	done
	run in_home ./relative
	check "a_relative_home_is_refused_by_$who" eval 'has_status 125 && err_has "is a relative path"'
	fresh 'git config -f other/c core.hooksPath .hooks; mkdir .hooks'
	GIT_CONFIG_GLOBAL="$project/main/other/c" run in_home "$HOME"
	GIT_CONFIG_GLOBAL="$project/main/other/c" look
	check "a_configuration_that_a_variable_names_is_read_by_$who" eval 'has_status 0 && is_not is_executed'
	GIT_CONFIG_GLOBAL="$project/main/other/missing" run in_home "$HOME"
	check "one_that_is_missing_cannot_be_created_by_$who" has_status 125
	for kind in 'ln -s /dev/null' 'mkdir' 'install -m 0 /dev/null'; do
		fresh 'mkdir .hooks'
		$kind "$HOME/.gitconfig"
		run in_home "$HOME"
		check "what_git_does_not_read_is_no_obstacle_by_$who: $kind" has_status 0
	done
	fresh 'ln -s other link; git config core.hooksPath link'
	run spawn -q --project "$project/main" --cwd "$project/main" --write main -- true
	check "hooks_behind_a_link_that_can_be_replaced_are_refused_by_$who" \
		eval 'has_status 125 && err_has "$project/main/link" && err_has "it is a symbolic link"'
	fresh 'printf "[core\n" >other/c; git config include.path ../other/c'
	run spawn -q --project "$project/main" --cwd "$project/main" --write main -- true
	check "a_configuration_that_cannot_be_read_is_refused_by_$who" \
		eval 'has_status 125 && err_has "cannot protect the repositories" && err_has "$project/main/other/c"'
	run spawn -q --project "$project/main" --cwd "$project/main" --read main -- true
	check "it_is_not_read_where_nothing_is_written_by_$who" has_status 0
	fresh 'git config core.hooksPath "~nobody/hooks"'
	run spawn -q --project "$project/main" --cwd "$project/main" --write main -- true
	check "a_path_that_only_git_knows_is_refused_by_$who" eval 'has_status 125 && err_has "that only git can expand"'
done
finish
