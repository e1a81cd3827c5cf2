#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1

cat >p.yaml <<'END'
version: 1
capabilities:
  - { name: a, match: { syscall: fs.read, path: /a }, action: allow }
  - { name: d, match: { syscall: fs.read, path: /d }, action: deny }
  - { name: r, match: { syscall: fs.read, path: /r }, action: require_review }
END
ask() {
	status=0
	for path in "$@"; do
		case $path in
		bad) echo bad ;;
		none) echo '{"op":"fs.read"}' ;;
		*) echo "{\"op\":\"fs.read\",\"path\":\"/$path\"}" ;;
		esac
	done | sbx-policy eval p.yaml >"$work/out" || status=$?
	out=$(cat "$work/out") err=
}
ask a a
check all_allowed_is_0 has_status 0
ask a r a
check a_review_among_allowed_is_3 has_status 3
ask r d r
check a_denial_among_reviews_is_1 has_status 1
ask d r
check the_order_does_not_matter has_status 1
ask a bad d
check malformed_input_is_the_worst has_status 2
ask a none d
check a_request_that_cannot_be_judged_is_malformed_too has_status 2
check and_it_is_denied out_has '"verdict":"deny","cause":"bad_request"'
finish
