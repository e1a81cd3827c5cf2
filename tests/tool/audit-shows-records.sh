#!/bin/bash
# SPDX-License-Identifier: MIT
# How query, show and stats present the parts of a record about a command.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

setup
sbx-audit append -q -l "$log" <"$SBX_SOURCE/tests/golden/records.jsonl"
line_of() { sbx-audit query -l "$log" -u 2026-02-01 | sed -n "$1s/^[^ ]* *[0-9]* //p"; }
line_is() { [ "$(line_of "$1")" = "$2" ]; }

check a_start_is_shown_with_its_command line_is 1 "sandbox_created sandbox=j1 command=make -j4 'a b' 'it'\\''s'"
check an_end_is_shown_with_its_status_and_duration line_is 2 'sandbox_destroyed sandbox=j1 status=3 reason=exit duration=2.4s'
check a_limit_is_shown_as_the_reason line_is 3 'sandbox_failed sandbox=j2 status=137 reason=time duration=1m13s'
check a_refused_start_has_no_duration line_is 4 'sandbox_failed sandbox=j3 reason=refused command=true'
check a_command_cannot_paint_the_terminal line_is 5 "sandbox_created sandbox=j4 command=\$'\\033[31m'"
check other_records_are_shown_as_before line_is 6 'policy_decision op=fs.read decision=deny rule=no-secrets'

run sbx-audit show 1 -l "$log"
check show_finds_the_record has_status 0
check its_number_comes_first test "${out%%$'\n'*}" = 'record         1'
check its_command_is_one_line out_has "argv           make -j4 'a b' 'it'\\''s'"
check members_of_a_member_are_indented out_has $'\nwriter\n  uid  '
check its_hash_is_there out_has $'\nhash           '
run sbx-audit show 5 -l "$log"
check show_cannot_paint_the_terminal_either out_has "\$'\\033[31m'"
run sbx-audit show --json 1 -l "$log"
check as_json_it_is_the_record_itself test "$(printf '%s' "$out" | python3 -c 'import json, sys
print(json.load(sys.stdin)["argv"])')" = "['make', '-j4', 'a b', \"it's\"]"
run sbx-audit show 99 -l "$log"
check a_record_that_is_not_there_is_not_found has_status 1
check how_many_there_are_is_said err_has 'why: the log has records 0 to 7'
check then_nothing_is_shown out_is ''
run sbx-audit show -- -1 -l "$log"
check a_number_below_zero_is_wrong_usage has_status 2
run sbx-audit show first -l "$log"
check a_word_is_not_a_number has_status 2

# A deeply nested value, and one of every type.
printf '{"event":"kernel_start","time":"2026-03-01T00:00:00Z","deep":[[{"a":[1,{"b":null}]}],[],{}],"no":{},"none":[],"f":1.5e3,"t":true}\n' |
	sbx-audit append -q -l "$log"
run sbx-audit show 8 -l "$log"
check every_value_is_shown test "$(printf '%s\n' "$out" | sed -n '/^deep/,/^t /p')" = 'deep
  -
    -
      a
        - 1
        -
          b  null
  - []
  - {}
no      {}
none    []
f       1.5e3
t       true'

# A text of a record cannot look like further fields; an ordinary one is not quoted.
texts=$work/texts
sbx-audit setup -l "$texts" >/dev/null
append_lines() { printf '%s\n' "$@" | sbx-audit append -q -l "$texts"; }
fields() { # RULE: a record with this rule, JSON, and what is shown of it
	append_lines '{"event":"kernel_start","time":"2026-03-01T00:00:01Z","rule":'"$1"'}'
	sbx-audit tail -n 1 -l "$texts" | sed 's/.* kernel_start //'
}
check a_text_with_spaces_is_quoted test "$(fields '"a caller=root"')" = "rule='a caller=root'"
check a_quote_is_quoted test "$(fields '"it'"'"'s"')" = "rule='it'\\''s'"
check an_empty_text_is_quoted test "$(fields '""')" = "rule=''"
check a_control_character_is_too test "$(fields '"a\u001b[m"')" = "rule=\$'a\\033[m'"
check a_rule_of_a_section_is_not test "$(fields '"fs.rules[0]"')" = 'rule=fs.rules[0]'
check an_equals_sign_is_not test "$(fields '"a=b"')" = 'rule=a=b'
check a_letter_is_not test "$(fields '"gr\u00fcn"')" = 'rule=grün'
append_lines '{"event":"sandbox_failed","time":"2026-03-01T00:00:02Z","sandbox_id":"x","reason":"time command=x"}' \
	'{"event":"proxy_connection","time":"2026-03-01T00:00:03Z","host":"a port=1","port":443,"address":"192.0.2.1","rule":"r","usec":1}'
run sbx-audit tail -n 2 -l "$texts"
check a_reason_is_quoted out_has "sandbox=x reason='time command=x'"
check a_host_is_quoted_with_its_port out_has "host='a port=1:443'"

# Connections, and decisions about them, are shown with their host.
printf '%s\n' '{"event":"proxy_connection","time":"2026-03-02T00:00:00Z","host":"a.example","port":443,"address":"192.0.2.1","rule":"web (p.yaml:3)","usec":31820}' \
	'{"event":"policy_decision","time":"2026-03-03T00:00:00Z","verdict":"deny","op":"net.connect","input":{"op":"net.connect","host":"2001:db8::1","port":80},"policy":"00"}' |
	sbx-audit append -q -l "$log"
shown() { sbx-audit query -l "$log" "$@" | sed -n '$s/^[^ ]* *[0-9]* //p'; }
check a_connection_is_shown_with_its_host test "$(shown -e proxy_connection)" = \
	"proxy_connection rule='web (p.yaml:3)' host=a.example:443 duration=31ms"
check a_decision_is_shown_with_its_host test "$(shown -o net.connect)" = \
	'policy_decision op=net.connect decision=deny host=[2001:db8::1]:80'

stats() { printf '%s\n' "$out" | sed -n "s/^$1  *//p"; }
run sbx-audit stats -l "$log"
check stats_counts_failures test "$(stats failures)" = 3
check for_each_reason test "$(stats time)-$(stats refused)-$(stats 'exit status not 0')" = 1-1-1
check events_are_counted test "$(stats sandbox_failed)" = 2
check the_size_is_said test "$(stats size | sed 's/^[0-9]*KiB//')" = ' in 1 segment'
check a_log_in_another_place_has_no_state test "$(stats verified)" = 'not known (verify --log keeps no state)'
run sbx-audit stats --json -l "$log"
check as_json_there_is_the_same test "$(printf '%s' "$out" | python3 -c 'import json, sys
stats = json.load(sys.stdin)
print(stats["failures"], stats["verified"], stats["segments"], stats["bytes"] > 10000)')" = \
	"{'exit status not 0': 1, 'time': 1, 'refused': 1} None 1 True"

# More reasons than fit in the line.
for ((i = 0; i < 40; i++)); do
	printf '{"event":"sandbox_failed","sandbox_id":"r%d","time":"2026-03-01T00:00:00Z","reason":"r%d"}\n' "$i" "$i"
done | sbx-audit append -q -l "$log"
run sbx-audit stats -l "$log"
check no_failure_is_left_out test "$(stats failures)" = 43
check rare_reasons_are_counted_as_others test "$(stats 'other reasons')" = 12
finish
