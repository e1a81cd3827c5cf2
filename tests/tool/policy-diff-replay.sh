#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1

cat >old.yaml <<'END'
version: 1
capabilities:
  - { name: src, match: { syscall: fs.write, path: /srv/src }, action: allow }
  - { name: top, match: { syscall: fs.write, path: /srv/top }, action: require_review }
END
cat >new.yaml <<'END'
version: 1
capabilities:
  - { name: top, match: { syscall: fs.write, path: /srv/top }, action: deny }
  - { name: doc, match: { syscall: fs.write, path: /srv/doc }, action: allow }
END
for path in src/a src/b doc/a top/a other/a; do
	echo "{\"op\":\"fs.write\",\"path\":\"/srv/$path\"}"
done >requests
echo 'not a record' >>requests

run sbx-policy diff old.yaml new.yaml
check a_difference_ends_with_1 has_status 1
check a_removed_rule_is_named out_has "- rule 'src' (old.yaml:3) removed"
check an_added_rule_is_named out_has "+ rule 'doc' (new.yaml:4) added"
check a_changed_action_is_named out_has "~ rule 'top' (new.yaml:3) changed: action: require_review -> deny"
run sbx-policy diff old.yaml old.yaml
check no_difference_ends_with_0 has_status 0

run sbx-policy diff old.yaml new.yaml --replay requests
check a_change_from_allow_to_deny_is_breaking out_has '[BREAKING] allow -> deny'
check a_change_from_deny_to_allow_widens out_has '[WIDENS] deny -> allow'
check a_change_from_review_to_deny_is_neither out_has '[OTHER] require_review -> deny'
check answers_that_stay_are_not_shown test "$(grep -c other/a "$work/out")" -eq 0
check the_counts_include_unreadable_records \
	out_has 'replayed 5: 4 changed, 2 breaking, 1 widening; 1 could not be replayed'
check changes_are_grouped_by_rule test "$(grep -c "^rule 'src' (old.yaml:3) no longer decides" "$work/out")" -eq 1

check where_something_was_allowed_nothing_is_said_of_it eval '! out_has "none of them was allowed"'
grep /doc/ requests >refused
run sbx-policy diff old.yaml new.yaml --replay refused
check refusals_alone_are_said_to_break_nothing out_has 'none of them was allowed before, so none could break'
run sbx-policy diff --json old.yaml new.yaml --replay refused
check json_counts_what_was_permitted out_has '"replayed":1,"permitted":0,"changed":1'
run sbx-policy diff old.yaml new.yaml --replay requests --last 2
check last_takes_the_end_of_the_record out_has 'replayed 1: 0 changed'
i=0
while [ $i -lt 60 ]; do
	cat requests
	i=$((i + 1))
done >many
run sbx-policy diff old.yaml new.yaml --replay many
check a_hundred_are_replayed_unless_told out_has 'replayed 83: 66 changed, 32 breaking, 17 widening; 17 could not be replayed'
run sbx-policy diff old.yaml new.yaml --replay many --last all
check the_same_answer_is_shown_once out_has '"path":"/srv/src/a"} (60 times)'
check all_are_replayed_when_asked out_has 'replayed 300: 240 changed'
sbx-policy diff old.yaml new.yaml --replay - <requests >piped
check standard_input_can_be_replayed grep -q 'replayed 5: ' piped
sbx-policy eval old.yaml <requests >decisions
run sbx-policy diff old.yaml new.yaml --replay decisions
check recorded_decisions_can_be_replayed out_has 'replayed 5: 4 changed'
run timeout 60 sbx-policy diff old.yaml new.yaml --replay /dev/zero
check a_line_without_an_end_ends_the_reading has_status 2
check an_endless_line_is_said_to_be_too_long err_has 'longer than 1MiB'
run sbx-policy diff old.yaml new.yaml --replay requests --last none
check a_wrong_number_ends_with_2 has_status 2
run sbx-policy diff old.yaml new.yaml --replay nowhere
check a_missing_record_ends_with_2 has_status 2
# The new policy is meant for the place of the old one: the rules protect that one, not the draft.
cat >here.yaml <<END
capabilities: [{ name: here, match: { syscall: fs.write, path: "$work" }, action: allow }]
END
cp here.yaml draft.yaml
printf '{"op":"fs.write","path":"%s"}\n' "$work/here.yaml" "$work/draft.yaml" "$work/here.yaml.previous" >own
run sbx-policy diff here.yaml draft.yaml --replay own
check the_place_of_a_file_changes_no_answer out_is 'replayed 3: 0 changed, 0 breaking, 0 widening; 0 could not be replayed'
run sbx-policy diff --json old.yaml new.yaml --replay requests
check every_line_of_json_is_an_object python3 -c 'import json,sys
for line in open(sys.argv[1]): assert json.loads(line)["change"]' "$work/out"
finish
