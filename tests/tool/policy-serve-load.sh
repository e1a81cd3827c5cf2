#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/serve.sh"

n_swaps=20
[ "${TEST_SLOW:-}" = 1 ] && n_swaps=200

cp a p.yaml
serve --record=none p.yaml
run seqpacket load s 64 10000
check ten_thousand_requests_over_64_connections_are_all_answered_in_order test "$status" -eq 0 -a "${out:-0}" -ge 10000
run seqpacket swap s 16 "$work/p.yaml" a b "$n_swaps"
check each_answer_under_reloads_is_of_one_policy_whole has_status 0
check the_renames_were_seen test "$(records policy_update)" -ge "$n_swaps"
run ask '{"do":"status"}'
check no_reload_failed out_has '"failed_reloads":0'
finish
