#!/bin/bash
# SPDX-License-Identifier: MIT
# A request with a name and an address of it: host matches the name, cidr the address, and special addresses need a cidr.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/serve.sh"

policy() { # MODE RULE...
	printf 'net: {mode: %s}\ncapabilities:\n' "$1"
	shift
	printf -- '- {name: %s, action: allow}\n' "$@"
}
web='web, match: {op: net.connect, host: a.example, ports: 443}'
lan='lan, match: {op: net.connect, host: a.example, cidr: 10.0.0.0/8}'

policy proxy "$web" >p.yaml
evaluate() { run sbx-policy eval p.yaml net.connect a.example:443 "$@"; }

evaluate address=9.1.1.1
check a_name_that_a_rule_allows_is_allowed_at_its_address has_status 0
check the_answer_names_name_and_address out_has 'allowed: net.connect a.example:443 at 9.1.1.1'
run sbx-policy eval p.yaml net.connect b.example:443 address=9.1.1.1
check another_name_at_that_address_is_denied has_status 1
check the_fix_for_a_name_names_no_address test "$(grep -c cidr "$work/out")" -eq 0
evaluate
check an_answer_without_an_address_depends_on_it out_has \
	"depends on address: built-in rule 'builtin:special-addresses' denies special ones"

# The fix of each refusal, put into the policy, allows the request.
for address in 127.0.0.1 0.0.0.0 :: ::ffff:0.0.0.0 10.1.2.3 ::1 fd00:ec2::254 169.254.169.254 ::ffff:10.1.2.3 64:ff9b::10.1.2.3 2002:a01:203::1; do
	policy proxy "$web" >p.yaml
	evaluate address="$address"
	check "a_name_does_not_open_$address" has_status 1
	check "the_built_in_rule_is_named_for_$address" out_has "built-in rule 'builtin:special-addresses' denies it: "
	sed -n '/fix: add to/,$p' "$work/out" | sed 1d >>p.yaml
	sed -i 's/^      - name/- name/; s/^        match/  match/; s/^        action/  action/' p.yaml
	evaluate address="$address"
	check "the_fix_opens_$address" has_status 0
	evaluate address=192.168.0.1
	check "the_fix_for_${address}_opens_no_other_address" has_status 1
done

policy proxy "$web" "$lan" >p.yaml
evaluate address=10.1.2.3
check a_rule_about_the_name_and_the_network_opens_it has_status 0
sbx-policy compile p.yaml >p.sbx
policy proxy "$web" >q.yaml
sbx-policy compile q.yaml >q.sbx
run sbx-policy eval p.sbx net.connect a.example:443 address=10.1.2.3
check the_compiled_form_answers_alike has_status 0
run sbx-policy eval q.sbx net.connect a.example:443 address=10.1.2.3
check the_compiled_form_protects_special_addresses has_status 1
for row in host:0 loopback:0 none:1 transparent:1; do
	policy "${row%:*}" "$web" >q.yaml
	run sbx-policy eval q.yaml net.connect a.example:443 address=127.0.0.1
	check "the_answer_for_the_loopback_under_${row%:*}" has_status "${row#*:}"
	sbx-policy compile q.yaml >q.sbx
	run sbx-policy eval q.sbx net.connect a.example:443 address=127.0.0.1
	check "the_compiled_form_agrees_under_${row%:*}" has_status "${row#*:}"
done

# Linux connects to the loopback for 0.0.0.0 and ::.
for mode in proxy host; do
	printf 'net: {mode: %s}\ncapabilities:\n%s\n%s\n' $mode \
		'- {name: all, action: allow, match: {op: net.connect, cidr: [0.0.0.0/0, "::/0"]}}' \
		'- {name: local, action: deny, match: {op: net.connect, cidr: [127.0.0.0/8, "::1"]}}' >q.yaml
	for host in 127.0.0.1 0.0.0.0 '[::]' '[::ffff:0.0.0.0]' '[::0.0.0.0]'; do
		run sbx-policy eval q.yaml net.connect "$host:80"
		check "a_denial_of_the_loopback_holds_for_${host}_under_$mode" has_status 1
		check "the_rule_is_named_for_${host}_under_$mode" out_has "rule 'local'"
	done
done

evaluate address=10.0.0.999
check what_is_no_address_is_bad_input has_status 2
check what_is_no_address_is_denied out_has 'denied: net.connect'
check what_is_no_address_is_explained out_has 'why: the address is neither IPv4 nor IPv6 in full'
run sbx-policy eval p.yaml net.connect 9.1.1.1:443 address=9.1.1.2
check an_address_that_contradicts_the_host_is_denied out_has "the host is an address, and 'address' is another one"
run sbx-policy explain p.yaml net.connect a.example:443 address=9.1.1.1
check explain_says_which_address_does_not_match out_has "its cidr '10.0.0.0/8' does not match: the address is '9.1.1.1'"

policy proxy "$web" >q.yaml
run sbx-policy explain q.yaml net.connect a.example:443 address=10.0.0.1
check explain_says_that_a_rule_without_a_network_does_not_apply out_has 'it has no cidr, which a permission for a special address needs'
# Lines, a service, a file of tests, and a replay read and write the member.
line='{"op":"net.connect","host":"a.example","address":"127.0.0.1","port":443}'
run sbx-policy eval p.yaml <<<"$line"
check a_line_of_json_is_denied has_status 1
check the_decision_repeats_the_request out_has "\"input\":$line"
cp "$work/out" decisions.jsonl
run sbx-policy diff p.yaml p.yaml --replay decisions.jsonl
check a_decision_can_be_replayed has_status 0
sed 's/10.0.0.0/127.0.0.0/' p.yaml >wider.yaml
run sbx-policy diff p.yaml wider.yaml --replay decisions.jsonl
check a_replay_shows_that_an_address_was_opened out_has WIDENS
cat >tests.yaml <<END
policy: p.yaml
tests:
 - {name: words, request: net.connect a.example:443 address=10.0.0.1, expect: allow, rules: [lan]}
 - {name: members, request: {op: net.connect, host: a.example, address: 127.0.0.1, port: 443}, expect: deny}
END
run sbx-policy test tests.yaml
check a_file_of_tests_can_say_addresses has_status 0
serve p.yaml
check the_service_denies_a_special_address test "$(ask "$line" | grep -c '"builtin":"builtin:special-addresses"')" -eq 1
check the_service_ends stop
finish
