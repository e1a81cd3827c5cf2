#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

run sbx-config --jsn list
check a_mistyped_option_ends_with_2 has_status 2
check a_mistyped_option_names_the_one_that_was_meant err_has "did you mean '--json'?"
run sbx-config lst
check a_mistyped_verb_ends_with_2 has_status 2
check a_mistyped_verb_names_the_one_that_was_meant err_has "did you mean 'sbx-config list'?"
run sbx-config
check no_verb_ends_with_2 has_status 2
check the_error_without_a_verb_shows_the_fix err_has "fix: write 'sbx-config list'"
run sbx-config set color
check a_missing_word_ends_with_2 has_status 2
check the_error_about_a_missing_word_shows_the_fix err_has 'fix: write: sbx-config set KEY VALUE'
run sbx-config get colour
check an_unknown_key_names_the_one_that_was_meant err_has "color"
run sbx-config --where=project set color never
check a_verbs_option_before_the_verb_ends_with_2 has_status 2
check a_verbs_option_before_the_verb_is_told_its_place err_has "fix: write it after 'set'"
run sbx-config -- set --where=project x
check two_dashes_before_the_verb_end_its_options_too err_has "unknown key '--where=project'"
run sbx-config set --help
check help_behind_a_verb_is_about_that_verb out_has 'sbx-config [OPTION...] set KEY VALUE'
finish
