#!/bin/bash
# SPDX-License-Identifier: MIT
# Repositories that are not the project's own: bare ones, and those below a folder that may be written.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
outside() { as "$who" git -c user.name=Outside -c user.email=outside@localhost "$@"; }
in_folder() { run spawn -q --project "$project/$1" --cwd "$project/$1" --write "$1" -- sh -c "$2"; }
# What git takes programs from in the repository folder $1.
programs() { (cd "$project/$1" && sha256sum config && find hooks -type f -exec sha256sum {} + | sort) 2>/dev/null; }
# shellcheck disable=SC2016 # it runs inside
spoil='cd "$1" && { mkdir -p hooks; echo evil >hooks/pre-commit; echo evil >>config; mv hooks h; mv config c; echo "$PWD" >commondir; }; true'
spoil() { run spawn -q --project "$project/$1" --cwd "$project/$1" --write "$1" -- sh -c "$spoil" sh "$project/$2"; }
is_as_before() { [ "$(programs "$1")" = "$before" ] && [ ! -e "$project/$1/commondir" ]; }
many() { for ((i = 0; i < $1; i++)); do echo "$2$i"; done | xargs mkdir -p; }

for who in $starters; do
	rm -rf "${project:?}"/*
	places
	outside init -q --bare -b main "$project/bare"
	for repository in src/r1 src/org/r2 src/org/team/r3 src/org/team/deep/r4 src/r1/vendor/lib; do
		outside init -q -b main "$project/$repository"
	done
	outside init -q --bare -b main "$project/src/mirror"
	outside init -q --bare -b main "$project/src/org/team/mirror"
	places
	before=$(programs bare)
	spoil bare bare
	check "a_bare_repository_is_as_before_by_$who" is_as_before bare
	# shellcheck disable=SC2016 # it runs inside
	run spawn -q --project "$project/bare" --cwd "$project/bare" --write bare -- \
		sh -c 'git -c user.name=I -c user.email=i@localhost commit-tree -m first "$(git mktree </dev/null)" | xargs git update-ref refs/heads/main && git log --format=%s main'
	check "git_commits_in_a_bare_repository_by_$who" out_is first
	rm -rf "$project/bare/hooks"
	in_folder bare 'mkdir hooks; echo evil >hooks/pre-receive'
	check "hooks_of_a_bare_repository_do_not_appear_by_$who" test ! -e "$project/bare/hooks"
	before=$(programs src/r1/.git)
	in_folder src/r1/.git 'echo evil >>config'
	check "the_repository_folder_itself_is_one_by_$who" is_as_before src/r1/.git

	for repository in r1 org/r2 org/team/r3 r1/vendor/lib; do
		before=$(programs "src/$repository/.git")
		spoil src "src/$repository/.git"
		check "${repository}_below_a_writable_folder_is_as_before_by_$who" is_as_before "src/$repository/.git"
	done
	before=$(programs src/r1/vendor/lib/.git)
	spoil src/r1 src/r1/vendor/lib/.git
	check "a_repository_in_a_repository_is_as_before_by_$who" is_as_before src/r1/vendor/lib/.git
	for repository in mirror org/team/mirror; do
		before=$(programs "src/$repository")
		spoil src "src/$repository"
		check "${repository}_which_is_bare_is_as_before_by_$who" is_as_before "src/$repository"
	done
	before=$(programs src/org/team/deep/r4/.git)
	spoil src src/org/team/deep/r4/.git
	check "what_is_deeper_is_ordinary_content_by_$who" eval '! is_as_before src/org/team/deep/r4/.git'
	in_folder src 'cd r1 && echo x >f && git add f && git -c user.name=I -c user.email=i@localhost commit -q -m in && git log --format=%s'
	check "git_commits_in_a_repository_below_by_$who" out_is in

	as "$who" git -C "$project/src/r1" config core.hooksPath .husky
	mkdir "$project/src/r1/.husky"
	places
	in_folder src 'echo evil >r1/.husky/pre-commit'
	check "what_the_configuration_below_names_is_kept_by_$who" test ! -e "$project/src/r1/.husky/pre-commit"

	outside init -q -b main --separate-git-dir "$project/src/org/team/deep/apart" "$project/src/apart"
	before=$(programs src/org/team/deep/apart)
	spoil src src/org/team/deep/apart
	check "a_repository_that_a_file_names_is_as_before_by_$who" is_as_before src/org/team/deep/apart

	(cd "$project/src" && many 1100 many/)
	places
	run spawn --project "$project/src" --cwd "$project/src" --write src -- true
	check "where_there_are_too_many_folders_this_is_told_by_$who" \
		eval 'has_status 0 && err_has "not all repositories below"'
	before=$(programs src/r1/.git)
	spoil src src/r1/.git
	check "the_higher_ones_have_been_found_by_$who" is_as_before src/r1/.git
done
finish
