#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1

mkdir sub
cat >sub/p.yaml <<'END'
version: 1
capabilities:
  - { name: src, match: { syscall: fs.write, path_glob: src/** }, action: allow, examples: { match: fs.write src/a } }
  - { name: ci, match: { syscall: fs.write, path_glob: .ci/** }, action: deny }
END
cat >sub/good.yaml <<'END'
policy: p.yaml
project: /srv/p
tests:
  - { name: one, request: fs.write src/a.c, expect: allow, rules: [src] }
  - { name: two, request: { op: fs.write, path: /srv/p/doc/a }, expect: deny, rules: [] }
END
cat >sub/bad.yaml <<'END'
policy: p.yaml
project: /srv/p
tests:
  - { name: wrong verdict, request: fs.write src/a.c, expect: deny }
  - { name: wrong rule, request: fs.write src/a.c, expect: allow, rules: [ci] }
  - { name: right, request: fs.write .ci/a.c, expect: deny }
END

run sbx-policy test sub/good.yaml
check all_good_ends_with_0 has_status 0
check the_output_is_tap out_has 'ok 2 - two
1..2'
check a_rule_that_was_not_tried_is_named out_has "# sub/p.yaml:4: rule 'ci' never determined an answer"
check the_coverage_is_counted out_has '# sub/p.yaml: 1 of 2 rules determined an answer'
run sbx-policy test --coverage=100 sub/good.yaml
check too_little_coverage_ends_with_1 has_status 1
run sbx-policy test --json --coverage=100 sub/good.yaml
check too_little_coverage_in_json_ends_with_1 has_status 1
check json_has_the_rules_without_an_answer out_has '{"coverage":"sub/p.yaml","rules":2,"determined":1,"enough":false,"missed":[{"name":"ci","file":"sub/p.yaml","line":4}]}'
run sbx-policy test --coverage=101 sub/good.yaml
check more_than_all_rules_is_wrong_usage has_status 2
run sbx-policy test --coverage=100 sub/good.yaml sub/bad.yaml
check files_of_one_policy_are_counted_together out_has '2 of 2 rules'

run sbx-policy test sub/bad.yaml
check a_failed_test_ends_with_1 has_status 1
check a_wrong_verdict_is_shown out_has '# expected deny, got allow'
check a_wrong_rule_is_shown out_has '# other rules decided'
check a_failed_test_has_its_place out_has '# sub/bad.yaml:4'
check the_right_one_passes out_has 'ok 3 - right'
cat >sub/todo.yaml <<'END'
policy: p.yaml
project: /srv/p
tests:
  - { name: 'broken # SKIP later \ x', request: fs.write src/a.c, expect: deny }
END
run sbx-policy test sub/todo.yaml
check a_name_is_no_directive_of_tap out_has 'not ok 1 - broken \# SKIP later \\ x'
cat >sub/nameless.yaml <<'END'
policy: p.yaml
project: /srv/p
tests:
  - { request: fs.write src/a.c, expect: allow }
  - { request: { op: fs.write, path: /srv/p/doc/a }, expect: deny }
  - { request: git.commit caller=bot, expect: allow }
END
run sbx-policy test sub/nameless.yaml
check a_test_without_a_name_is_called_after_its_request out_has 'ok 1 - fs.write src/a.c
ok 2 - fs.write /srv/p/doc/a
not ok 3 - git.commit caller=bot'
sed 's/request: fs.write/name: [x], request: fs.write/' sub/nameless.yaml >sub/list.yaml
run sbx-policy test sub/list.yaml
check a_name_that_is_no_text_is_refused eval "has_status 2 && err_has \"'name' is missing or of another kind\""
run sbx-policy test --json sub/bad.yaml
check json_has_one_object_a_test test "$(grep -c '"ok":' "$work/out")" -eq 3

run sbx-policy test sub/p.yaml
check examples_of_a_policy_are_tests out_has "ok 1 - rule 'src' applies to 'fs.write src/a'"

sed 's/expect: allow/expect: alow/' sub/good.yaml >sub/broken.yaml
run sbx-policy test sub/broken.yaml
check a_malformed_file_ends_with_2 has_status 2
check a_malformed_file_has_its_place err_has 'sub/broken.yaml:4:'
# A request that is denied whatever the rules say does not test them.
for request in 'fs.wirte doc/a' fs.write '{ op: fs.wirte, path: /srv/p/doc/a }' net.connect; do
	printf '%s\n' 'policy: p.yaml' 'project: /srv/p' 'tests:' "  - { name: typo, request: $request, expect: deny }" >sub/typo.yaml
	run sbx-policy test sub/typo.yaml
	check "it_is_refused: $request" eval 'has_status 2 && err_has "sub/typo.yaml:4:"'
done
sed 's/p.yaml/nowhere.yaml/' sub/good.yaml >sub/lost.yaml
run sbx-policy test sub/lost.yaml
check a_missing_policy_ends_with_2 has_status 2
sed 's/name: one/name: one, reqest: x/' sub/good.yaml >sub/typo.yaml
run sbx-policy test sub/typo.yaml
check a_mistyped_key_is_named err_has "did you mean 'request'?"
finish
