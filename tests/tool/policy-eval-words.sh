#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1

mkdir -p project/src
cd project || exit 1
cat >p.yaml <<'END'
version: 1
capabilities:
  - { name: src, match: { syscall: fs.write, path_glob: src/** }, action: allow }
  - { name: ci, match: { syscall: fs.write, path_glob: .ci/** }, action: deny }
  - { name: top, match: { syscall: fs.write, path_glob: ./package.json }, action: require_review }
  - { name: log, match: { syscall: fs.write, path_glob: log/** }, action: warn }
  - { name: web, match: { syscall: net.connect, host: example.com, ports: 443 }, action: allow }
END

run sbx-policy eval - fs.write src/a.c <p.yaml
check a_policy_can_come_through_standard_input has_status 0
for words in 'eval -' 'check - -' 'diff - -' 'merge - p.yaml -' 'test - -' 'eval - --layer - fs.write src/a.c' \
	'explain - --project-file - fs.write src/a.c' 'diff - p.yaml --replay -' 'update q.yaml --from - --replay -'; do
	# shellcheck disable=SC2086
	run sbx-policy $words <p.yaml
	check "standard_input_is_read_once: $words" has_status 2
	check "and_it_says_so: $words" err_has 'standard input can be used once'
done
run sbx-policy test - <p.yaml
check a_policy_on_standard_input_is_not_tested_as_nothing has_status 2

run sbx-policy eval p.yaml fs.write src/a.c
check a_relative_path_is_below_the_working_directory has_status 0
run sbx-policy eval p.yaml fs.write "$PWD/src/a.c"
check an_absolute_path_is_the_same has_status 0
run sbx-policy eval p.yaml fs.write src/x/../../src/./a.c
check a_relative_path_is_made_normal has_status 0
run sbx-policy eval p.yaml fs.write src/../doc/a.md
check dots_do_not_lead_around_a_rule has_status 1
run sbx-policy eval p.yaml fs.write ../project/src/a.c
check dots_may_lead_out_and_in_again has_status 0
run sbx-policy eval p.yaml fs.write src/a.c project=/srv/other
check project_moves_the_root out_has "allowed: fs.write '/srv/other/src/a.c'"
run sbx-policy eval p.yaml fs.write src/a.c project=/srv/other/
check a_slash_behind_the_root_does_no_harm out_has "allowed: fs.write '/srv/other/src/a.c'"
run sbx-policy eval p.yaml fs.write /srv/other/src/a.c
check another_project_is_not_ours has_status 1
run sbx-policy eval p.yaml fs.write "$PWD/src/../x"
check an_absolute_path_is_not_repaired out_has 'fix: give the argument as an absolute path'

run sbx-policy eval p.yaml fs.write .ci/x
check deny_ends_with_1 has_status 1
check deny_names_rule_and_line out_has "why: rule 'ci' (p.yaml:4) denies it"
run sbx-policy eval p.yaml fs.write package.json
check review_ends_with_3 has_status 3
run sbx-policy eval p.yaml fs.write log/a
check warn_ends_with_0 has_status 0
check warn_says_so out_has 'allowed, with a warning'
run sbx-policy eval p.yaml net.connect example.com:443
check a_host_with_its_port_is_allowed has_status 0
run sbx-policy eval p.yaml net.connect example.com:80
check another_port_is_not has_status 1
run sbx-policy eval p.yaml fs.wirte src/a.c
check an_unknown_operation_is_denied out_has 'denied: fs.wirte'
check an_unknown_operation_is_bad_input has_status 2
check an_unknown_operation_names_the_one_that_was_meant out_has "did you mean 'fs.write'?"
for words in 'fs.read' 'exec' 'net.connect' 'fs.wirte src/a.c' '--json fs.read' '--quiet fs.read'; do
	# shellcheck disable=SC2086
	run sbx-policy eval p.yaml $words
	check "a_request_that_cannot_be_judged_is_bad_input: eval $words" has_status 2
	# shellcheck disable=SC2086
	run sbx-policy explain p.yaml $words
	check "a_request_that_cannot_be_judged_is_bad_input: explain $words" has_status 2
done
run sbx-policy eval -q p.yaml fs.write .ci/x
check quiet_answers_by_status_alone test "$status$out" = 1
run sbx-policy eval p.yaml fs.write p.yaml
check the_policy_itself_cannot_be_written out_has 'built-in rule'

# The implicit view shows both /usr and /: one rule of that name is enough, and the file has no line for it.
printf 'version: 1\nfs: {rules: [{path: /srv/data, action: allow}]}\n' >view.yaml
run sbx-policy eval view.yaml fs.read /usr/bin/env
check the_implicit_view_is_told_once test "$(grep -c "rule 'the implicit view' (view.yaml) allows it" "$work/out")" = 1
check it_is_told_without_a_line eval '! out_has view.yaml:'
finish
