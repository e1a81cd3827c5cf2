#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1

cat >good.yaml <<'END'
version: 1
capabilities:
  - { name: a, match: { syscall: fs.read, path: /srv }, action: allow }
END
cat >bad.yaml <<'END'
version: 1
capabilities:
  - { name: a, match: { sycall: fs.read, path: /srv }, action: allow }
  - { name: b, match: { syscall: fs.wirte, path: /srv }, action: alow }
END

run sbx-policy check good.yaml
check a_good_policy_ends_with_0 has_status 0
check a_good_policy_says_nothing test -z "$out$err"
run sbx-policy check -v good.yaml
check verbose_counts_the_findings err_is '1 file: 0 errors, 0 refused, 0 warnings'

run sbx-policy check bad.yaml good.yaml
check mistakes_end_with_2 has_status 2
check the_first_mistake_has_its_place out_has 'bad.yaml:3:25: error E00'
check the_first_mistake_has_a_suggestion out_has "did you mean 'syscall'?"
check a_later_mistake_is_found_in_the_same_run out_has "did you mean 'fs.write'?"
check one_more_in_the_same_rule_as_well out_has "did you mean 'allow'?"
run sbx-policy check -q bad.yaml
check quiet_still_shows_errors out_has 'error E00'

run sbx-policy check --json bad.yaml
check every_line_of_json_is_an_object python3 -c 'import json,sys
for line in open(sys.argv[1]):
    finding = json.loads(line)
    assert finding["file"] == "bad.yaml" and finding["line"] > 0 and finding["column"] > 0
    assert finding["code"] == "E00" and finding["level"] == "error"
    assert finding["what"] and finding["fix"] and "bad.yaml" not in finding["what"]' "$work/out"

run sbx-policy check nowhere.yaml bad.yaml
check a_missing_file_does_not_hide_the_next_one out_has 'bad.yaml:3:25'
check a_missing_file_is_an_error out_has "nowhere.yaml: error E00"
{ printf '\357\273\277' && cat good.yaml; } >FILE
run sbx-policy check FILE
check a_byte_order_mark_has_a_fix_that_can_be_typed sh -c "$(echo "$out" | sed -n 's/.* or: //p') && sbx-policy check NEW-FILE"
echo 'net: {loopback: {connect: [80], bind: [80]}}' >ports.yaml
run sbx-policy check ports.yaml
check a_finding_ends_with_its_words out_has "'net.loopback.bind[0]' is also in 'net.loopback.connect'
"

printf 'version: 1\ndenySyscalls: [ptrace, moutn]\n' >calls.yaml
run sbx-policy check calls.yaml
check an_unknown_system_call_ends_with_2 has_status 2
check it_has_its_place out_has "calls.yaml:2:24: error E00: unknown system call 'moutn'"
check the_call_that_was_meant_is_named out_has "did you mean 'mount'?"
run sbx-spawn --policy calls.yaml --print-plan -- true
check sbx_spawn_refuses_it_at_the_same_place err_has "calls.yaml:2:24: unknown system call 'moutn'"

sbx-policy check - <good.yaml
check standard_input_is_a_file test $? -eq 0
finish
