#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1

cat >system.yaml <<'END'
version: 1
capabilities:
  - { name: no-ssh, match: { syscall: fs.read, path: /home/me/.ssh }, action: deny }
END
cat >user.yaml <<'END'
version: 1
capabilities:
  - { name: home, match: { syscall: fs.read, path: /home/me }, action: allow }
END
cat >project.yaml <<'END'
version: 1
capabilities:
  - { name: more, match: { syscall: fs.read, path: /etc }, action: allow }
  - { name: less, match: { syscall: fs.read, path: /home/me/mail }, action: deny }
END

run sbx-policy eval user.yaml fs.read /home/me/.ssh/id
check alone_the_file_allows_it has_status 0
run sbx-policy eval -l system.yaml user.yaml fs.read /home/me/.ssh/id
check a_layer_above_denies_it has_status 1
check the_layer_is_named out_has 'system.yaml:3'
run sbx-policy eval --project-file project.yaml user.yaml fs.read /etc/passwd
check a_projects_file_cannot_allow_more has_status 1
check the_fix_goes_into_a_file_that_can out_has 'fix: add to user.yaml'
run sbx-policy eval --project-file project.yaml user.yaml fs.read /home/me/mail/1
check a_projects_file_can_deny has_status 1
run sbx-policy eval --project-file project.yaml user.yaml fs.read /home/me/a
check an_operation_that_neither_file_denies_stays_allowed has_status 0
run sbx-policy eval -l nowhere.yaml user.yaml fs.read /home/me/a
check a_missing_layer_is_no_empty_layer has_status 2
finish
