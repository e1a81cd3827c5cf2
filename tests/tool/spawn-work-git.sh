#!/bin/bash
# SPDX-License-Identifier: MIT
# Real work: git in a writable directory with a read-only repository, and with a granted repository. Files that a
# later commit outside would execute (hooks, configuration) stay unchanged.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
granted="--write $project/.git"
someone=(--env GIT_CONFIG_NOSYSTEM=1 --env GIT_CONFIG_GLOBAL=/dev/null
	--env GIT_AUTHOR_NAME=Inside --env GIT_AUTHOR_EMAIL=inside@localhost
	--env GIT_COMMITTER_NAME=Inside --env GIT_COMMITTER_EMAIL=inside@localhost)
outside() { as "$who" env GIT_AUTHOR_NAME=Outside GIT_AUTHOR_EMAIL=outside@localhost \
	GIT_COMMITTER_NAME=Outside GIT_COMMITTER_EMAIL=outside@localhost git -C "$project" "$@"; }
in_shell() { run spawn -q --write . "${someone[@]}" -- sh -c "$1"; }
git_files() { (cd "$project/.git" && cat config && find hooks -type f -exec sha256sum {} + | sort); }

for who in $starters; do
	rm -rf "${project:?}"/* "$project/.git" "$work/tree-$who"
	places
	outside init -q -b main .
	echo 'int main(void) { return 0; }' >"$project/main.c"
	echo 'a hook' >"$project/.git/hooks/mine"
	places
	outside add main.c
	outside commit -q -m 'first'
	git_files >"$work/git-before"

	in_shell 'git clone -q . copy && cd copy && git log --format=%s'
	check "git_clones_by_$who" out_is first
	in_shell 'cd copy && echo "/* more */" >>main.c && git -c core.hooksPath=/dev/null commit -q -a -m second && git log --format=%s,%an'
	check "a_clone_is_read_only_for_the_next_run_by_$who" test "$status" -ne 0 -a "$status" -ne 125
	rm -rf "$project/copy"
	in_shell 'echo "/* here */" >>main.c && git status --porcelain && git diff --stat && git log --format=%s && git blame main.c >/dev/null'
	check "git_reads_the_repository_by_$who" eval 'has_status 0 && out_is "$(printf " M main.c\n main.c | 1 +\n 1 file changed, 1 insertion(+)\nfirst")"'
	run spawn --write . "${someone[@]}" -- git commit -q -a -m second
	check "git_cannot_commit_and_is_told_how_by_$who" \
		eval 'test "$status" -ne 0 -a "$status" -ne 125 && err_has "is read-only in the sandbox; to add and commit, use $granted"'
	run spawn --write . "${someone[@]}" -- git status
	check "a_git_that_works_prints_no_hint_by_$who" eval 'has_status 0 && ! err_has "read-only in the sandbox"'
	run spawn --write . --print-plan -v -- true
	check "the_plan_tells_it_by_$who" eval '[[ $out == *"add and commit need"* ]]'

	mkdir "$project/sub"
	run spawn --cwd "$project/sub" --write "$project" "${someone[@]}" -- git commit -q -a -m second
	check "in_a_subdirectory_it_is_told_the_same_path_by_$who" err_has "use $granted"
	in_sub() { run spawn -q --project "$project/sub" --cwd "$project/sub" --write "$project/sub" "$@" "${someone[@]}" -- git status --porcelain; }
	in_sub
	check "in_a_subdirectory_alone_git_finds_nothing_by_$who" err_has 'not a git repository'
	run spawn --project "$project/sub" --cwd "$project/sub" --write "$project/sub" "${someone[@]}" -- git status
	check "the_top_of_the_repository_is_named_by_$who" err_has "note: '$project' is the top of the repository, and the sandbox does not show it; add --read $project"
	# Root's sandbox runs as another user, whom git does not trust with a directory that is only shown.
	in_sub --read "$project"
	[ "$who" = root ] || check it_does_where_the_repository_is_shown has_status 0
	run spawn --write sub/.git -- true
	check "a_missing_repository_is_not_to_be_made_by_$who" \
		eval 'has_status 125 && err_has "git rev-parse --git-common-dir" && ! err_has mkdir'
	rmdir "$project/sub"

	in_repository() { run spawn -q --write . --write .git "${someone[@]}" -- sh -c "$1"; }
	in_repository 'git add main.c && git commit -q -m here && git status --porcelain'
	check "git_commits_where_the_repository_is_granted_by_$who" has_status 0
	check "the_tree_is_clean_after_the_commit_by_$who" out_is ''
	check "the_commit_is_there_outside_by_$who" test "$(outside log --format=%s -1)" = here
	check "the_repository_is_whole_by_$who" outside fsck --strict --no-dangling
	in_repository 'git switch -q -c side && git switch -q main && git branch --list --format="%(refname:short)"'
	check "git_makes_branches_by_$who" out_is "$(printf 'main\nside')"

	in_repository 'echo evil >.git/hooks/pre-commit'
	check "a_hook_cannot_be_written_by_$who" test "$status" -ne 0 -a "$status" -ne 125
	in_repository 'mv .git/hooks .git/away; rm -rf .git/hooks; echo evil >>.git/hooks/mine; true'
	in_repository 'git config core.hooksPath /tmp'
	check "the_configuration_cannot_be_written_by_$who" test "$status" -ne 0 -a "$status" -ne 125
	in_repository 'mv .git/config .git/c; mv .git g; true'
	check "hooks_and_configuration_are_as_before_by_$who" test "$(git_files)" = "$(cat "$work/git-before")"

	# A worktree: its directory is the project, the repository is elsewhere.
	rm -rf "$work/tree-$who"
	mkdir "$work/tree-$who"
	[ "$who" = user ] && [ "$(id -u)" -eq 0 ] && chown "$user:$user" "$work/tree-$who"
	outside worktree add -q "$work/tree-$who/w" -b work
	in_tree() { run spawn -q --project "$work/tree-$who/w" --cwd "$work/tree-$who/w" --write "$work/tree-$who/w" "${someone[@]}" "$@"; }
	in_tree -- sh -c 'git status --porcelain && git log --format=%s -1'
	check "git_reads_in_a_worktree_by_$who" out_is here
	run spawn --project "$work/tree-$who/w" --cwd "$work/tree-$who/w" --write "$work/tree-$who/w" "${someone[@]}" -- git add .
	check "in_a_worktree_the_repository_is_named_by_$who" err_has "use $granted"
	in_tree --write "$project/.git" -- \
		sh -c 'echo x >new && git add new && git commit -q -m in-worktree && git log --format=%s -1'
	check "git_commits_in_a_worktree_with_a_granted_repository_by_$who" out_is in-worktree
	check "the_commit_in_a_worktree_is_there_by_$who" test "$(outside log --format=%s -1 work)" = in-worktree
	in_tree -- sh -c "echo evil >'$project/.git/HEAD'; echo evil >.git; mv .git g"
	check "the_repository_of_a_worktree_is_as_before_by_$who" \
		eval 'outside fsck && test "$(as "$who" git -C "$work/tree-$who/w" log --format=%s -1)" = in-worktree'
	in_tree --write "$work/tree-$who/w/.git" -- true
	check "the_file_of_a_worktree_cannot_be_granted_by_$who" \
		eval 'has_status 125 && err_has "name the repository: $granted"'
