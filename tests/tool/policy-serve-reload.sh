#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/serve.sh"

cp a p.yaml
serve p.yaml
cp b p.yaml
check writing_the_file_changes_nothing answers allow "$src"
run ask '{"do":"reload"}'
check a_requested_reload_reports_its_result out_has '"changed":true'
check then_the_new_policy_is_in_force answers allow "$doc"

cp a p.yaml
kill -HUP "$(cat pid)"
tries=0
until answers allow "$src" || [ $((tries += 1)) -gt 2000 ]; do :; done
check a_signal_reloads answers allow "$src"

echo 'capabilities: nonsense' >p.yaml
run ask '{"do":"reload"}'
check a_broken_policy_is_refused_with_its_place out_has 'p.yaml:1:'
check the_old_one_stays_in_force answers allow "$src"
check the_refusal_is_recorded test "$(records policy_error)" -eq 1
run ask '{"do":"status"}'
check the_status_says_that_it_is_stale out_has '"problem":"'
rm p.yaml
run ask '{"do":"reload"}'
check a_policy_that_is_gone_is_refused out_has '"ok":false'
check the_old_one_still_stays answers allow "$src"
check every_member_of_its_records_is_documented documented records policy_update policy_error
finish
