#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/serve.sh"

token() { sbx-policy token --socket "$work/s" "$@"; }

{ echo capabilities:; rule src '/srv/p/src/**' require_review; } >p.yaml
serve p.yaml
run token issue fs.write --pid $$ --glob '/srv/p/src/**' --uses 3 --ttl 1m
check issue_prints_the_token_alone test "${#out}" -eq 32
t=$out
run token check "$t" fs.write /srv/p/src/a --pid $$
check check_says_that_it_is_valid out_is valid
run token check "$t" fs.write /srv/p/doc/a --pid $$
check check_names_the_mismatch out_is wrong_argument
check and_ends_with_1 has_status 1
run token check "$t" fs.write /srv/p/src/a --pid 1
check a_token_is_of_one_process out_is wrong_process

run token list
check list_shows_it_with_its_limits out_has "$t fs.write /srv/p/src/** pid $$, 0 of 3 used"
run token --json list
check list_as_json out_has "\"token\":\"$t\",\"nonce\":1"

run token issue fs.write --pid $$ --glob /srv/p/src/a --from "$t"
child=$out
run token check "$child" fs.write /srv/p/src/b --pid $$
check a_narrower_token_does_less out_is wrong_argument
run token issue fs.write --pid $$ --uses 5
broad=$out
run token issue fs.write --pid $$ --from "$broad"
check a_child_can_be_made_with_the_defaults has_status 0
sbx-policy token --socket "$work/s" revoke "$broad"
run token issue fs.write --pid 1 --glob /srv/p/src/a --from "$t"
check a_child_is_of_its_parents_process err_has 'another process than its parent'
run token issue fs.write --pid $$ --glob '/srv/p/**' --from "$t"
check a_wider_one_is_refused err_has "not within its parent's"
check and_that_ends_with_1 has_status 1

run token revoke "$t"
check revoke_ends_with_0 has_status 0
run token check "$child" fs.write /srv/p/src/a --pid $$
check its_child_ends_with_it out_is unknown
run token revoke "$t"
check it_cannot_be_revoked_twice has_status 1
run token list
check then_there_is_none out_is ''
check issue_and_end_are_recorded test "$(records capability_issued)" -eq 4 -a "$(records capability_expired)" -eq 4
check no_record_holds_a_token sh -c "! grep -q $t records"
check every_member_of_its_records_is_documented documented records capability_issued capability_expired
finish
