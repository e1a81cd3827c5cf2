#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/serve.sh"

n_trials=20
[ "${TEST_SLOW:-}" = 1 ] && n_trials=200

# Long policies, so that a reload takes some time.
for policy in a b; do
	seq 500 | while read -r i; do rule "r$i" "/srv/x$i/**" allow; done >>$policy
done
cp a p.yaml
run seqpacket kill-reload "$work/p.yaml" a b "$n_trials" \
	sbx-policy serve --socket "$work/s" --record=none --audit-fd 9 "$work/p.yaml" 9>>records
check killed_during_a_reload_one_of_the_policies_is_in_force has_status 0
check it_was_not_always_the_same out_has '2 of 2'
finish
