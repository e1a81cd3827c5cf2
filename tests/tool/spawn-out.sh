#!/bin/bash
# SPDX-License-Identifier: MIT
# --out: the working directory looks writable; changes go to another directory.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

for who in $starters; do
	rm -rf "${project:?}"/*
	mkdir "$project/sub"
	echo old >"$project/file"
	echo gone >"$project/sub/removed"
	places
	out_dir=$work/$who/changes
	run spawn -q --out "$out_dir" -- sh -c 'echo new >file && echo more >added && rm sub/removed && cat file added'
	check "the_command_sees_its_changes_by_$who" out_is "$(printf 'new\nmore')"
	check "the_directory_is_unchanged_by_$who" test "$(cat "$project/file" "$project/sub/removed")" = "$(printf 'old\ngone')" -a ! -e "$project/added"
	check "changes_are_complete_files_by_$who" test "$(cat "$out_dir/file" "$out_dir/added")" = "$(printf 'new\nmore')"
	check "a_removal_is_a_whiteout_by_$who" test -c "$out_dir/sub/removed"
	check "nothing_hidden_is_left_by_$who" test -z "$(find "$work/$who" -maxdepth 1 -name '.*')"
	run spawn -q --out "$out_dir" -- true
	check "a_directory_that_is_not_empty_is_refused_by_$who" has_status 125
	run spawn -q --out "$work/$who/changes.tar" -- sh -c 'echo new >file && rm sub/removed'
	check "an_archive_is_written_by_$who" has_status 0
	check "the_archive_has_the_changes_by_$who" test "$(tar -xOf "$work/$who/changes.tar" file)" = new
	check "the_archive_names_removals_by_$who" sh -c 'tar -tf "$1" | grep -q "^sub/\.wh\.removed$"' sh "$work/$who/changes.tar"
	check "nothing_hidden_is_left_by_an_archive_by_$who" test -z "$(find "$work/$who" -maxdepth 1 -name '.*')"
	run spawn -q --out "$work/$who/holes.tar" -- truncate -s 64G holes
	check "a_hole_of_64_gib_is_archived_by_$who" has_status 0
	check "it_is_a_hole_in_the_archive_too_by_$who" test "$(stat -c %s "$work/$who/holes.tar")" -lt 65536
	check "the_archive_says_how_large_it_is_by_$who" sh -c 'tar -tvf "$1" | grep -q " 68719476736 .* holes$"' sh \
		"$work/$who/holes.tar"
	run spawn -q --out "$work/$who/late.tar" --time 300ms --grace 1us --report "$work/$who/late.json" --audit-fd 8 -- \
		sh -c 'echo new >late && sleep 600' 8>>"$work/$who/late.audit"
	check "the_time_limit_ends_the_archiving_too_by_$who" has_status 124
	check "that_the_archive_is_not_there_is_told_by_$who" err_has 'the time limit was reached while it was being archived'
	check "where_the_changes_are_is_told_by_$who" err_has "'$work/$who/.late.tar.sbx-layer-"
	check "half_an_archive_is_not_left_by_$who" test ! -e "$work/$who/late.tar"
	check "the_record_of_its_end_says_so_by_$who" grep -q '"event":"sandbox_failed".*"status":124,.*"what":"cannot write the changes' \
		"$work/$who/late.audit"
	as "$who" sh -c 'head -c 600K /dev/zero >"$1/half"' sh "$project"
	(
		ulimit -S -f 1000
		spawn -q --out "$work/$who/large.tar" --report "$work/$who/large.json" --audit-fd 8 -- \
			sh -c 'cp half one && cp half two && exit 3' 8>>"$work/$who/large.audit"
	) 2>"$work/large.err"
	check "an_archive_that_is_too_large_is_told_by_$who" grep -q 'cannot write the changes' "$work/large.err"
	check "the_report_has_the_status_of_the_failure_by_$who" grep -q '"status":125,.*"exit":3,' "$work/$who/large.json"
	check "the_record_of_the_failure_has_the_status_too_by_$who" grep -q '"event":"sandbox_failed".*"status":125,.*"exit":3,' \
		"$work/$who/large.audit"
	as "$who" mkdir -m 700 "$work/$who/own"
	run spawn -q --out "$work/$who/own" --read /no/such/path -- true
	run spawn -q --out "$work/$who/own" --dry-run -- true
	check "an_empty_directory_of_the_users_stays_by_$who" test "$(stat -c %a "$work/$who/own")" = 700
	run spawn -q --out "$work/$who/made" --read /no/such/path -- true
	check "a_directory_of_a_refused_start_does_not_by_$who" test ! -e "$work/$who/made"
	run spawn -q --out "$work/$who/new" -- no-such-program
	check "a_command_that_is_missing_is_127_with_out_by_$who" has_status 127
done

# The hidden directories are made when the registry names them, for sbx-ctl gc. A start waits a while for the lock of the
# sandbox that it takes over, which another process shares here, and is killed meanwhile.
who=user
run spawn --out "$work/closed/changes.tar" --dry-run -- true
check a_missing_parent_is_refused_before_anything_is_made err_has "cannot open the directory"
if [ "$EUID" -eq 0 ]; then
	mkdir -m 755 "$work/closed"
	for how in --dry-run -q; do
		run spawn --out "$work/closed/changes.tar" $how -- true
		check "so_is_one_that_may_not_be_written_$how" err_has 'choose a directory in which you may create directories'
	done
fi
run spawn --out "$work/user/$(printf '%0235d' 0).tar" --dry-run -- true
check a_name_too_long_for_the_hidden_ones_is_refused_before_too err_has 'use a shorter name'
waits_for_the_lock() { ! kill -0 "$1" 2>/dev/null || grep -q nanosleep "/proc/$1/wchan"; }
places
(cd "$project" && as user sbx-ctl create --id taken --out "$work/user/killed.tar" -- true >/dev/null)
exec 8<"$work/user/run/sbx/sandboxes/taken"
flock -s 8
(
	cd "$project" || exit
	[ "$EUID" -ne 0 ] || exec setpriv --reuid="$user" --regid="$user" --clear-groups "$SBX_BUILD/tools/sbx-spawn" --id taken \
		--out "$work/user/killed.tar" -- true
	exec "$SBX_BUILD/tools/sbx-spawn" --id taken --out "$work/user/killed.tar" -- true
) 8<&- 2>/dev/null &
starting=$!
eventually waits_for_the_lock "$starting"
kill -KILL "$starting" 2>/dev/null
wait "$starting" 2>/dev/null
exec 8<&-
check a_start_that_is_killed_before_its_state_leaves_nothing_hidden test -z "$(find "$work/user" -maxdepth 1 -name '.killed*')"
run as user sbx-ctl remove taken
check the_sandbox_waits_as_before has_status 0
finish
