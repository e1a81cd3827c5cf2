#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

run sbx-ctl logs --folow a
check an_option_of_a_verb_that_was_meant_is_named err_has "did you mean '--follow'?"
check a_wrong_option_is_wrong_usage has_status 2
run sbx-ctl stpo a
check a_verb_that_was_meant_is_named err_has "did you mean 'sbx-ctl stop'?"
run sbx-ctl --force remove a
check an_option_before_its_verb_is_explained err_has "write it after 'remove'"
run sbx-ctl
check without_a_verb_nothing_is_done has_status 2
finish
