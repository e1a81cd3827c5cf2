#!/bin/bash
# SPDX-License-Identifier: MIT
# A path is protected by a mount over its name, which a process outside can remove by renaming: then the sandbox is
# killed before it can use that, and all outputs say why.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
outside() { (cd "$project" && as "$who" env GIT_AUTHOR_NAME=Outside GIT_AUTHOR_EMAIL=outside@localhost \
	GIT_COMMITTER_NAME=Outside GIT_COMMITTER_EMAIL=outside@localhost "$@"); }
fresh() {
	rm -rf "${project:?}"/* "$project/.git"
	mkdir -p "$project/kept/deep"
	echo secret >"$project/secret"
	echo secret >"$project/kept/deep/secret"
	places
	outside git init -q -b main .
	rm -f "$project"/.git/hooks/*
}
report_has() { python3 -c 'import json,sys; report = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' \
	"$work/$who/report" "$1"; }

# Starts a command that waits for a word. If it is not killed at once, it gets SIGTERM and does what must not happen.
begin() { # WHAT-MUST-NOT-BE ARGUMENT...
	fresh
	rm -f "$work/to" "$work/from" "$work/$who/audit" "$work/$who/report"
	mkfifo "$work/to" "$work/from"
	exec 8>>"$work/$who/audit"
	# shellcheck disable=SC2016 # for the shell inside
	spawn -q --time 60s --audit-fd 8 --report "$work/$who/report" --env EVIL="$1" "${@:2}" -- \
		sh -c 'trap "eval \"\$EVIL\"" TERM; echo ready; read -r word; echo "$word"' \
		<"$work/to" >"$work/from" 2>"$work/err" &
	pid=$!
	exec 8>&- 6>"$work/to" 7<"$work/from"
	read -r -u 7 _
}
end() {
	status=0
	wait "$pid" || status=$?
	out=$(cat <&7)
	err=$(cat "$work/err")
	exec 6>&- 7<&-
}
is_lost() { # PATH
	has_status 137 && err_has "'$project/$1' was no longer protected" && out_is '' &&
		report_has "report['reason'] == 'protection-lost' and report['protection_lost'] == '$project/$1'"
}

for who in $starters; do
	begin 'echo evil >>.git/config' --write . --write .git
	outside git config some.thing new
	cp "$project/.git/config" "$work/config"
	end
	check "git_config_outside_ends_it_by_$who" is_lost .git/config
	check "the_error_has_a_reason_and_a_fix_by_$who" eval 'err_has "why: a process outside" && err_has "fix: check what is there"'
	check "it_is_a_record_by_$who" grep -q \
		'"event":"sandbox_failed".*"reason":"protection-lost","protection_lost":"'"$project/.git/config" "$work/$who/audit"
	check "the_new_configuration_was_not_written_by_$who" cmp -s "$work/config" "$project/.git/config"

	begin 'cat secret' --write . --deny secret
	outside sh -c 'echo new >other && mv other secret'
	end
	check "a_hidden_file_that_is_replaced_ends_it_by_$who" is_lost secret
	begin 'cat secret' --deny secret
	outside sh -c 'echo new >other && mv other secret'
	end
	check "also_where_nothing_may_be_written_by_$who" is_lost secret
	begin 'echo evil >kept/new' --write . --deny-write kept
	outside rm -r kept
	end
	check "removing_a_read_only_directory_ends_the_sandbox_by_$who" is_lost kept
	begin 'mkdir .git/hooks; echo evil >.git/hooks/post-commit' --write . --write .git
	outside rmdir .git/hooks
	end
	check "hooks_that_are_removed_end_it_by_$who" is_lost .git/hooks

	begin true --write . --deny secret
	outside mv secret other
	echo renamed >&6
	end
	check "a_hidden_file_that_is_renamed_is_found_at_the_end_by_$who" \
		eval 'has_status 137 && err_has "no longer protected"'

	begin true --write . --deny secret --deny-write kept
	outside sh -c 'echo a >a; mv a b; rm b; mkdir c; mv c d; rmdir d; chmod 600 secret; echo more >>secret; echo x >kept/new;
		git add .git/../kept; git commit -q -m outside; git config some.thing newer; git gc -q'
	echo undisturbed >&6
	end
	check "changes_beside_the_protected_path_are_ignored_by_$who" eval 'has_status 0 && out_is undisturbed'
	check "nothing_is_said_then_by_$who" err_is ''
	check "the_report_says_that_nothing_was_lost_by_$who" report_has "report['protection_lost'] is None"
	run spawn -q --write . --write .git --env GIT_CONFIG_NOSYSTEM=1 --env GIT_CONFIG_GLOBAL=/dev/null \
		--env GIT_AUTHOR_NAME=Inside --env GIT_AUTHOR_EMAIL=inside@localhost \
		--env GIT_COMMITTER_NAME=Inside --env GIT_COMMITTER_EMAIL=inside@localhost -- \
		sh -c 'echo b >b; git add b; git commit -q -m inside; git config a.b c; mv .git/config .git/x; rm -rf .git/hooks; git log --format=%s -1'
	check "changes_by_the_command_itself_are_ignored_by_$who" eval 'has_status 0 && out_is inside'
done
finish
