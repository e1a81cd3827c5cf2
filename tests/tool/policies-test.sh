#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$SBX_SOURCE/tests/policy" || exit 1
for requests in *.yaml; do
	stem=$(basename "$requests" .yaml)
	policy=$SBX_SOURCE/policies/$requests

	run sbx-policy test "$policy"
	check "${stem}_agrees_with_its_examples" has_status 0
	check "${stem}_has_examples" test "$(grep -c '^ok ' "$work/out")" -ge 2

	run sbx-policy test --coverage 100 "$requests"
	check "${stem}_answers_as_expected_by_every_rule" has_status 0
	check "${stem}_answers_at_least_five_requests" test "$(grep -c '^    request: ' "$requests")" -ge 5
done

# The same requests must fail with another policy.
mkdir -p "$work/policies" "$work/tests/policy"
cp python.yaml "$work/tests/policy"
sed 's,./secrets\],./tokens],; s/, fs.read secrets.token//; s,/tmp},/var/tmp},; s,/tmp/,/var/tmp/,g' \
	"$SBX_SOURCE/policies/python.yaml" >"$work/policies/python.yaml"
run sbx-policy test "$work/tests/policy/python.yaml"
check a_policy_that_changed_its_meaning_fails has_status 1
check the_test_that_failed_is_named out_has 'not ok 10 - a_temporary_file_is_written'
finish
