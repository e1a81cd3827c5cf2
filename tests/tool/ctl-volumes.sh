#!/bin/bash
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
fake

run sbx-ctl volume create build
check creating_prints_where_it_is out_is "$volumes/build"
check a_volume_is_a_directory_with_mode_700 test "$(stat -c %a "$volumes/build")" = 700
check so_are_all_of_them test "$(stat -c %a "$volumes")" = 700
run sbx-ctl volume create build
check a_volume_is_never_used_twice has_status 1
check why_not_is_said err_has 'each can be used once'
run sbx-ctl --json volume create json
check as_json_it_is_named_too out_is "{\"name\":\"json\",\"path\":\"$volumes/json\"}"

mkdir -p "$volumes/build/a/b" && echo x >"$volumes/build/a/b/c" && chmod 0 "$volumes/build/a/b"
ln -s / "$volumes/build/root"
run sbx-ctl volume list
check a_filled_one_is_told_from_an_empty_one test "$(printf '%s\n' "$out" | awk '{ print $1, $2 }')" = 'NAME STATE
build filled
json empty'
run sbx-ctl volume remove build json
check removing_deletes_the_volumes_contents ends_with 0
check nothing_is_left_of_them test -z "$(ls -A "$volumes")"
check removing_does_not_follow_symbolic_links test -d /usr
run sbx-ctl volume remove build
check a_removed_volume_cannot_be_removed_again has_status 1

sbx-ctl volume create used >/dev/null
begin a --write-out "$volumes/used" -- sleep 1000
run sbx-ctl volume remove used
check one_that_is_written_to_is_not_removed has_status 1
check it_is_still_there test -d "$volumes/used"
run sbx-ctl volume list
check the_list_names_the_sandbox_that_uses_a_volume out_has 'used by a'
mkdir "$volumes/.used.sbx-work-1" "$volumes/.free.sbx-work-1" "$volumes/.free.sbx-work-2"
touch -d '1 hour ago' "$volumes/.used.sbx-work-1" "$volumes/.free.sbx-work-1"
mkdir "$volumes/.set-back.sbx-work-1"
touch -d 'now 1 year' "$volumes/.set-back.sbx-work-1"
run sbx-ctl gc
check gc_removes_those_from_before_the_clock_was_set_back out_has '.set-back.sbx-work-1: removed the rest of a volume'
mkdir "$volumes/.free.sbx-work-1"
touch -d '1 hour ago' "$volumes/.free.sbx-work-1"
run sbx-ctl gc
check gc_removes_old_unused_work_directories out_is '.free.sbx-work-1: removed the rest of a volume'
check gc_leaves_those_in_use test -d "$volumes/.used.sbx-work-1"
check gc_leaves_those_that_have_just_been_made test -d "$volumes/.free.sbx-work-2"
sbx-ctl stop a
mkdir "$volumes/used/sub" && ln -s "$volumes/used" "$work/link"
i=0
for typed in "$volumes/used/" "$volumes//used/." "$volumes/used/sub" "$work/link" "$work/link/new.tar"; do
	i=$((i + 1))
	begin "typed-$i" --write-out "$typed" -- sleep 1000
	run sbx-ctl volume remove used
	check "one_in_use_is_not_removed_however_it_was_typed_$i" has_status 1
	check "it_is_there_all_the_same_$i" test -d "$volumes/used/sub"
	sbx-ctl stop "typed-$i"
done
run sbx-ctl volume remove used
check then_it_can_be_removed has_status 0

# A removal that was interrupted.
mkdir -p "$volumes/.gone-x/deep" "$volumes/kept"
run sbx-ctl gc --dry-run
check a_dry_run_leaves_the_rest test -d "$volumes/.gone-x"
run sbx-ctl gc
check gc_takes_the_rest test ! -e "$volumes/.gone-x"
check gc_leaves_volumes test -d "$volumes/kept"

for name in .. . a/b .hidden '' ../../x; do
	run sbx-ctl volume create "$name"
	check "no_volume_is_called_$(printf %s "$name" | tr -c 'a-z' _)" has_status 2
	run sbx-ctl volume remove "$name"
	check "nothing_is_removed_as_$(printf %s "$name" | tr -c 'a-z' _)" has_status 1
done
check the_volume_itself_is_unchanged test -d "$volumes/kept"
run sbx-ctl volume crate x
check a_mistyped_word_is_understood err_has "did you mean 'sbx-ctl volume create'?"
check a_mistyped_word_is_wrong_usage has_status 2
run sbx-ctl volume create
check a_name_is_needed has_status 2
chmod 755 "$volumes"
run sbx-ctl volume list
check volumes_that_others_can_read_are_refused has_status 125
finish
