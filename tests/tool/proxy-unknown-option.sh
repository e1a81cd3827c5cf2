#!/bin/sh
# SPDX-License-Identifier: MIT
. "$SBX_SOURCE/tests/tool/tap.sh"

run sbx-proxy --polcy p.yaml
check an_unknown_option_ends_with_2 has_status 2
check names_the_option_that_was_meant err_has "did you mean '--policy'?"
run sbx-proxy srve
check an_unknown_verb_ends_with_2 has_status 2
check names_the_verb_that_was_meant err_has "did you mean 'sbx-proxy serve'?"
finish
