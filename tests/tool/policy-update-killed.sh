#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/serve.sh"

n_trials=20
[ "${TEST_SLOW:-}" = 1 ] && n_trials=200

for policy in a b; do
	seq 300 | while read -r i; do rule "r$i" "/srv/x$i/**" allow; done >>$policy
done
cp a p.yaml
run seqpacket kill-update "$work/p.yaml" a b "$n_trials" \
	sbx-policy update "$work/p.yaml" --from b --yes --expect-digest "$(sha256sum b | cut -c1-64)" --audit-fd 9 9>>records
check killed_anywhere_one_of_the_policies_is_there_whole has_status 0
check no_temporary_file_hides_the_next_one sh -c 'cp a p.yaml && sbx-policy check -q p.yaml'
finish
