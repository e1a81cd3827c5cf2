#!/bin/bash
# SPDX-License-Identifier: MIT
# Repositories other than the project's own: bare ones, and those one level below a writable directory.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
outside() { as "$who" git -c user.name=Outside -c user.email=outside@localhost "$@"; }
in_folder() { run spawn -q --project "$project/$1" --cwd "$project/$1" --write "$1" -- sh -c "$2"; }
# The files of the repository directory $1 from which git runs programs.
programs() { (cd "$project/$1" && sha256sum config && find hooks -type f -exec sha256sum {} + | sort) 2>/dev/null; }
# shellcheck disable=SC2016 # it runs inside
spoil='cd "$1" && { mkdir -p hooks; echo evil >hooks/pre-commit; echo evil >>config; mv hooks h; mv config c; echo "$PWD" >commondir; }; true'
spoil() { # GRANT REPOSITORY [ARGUMENT...]
	run spawn -q --project "$project/$1" --cwd "$project/$1" --write "$1" "${@:3}" -- sh -c "$spoil" sh "$project/$2"
}
is_as_before() { [ "$(programs "$1")" = "$before" ] && [ ! -e "$project/$1/commondir" ]; }
has_hooks_as_before() { [ "$(programs "$1")" = "$before" ]; }

for who in $starters; do
	rm -rf "${project:?}"/*
	places
	outside init -q --bare -b main "$project/bare"
	for repository in src/r1 src/org/r2; do
		outside init -q -b main "$project/$repository"
	done
	outside init -q --bare -b main "$project/src/mirror"
	places
	before=$(programs bare)
	spoil bare bare
	check "hooks_of_a_bare_repository_are_as_before_by_$who" has_hooks_as_before bare
	check "a_changed_bare_repository_is_reported_by_$who" err_has "'$project/bare' has become a repository"
	rm "$project/bare/commondir"
	# shellcheck disable=SC2016 # it runs inside
	run spawn -q --project "$project/bare" --cwd "$project/bare" --write bare -- \
		sh -c 'git -c user.name=I -c user.email=i@localhost commit-tree -m first "$(git mktree </dev/null)" | xargs git update-ref refs/heads/main && git log --format=%s main'
	check "git_commits_in_a_bare_repository_by_$who" out_is first
	rm -rf "$project/bare/hooks"
	in_folder bare true
	check "a_bare_repository_without_hooks_is_refused_by_$who" eval 'has_status 125 && err_has "create it"'

	for repository in r1/.git mirror; do
		before=$(programs "src/$repository")
		spoil src "src/$repository"
		check "${repository}_below_a_writable_directory_is_unchanged_by_$who" is_as_before "src/$repository"
	done
	before=$(programs src/org/r2/.git)
	spoil src src/org/r2/.git
	check "deeper_repositories_are_ordinary_content_by_$who" eval '! is_as_before src/org/r2/.git'
	in_folder src 'cd r1 && mv .git g; git status'
	check "git_reads_a_repository_below_by_$who" has_status 0
	run spawn -q --project "$project/src" --cwd "$project/src" --write src --write src/r1/.git -- \
		sh -c 'cd r1 && echo x >f && git add f && git -c user.name=I -c user.email=i@localhost commit -q -m in && git log --format=%s'
	check "git_commits_in_a_repository_that_is_granted_by_$who" out_is in
	before=$(programs src/r1/.git)
	spoil src src/r1/.git --write src/r1/.git
	check "and_its_hooks_are_as_before_by_$who" has_hooks_as_before src/r1/.git
	rm -f "$project/src/r1/.git/commondir"

	as "$who" git -C "$project/src/r1" config core.hooksPath .husky
	mkdir "$project/src/r1/.husky"
	places
	in_folder src 'echo evil >r1/.husky/pre-commit'
	check "hooks_named_by_a_nested_configuration_are_protected_by_$who" test ! -e "$project/src/r1/.husky/pre-commit"

	as "$who" mkdir "$project/src/org/deep"
	outside init -q -b main --separate-git-dir "$project/src/org/deep/apart" "$project/src/apart"
	before=$(programs src/org/deep/apart)
	spoil src src/org/deep/apart
	check "a_repository_that_a_file_names_is_as_before_by_$who" is_as_before src/org/deep/apart
done
finish
