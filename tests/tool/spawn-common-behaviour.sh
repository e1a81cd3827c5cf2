#!/bin/bash
# SPDX-License-Identifier: MIT
# Behaviour that tools/tool.c gives every tool, tested with sbx-spawn.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

run sbx-spawn --help
check help_is_a_success has_status 0
check help_goes_to_stdout err_is ''
help=$out
run sbx-spawn -h
check the_short_form_is_the_same out_is "$help"

run sbx-spawn --version
check the_version_is_one_line test "$(printf '%s\n' "$out" | wc -l)" -eq 1
check the_version_names_the_tool out_has 'sbx-spawn '

run sbx-spawn --completion=tcsh
check an_unknown_shell_is_refused err_has 'it must be one of: bash, zsh, fish'

full() { sbx-spawn --help >/dev/full; }
run full
check a_full_disk_is_an_error has_status 125
check a_full_disk_is_said err_has 'No space left on device'

closed() { sbx-spawn --help >&-; }
run closed
check a_closed_stdout_is_an_error has_status 125

# With a closed stdout the tool exits by SIGPIPE without an error message, like other filters.
unread() { sbx-spawn --help | true; [ "${PIPESTATUS[0]}" -eq 141 ] || [ "${PIPESTATUS[0]}" -eq 0 ]; }
run unread
check a_reader_that_went_away_is_no_error err_is ''

# A pipe whose reader has exited before the tool starts. A parent that ignores SIGPIPE, as Python does, must not
# change that.
mkfifo "$work/pipe"
exec 9<>"$work/pipe" 8>"$work/pipe" 9<&-
ignored() { (trap '' PIPE; exec sbx-spawn --completion=bash >&8); }
run ignored
check an_ignored_sigpipe_ends_it_all_the_same has_status 141
check an_ignored_sigpipe_does_not_matter err_is ''
exec 8>&-

run env -i "$SBX_BUILD/tools/sbx-spawn" --version
check works_in_an_empty_environment has_status 0
finish
