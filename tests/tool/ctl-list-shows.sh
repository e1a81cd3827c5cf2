#!/bin/bash
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
fake

run sbx-ctl list
check an_empty_list_has_its_heading out_is 'ID  STATE  AGE  PID  TIER  COMMAND'
run sbx-ctl list --json
check an_empty_list_is_no_json ends_with 0
check the_registry_is_made_for_us_alone test "$(stat -c %a "$sandboxes")" = 700

sbx-ctl create --id a -- printf '\033[31m%s' $'x\ny' >/dev/null
sbx-ctl create --id a-longer-name -- sleep "$(printf 'ä%.0s' {1..100})" >/dev/null
run sbx-ctl list
check columns_are_aligned test "$(printf '%s\n' "$out" | cut -c1-25)" = 'ID             STATE     
a              CREATING  
a-longer-name  CREATING  '
check a_command_cannot_paint_the_terminal out_has '\033[31m%s x\x0ay'
check a_long_command_is_cut_between_characters out_has 'ää...'
run sbx-ctl list -q
check quietly_only_names_are_listed out_is $'a\na-longer-name'
run sbx-ctl --json list
check as_json_each_is_one_line test "$(printf '%s\n' "$out" | python3 -c 'import json, sys
print([json.loads(line)["id"] for line in sys.stdin])')" = "['a', 'a-longer-name']"

mkdir -m 700 "$sandboxes/broken"
echo '{' >"$sandboxes/broken/state.json"
run sbx-ctl list
check one_that_cannot_be_read_is_told err_has "cannot read the state of the sandbox 'broken'"
check the_others_are_listed_all_the_same out_has a-longer-name

begin b -- sleep 1000
run sbx-ctl inspect a b
check several_are_inspected_in_order test "$(printf '%s\n' "$out" | python3 -c 'import json, sys
print([(e["id"], e["alive"], e["state"]) for e in map(json.loads, sys.stdin)])')" = "[('a', False, 'CREATING'), ('b', True, 'RUNNING')]"
run sbx-ctl inspect b nobody
check one_that_is_missing_does_not_hide_another out_has '"id":"b"'
check it_is_told_which_is_missing err_has "'nobody'"
check a_missing_one_is_a_no has_status 1

chmod 755 "$sandboxes"
run sbx-ctl list
check a_registry_that_others_can_read_is_refused has_status 125
check how_to_close_it_is_said err_has 0700
chmod 700 "$sandboxes"
finish
