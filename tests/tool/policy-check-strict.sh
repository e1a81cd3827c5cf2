#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1

cat >p.yaml <<'END'
version: 1
capabilities:
  - { name: a, match: { syscall: fs.read, path_glob: [] }, action: allow }
END

run sbx-policy check p.yaml
check a_warning_ends_with_0 has_status 0
check a_warning_has_place_and_code out_has 'p.yaml:3:43: warning W01: '
check a_warning_says_why out_has '  why: '
run sbx-policy check --strict p.yaml
check strict_ends_with_2 has_status 2
check strict_calls_it_an_error out_has ': error W01: '
run sbx-policy check -q p.yaml
check quiet_hides_warnings test -z "$out"
run sbx-policy check --json p.yaml
check json_has_the_code out_has '"code":"W01","level":"warn"'
finish