done

# git refuses repositories of other users: the private home has no safe.directory, so the error says what to type.
if [ "$(id -u)" -ne 0 ]; then
	skip a_repository_of_another_user_is_explained 'only root has repositories of others'
	finish
	exit
fi
others="$work/other user's"
git init -q "$others"
mkdir "$others/sub"
in_others() { (cd "$others/$1" && as "$who" sbx-spawn "${someone[@]}" "${@:2}"); }
for who in $starters; do
	owner=$([ "$who" = user ] && echo 0 || echo "$user")
	places
	chown -R "$owner" "$others"
	run in_others . -- git status
	fix=${err##*"'$others' belongs to uid $owner; to use it, add "}
	check "a_repository_of_another_user_is_explained_to_$who" test "$status" -eq 128 -a "$fix" != "$err"
	# shellcheck disable=SC2086 # what was said is typed
	eval "run in_others . $fix -- git status --porcelain"
	check "the_fix_of_the_hint_works_by_$who" test "$status:$err" = 0:
	run in_others sub --project .. -- git log
	check "so_is_one_above_the_working_directory_to_$who" err_has "'$others' belongs to uid $owner"
	run in_others . -q -- git status
	check "q_says_nothing_of_it_to_$who" eval '! err_has "sbx-spawn: note"'
	run in_others . -- git nosuch
	check "another_failure_is_not_explained_by_it_to_$who" test "$status" -ne 0 -a "${err##*belongs to uid}" = "$err"
	run in_others . -- git --version
	check "nor_is_a_success_to_$who" test "$status:$err" = 0:
done
finish
