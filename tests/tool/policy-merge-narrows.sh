#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1

cat >system.yaml <<'END'
version: 1
capabilities:
  - { name: no-ssh, match: { syscall: fs.read, path: /home/me/.ssh }, action: deny }
limits: { memory: 1GiB }
END
cat >user.yaml <<'END'
version: 1
capabilities:
  - { name: home, match: { syscall: fs.read, path: /home/me }, action: allow }
limits: { memory: 512MiB }
END
sed 's/512MiB/2GiB/' user.yaml >greedy.yaml

run sbx-policy merge system.yaml user.yaml
check two_files_become_one has_status 0
check the_origins_are_named out_has '# from system.yaml, sha256 '
cp "$work/out" merged.yaml
run sbx-policy check merged.yaml
check the_merged_policy_can_be_loaded has_status 0
run sbx-policy eval merged.yaml fs.read /home/me/.ssh/id
check the_denial_of_one_holds has_status 1
run sbx-policy eval merged.yaml fs.read /home/me/a
check the_permission_of_the_other_holds has_status 0
check the_narrower_limit_holds grep -q 512MiB merged.yaml

run sbx-policy merge system.yaml greedy.yaml
check a_file_that_widens_a_limit_is_refused has_status 2
check both_places_are_named err_has greedy.yaml
check nothing_is_printed_then test -z "$out"

cat >project.yaml <<'END'
version: 1
capabilities:
  - { name: own, match: { syscall: fs.read, path: /home/me/p }, action: allow }
END
for verb in merge print; do
	run sbx-policy "$verb" user.yaml --project-file project.yaml
	check "a_narrowing_file_cannot_be_merged_into_one_file: $verb" has_status 2
	check "its_rule_is_named: $verb" err_has "project.yaml:3:5: rule 'own'"
	check "the_refusal_shows_the_fix: $verb" err_has 'eval --project-file=project.yaml'
	check "no_part_of_it_is_printed: $verb" out_is ''
done
sed -i s/allow/deny/ project.yaml
run sbx-policy merge user.yaml --project-file project.yaml
check a_projects_denial_can_be_printed out_has 'name: "own"'
finish
