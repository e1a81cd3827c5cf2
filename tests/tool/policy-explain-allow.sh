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
cat >p.yaml <<'END'
version: 1
capabilities:
  - { name: s, match: { op: [fs.read, fs.list, fs.exists], path_glob: [secrets/**, /.*/**] }, action: allow }
END
for path in secrets secrets/a; do
	run sbx-policy explain p.yaml fs.list $path
	check "a_rule_applies_to_$path" out_has "allow rule 's' (p.yaml:3) applies and decides"
	check "and_is_not_said_not_to_apply_to_$path" sh -c '! grep -q "does not apply" "$1"' - "$work/out"
done
run sbx-policy explain p.yaml fs.list x/secrets
check a_rule_that_does_not_apply_is_shown_once test "$(grep -c "rule 's' (p.yaml:3) does not apply" "$work/out")" = 1
run sbx-policy compile p.yaml -o p.bin
check it_can_be_compiled has_status 0
for policy in p.yaml p.bin; do
	run sbx-policy eval $policy fs.exists x/secrets
	check "the_name_elsewhere_is_denied_by_$policy" has_status 1
	run sbx-policy eval $policy fs.list /.config
	check "a_directory_of_the_pattern_is_listed_by_$policy" has_status 0
done

cat >p.yaml <<'END'
net: {mode: none}
capabilities:
  - { name: all, match: { op: '*' }, action: allow }
END
run sbx-policy explain p.yaml fs.read /usr/a
check the_network_mode_takes_nothing_from_a_rule_about_files out_has 'in a sandbox: enforced by mounts and Landlock'
run sbx-policy explain p.yaml net.connect a.example:443
check it_takes_the_network out_has 'in a sandbox: narrowed: net.mode is none'
finish
