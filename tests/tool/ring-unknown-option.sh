#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

run sbx-ring send --transprot tcp
check an_unknown_option_ends_with_2 has_status 2
check names_the_option_that_was_meant err_has "did you mean '--transport'?"
run sbx-ring crate x
check an_unknown_verb_ends_with_2 has_status 2
check names_the_verb_that_was_meant err_has "did you mean 'sbx-ring create'?"
run sbx-ring
check no_verb_ends_with_2 has_status 2
check suggests_one err_has "write 'sbx-ring ls'"
finish
