#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1

run sbx-policy check --strikt p.yaml
check a_mistyped_option_ends_with_2 has_status 2
check a_mistyped_option_names_the_one_that_was_meant err_has "did you mean '--strict'?"
run sbx-policy chekc p.yaml
check a_mistyped_verb_ends_with_2 has_status 2
check a_mistyped_verb_names_the_one_that_was_meant err_has "did you mean 'sbx-policy check'?"
run sbx-policy
check no_verb_ends_with_2 has_status 2
run sbx-policy eval
check the_error_about_a_missing_file_shows_the_fix err_has 'fix: write: sbx-policy eval FILE'
run sbx-policy diff one.yaml
check one_file_is_too_few_for_diff has_status 2
run sbx-policy print one.yaml two.yaml
check two_files_are_too_many_for_print has_status 2
finish
