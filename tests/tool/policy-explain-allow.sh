#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1

cat >p.yaml <<'END'
version: 1
capabilities:
  - { name: src, match: { syscall: fs.write, path_glob: src/** }, action: allow, constraints: { require_sandbox: L2 } }
  - { name: all, match: { syscall: fs.write }, action: allow }
  - { name: odd, match: { syscall: fs.write, path_glob: src/odd }, action: warn, reason: odd }
END

run sbx-policy explain p.yaml fs.write src/a project=/srv/p sandbox=L2
check an_allowed_request_ends_with_0 has_status 0
check all_rules_that_allow_it_are_shown out_has "allow rule 'src' (p.yaml:3) applies and decides"
check the_second_one_as_well out_has "allow rule 'all' (p.yaml:4) applies and decides"
check the_constraint_is_shown out_has 'but: only in a sandbox of level L2'
run sbx-policy explain p.yaml fs.write src/odd project=/srv/p sandbox=L2
check a_rule_that_lost_is_shown_as_well out_has "allow rule 'all' (p.yaml:4) applies, but something more severe decides"
run sbx-policy explain p.yaml exec /bin/true
check nothing_near_is_said_to_be_nothing out_has 'no rule is similar'
finish
