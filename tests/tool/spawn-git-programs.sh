#!/bin/bash
# SPDX-License-Identifier: MIT
# Files from which git outside would run programs later: each attack works for a user with write access to the
# repository, and fails for a command in a sandbox that may write it.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
outside() { as "$who" env GIT_AUTHOR_NAME=Outside GIT_AUTHOR_EMAIL=outside@localhost \
	GIT_COMMITTER_NAME=Outside GIT_COMMITTER_EMAIL=outside@localhost git -c protocol.file.allow=always "$@"; }

# build: creates main, with a submodule and a worktree, and evil, with the configuration that an attacker wants git to
# use.
build() {
	rm -rf "${project:?}"/* "$work/other" "$work/built"
	mkdir "$work/other"
	places
	[ "$who" = user ] && [ "$(id -u)" -eq 0 ] && chown "$user:$user" "$work/other"
	(cd "$work/other" && outside init -q -b main . && outside commit -q --allow-empty -m first)
	mkdir "$project/main" "$project/evil"
	printf '#!/bin/sh\ntouch "%s/was-executed"\n' "$project" >"$project/evil/program"
	chmod 755 "$project/evil/program"
	places
	mkdir "$project/sub"
	(
		cd "$project/main" && outside init -q -b main . && outside config extensions.worktreeConfig true &&
			outside submodule --quiet add "$work/other" sub && outside commit -q -m first &&
			outside worktree add -q ../tree && rm -rf .git/hooks
	) >/dev/null 2>&1
	# A repository with that configuration.
	cp -r "$project/main/.git" "$project/evil/git"
	rm -f "$project/evil/git/config.worktree"
	printf '[core]\n\tfsmonitor = %s/evil/program\n\trepositoryformatversion = 0\n' "$project" >"$project/evil/git/config"
	places
	cp -a "$project" "$work/built"
}
fresh() {
	rm -rf "${project:?}"/*
	cp -a "$work/built/." "$project"
}
look() { rm -f "$project/was-executed"; (cd "$project/$1" && outside status && outside commit --allow-empty -q -m more) >"$work/said" 2>&1; }
is_executed() { [ -e "$project/was-executed" ]; }
works() { (cd "$project/$1" && outside status) >"$work/said" 2>&1; }
is_not() { ! "$@"; }

# NAME, directory in which git is run later, attack.
# shellcheck disable=SC2016 # the directory is known where it runs
ways=(
	'commondir|main|echo "$PWD/evil/git" >main/.git/commondir'
	'config.worktree|main|git config --file main/.git/config.worktree core.fsmonitor "$PWD/evil/program"'
	'hooks|main|mkdir -p main/.git/hooks; cp evil/program main/.git/hooks/post-commit'
	'config|main|git config --file main/.git/config core.fsmonitor "$PWD/evil/program"'
	'submodule-config|main|git config --file main/.git/modules/sub/config core.fsmonitor "$PWD/evil/program"'
	'submodule-commondir|main|echo "$PWD/evil/git" >main/.git/modules/sub/commondir'
	'submodule-link|main|rm -f main/sub/.git; git config --file evil/git/config core.worktree "$PWD/main/sub"; echo "gitdir: $PWD/evil/git" >main/sub/.git'
	'worktree-config|tree|git config --file main/.git/worktrees/tree/config.worktree core.fsmonitor "$PWD/evil/program"'
	'worktree-commondir|tree|rm -f main/.git/worktrees/tree/commondir; echo "$PWD/evil/git" >main/.git/worktrees/tree/commondir'
	'worktree-link|tree|rm -f tree/.git; echo "gitdir: $PWD/evil/git" >tree/.git'
)
for who in $starters; do
	build
	for where in main tree; do
		look "$where"
		check "nothing_is_executed_in_a_fresh_${where}_by_$who" is_not is_executed
	done
	for way in "${ways[@]}"; do
		IFS='|' read -r what where script <<<"$way"
		fresh
		(cd "$project" && as "$who" sh -c "$script")
		look "$where"
		check "without_a_sandbox_${what}_makes_git_execute_something_by_$who" is_executed
		# Each repository is granted as a project.
		fresh
		run spawn -q --write main --write tree --write evil --project "$project/$where" --cwd "$project" \
			--report "$work/$who/report" -- sh -c "$script"
		look "$where"
		check "with_a_sandbox_${what}_does_not_by_$who" is_not is_executed
		check "git_still_works_after_${what}_by_$who" works "$where"
	done

	fresh
	: >"$work/$who/audit"
	exec 8>>"$work/$who/audit"
	run spawn -q --audit-fd 8 --report "$work/$who/report" --project "$project" --cwd "$project" --write sub -- \
		sh -c 'cd sub && git init -q .'
	exec 8>&-
	check "a_directory_that_becomes_a_repository_is_reported_by_$who" \
		eval "has_status 0 && err_has \"warning: '\$project/sub' has become a repository\""
	check "it_is_in_the_report_by_$who" grep -q "\"new_repositories\":\[\"$project/sub\"\]" "$work/$who/report"
	check "it_is_in_the_record_by_$who" grep -q '"sandbox_destroyed".*"new_repositories":\["' "$work/$who/audit"
	rm -rf "$project/sub/.git"
	run spawn -q --project "$project" --cwd "$project" --write sub -- sh -c 'cd sub && mkdir objects refs hooks && : >config && echo x >HEAD'
	check "a_bare_repository_is_reported_by_$who" err_has 'has become a repository'
	run spawn -q --project "$project" --cwd "$project" --write sub -- true
	check "one_that_was_there_is_not_told_by_$who" err_is ''
	mkdir "$project/main/.git/hooks"
	run spawn -q --project "$project/main" --cwd "$project/main" --write main --write main/.git -- true
	check "a_granted_repository_without_its_configuration_file_is_refused_by_$who" \
		eval 'has_status 125 && err_has "config.worktree" && err_has "create it"'
done
finish
