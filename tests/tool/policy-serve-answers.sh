#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/serve.sh"

cp a p.yaml
serve --sandbox=box1="$work/box1" --fact=box1:project=/srv/p p.yaml
check allows_a_request_that_a_rule_allows answers allow "$src"
check denies_a_request_that_no_rule_allows answers deny "$doc"
check the_answer_is_that_of_eval test "$(ask "$src")" = "$(echo "$src" | sbx-policy eval p.yaml)"
check a_denial_is_recorded test "$(records policy_decision)" -ge 1

run ask '{"id":"x","op":"fs.write","path":"/srv/p/src/a","sandbox_id":"box2","tags":["t"]}' "$work/box1"
check the_socket_of_a_sandbox_names_it out_has '"sandbox_id":"box1"'
check claims_about_itself_are_dropped test "${out#*tags}" = "$out"
check facts_about_it_count out_has '"project":"/srv/p"'
check a_sandbox_controls_nothing answers deny '{"do":"status"}' "$work/box1"

run ask '{"do":"status"}'
check the_service_says_how_it_is out_has '"files":["p.yaml"]'
run sbx-policy serve --socket "$work/s" --audit-fd 9 p.yaml 9>>records
check a_second_one_on_the_socket_is_refused err_has 'another process listens there'

check sigterm_ends_it stop
check its_socket_is_gone test ! -e s
serve p.yaml
check kill_leaves_a_socket_that_the_next_one_replaces stop KILL
serve p.yaml
check the_next_one_answers answers allow "$src"
finish
