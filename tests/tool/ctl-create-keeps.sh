#!/bin/bash
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
fake

run sbx-ctl create -- true
check a_name_is_made_up test "${#out}" -eq 16
check the_made_up_name_is_there state_is "$out" CREATING
run sbx-ctl create --json --id j -- true
check the_name_is_told_as_json out_is '{"id":"j","state":"CREATING"}'

run sbx-ctl create --read /x --id behind --write /y -- true --id other
check our_option_may_stand_among_the_others out_is behind
check the_others_are_kept_as_they_were test "$(member behind configuration)" = '["--read","/x","--write","/y","--","true","--id","other"]'

mkdir here
(cd here && sbx-ctl create --id where -- pwd >/dev/null)
sbx-ctl start where
sbx-ctl wait where
run sbx-ctl logs where
check it_starts_where_it_was_created out_is "$work/here"

run sbx-ctl create --id exact -- printf '%s|' 'a b' '' $'new\nline' $'\xff\xfe' '"' "'" '$HOME' '*'
sbx-ctl start exact
sbx-ctl wait exact
check every_word_is_kept_byte_for_byte test "$(sbx-ctl logs exact | od -An -tx1)" = "$(printf '%s|' 'a b' '' $'new\nline' $'\xff\xfe' '"' "'" '$HOME' '*' | od -An -tx1)"

run sbx-ctl create --id kept -- sleep 1000
check a_configuration_cannot_be_written test "$(stat -c %a "$sandboxes/kept/configuration")" = 400
run sbx-ctl create --id kept -- other
check a_name_is_taken_once has_status 1
check the_first_configuration_stands test "$(member kept configuration)" = '["--","sleep","1000"]'
check how_to_go_on_is_said err_has 'choose another --id'
check the_directory_is_closed_to_other_users test "$(stat -c %a "$sandboxes/kept")" = 700

echo rules >p.yaml
sbx-ctl create --id known --policy p.yaml -- true >/dev/null
check its_policy_is_known_before_it_starts test "$(member known policy)" = p.yaml
check so_is_whom_it_will_run_as test "$(member known uid)" = 4711
check without_a_policy_there_is_none test "$(member kept policy)" = null

# The caller would never learn the made-up name of a sandbox if create could not print it.
to_a_full_device() { "$@" >/dev/full; }
to_a_closed_pipe() { python3 -c 'import os, subprocess, sys
reader, writer = os.pipe()
os.close(reader)
sys.exit(subprocess.run(sys.argv[1:], stdout=writer).returncode)' "$@"; }
before=$(sbx-ctl list -q)
for where in to_a_full_device to_a_closed_pipe; do
	for how in '' --json; do
		run "$where" sbx-ctl create $how -- true
		check "a_name_that_cannot_be_printed_is_an_error_$where$how" has_status 125
		check "which_says_that_nothing_was_created_$where$how" eval 'err_has "cannot write the output" && err_has "was not created"'
		check "and_no_sandbox_is_left_$where$how" test "$(sbx-ctl list -q)" = "$before"
	done
done

# The caller may have open fds; if the supervisor inherited them, their readers would not get end of file.
sbx-ctl create --id pipe -- sleep 1000 >/dev/null
run timeout 60 bash -c 'sbx-ctl start pipe 5>&1 | cat'
check a_running_sandbox_holds_no_file_of_its_starter has_status 0
finish
