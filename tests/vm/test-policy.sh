#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout: 300
# The shipped units of sbx-policy, as the package installs them, under a real systemd.
. "$(dirname "$0")/tap.sh"
here=$(cd "$(dirname "$0")" && pwd)
policy=/etc/sbx/policy.yaml
request='{"op":"fs.read","path":"/srv/data/a"}'

ask() { python3 "$here/fixtures/ask.py" /run/sbx/policy.sock "$1" | cut -d ' ' -f 2-; }
answers() { ask "$request" | grep -q "\"verdict\":\"$1\""; }
property() { systemctl show --value -p "$1" sbx-policy.service; }
write_policy() # ACTION
{
	printf 'capabilities:\n  - name: data\n    match: { syscall: fs.read, path: /srv/data }\n    action: %s\n' \
		"$1" >"$policy.new"
	mv "$policy.new" "$policy"
}

does_not_start_without_a_policy()
{
	rm -f "$policy"
	systemctl start sbx-policy.socket
	[ "$(systemctl show --value -p ConditionResult sbx-policy.socket)" = no ]
}

starts_when_it_is_asked_and_says_that_it_is_ready()
{
	mkdir -p /etc/sbx
	write_policy allow
	systemctl start sbx-policy.socket
	answers allow
	[ "$(property ActiveState)" = active ]
	[ "$(property User)" = sbx-policy ]
	property StatusText | grep '^policy '
}

denies_what_no_rule_allows()
{
	ask '{"op":"fs.write","path":"/srv/data/a"}' | grep '"verdict":"deny"'
	ask '{"op":"fs.write","path":"/etc/sbx/policy.yaml"}' | grep 'builtin:'
}

decides_by_a_new_policy_once_it_is_renamed_into_place()
{
	write_policy deny
	within 120 answers deny
}

keeps_the_old_policy_when_the_new_one_is_broken()
{
	write_policy nonsense
	broken_is_said() { property StatusText | grep -q 'the old one stays'; }
	within 120 broken_is_said
	answers deny
	write_policy allow
	within 120 answers allow
}

reloads_when_the_manager_says_so()
{
	systemctl reload sbx-policy.service
	within 120 answers allow
	[ "$(property ActiveState)" = active ]
}

keeps_records_of_denials_in_its_own_folder()
{
	ask '{"op":"fs.write","path":"/srv/secret"}' >/dev/null
	grep -rq '/srv/secret' /var/lib/sbx/policy
	[ "$(stat -c %U /var/lib/sbx/policy)" = sbx-policy ]
}

answers_nobody_who_is_not_in_its_group()
{
	! setpriv --reuid=65534 --clear-groups python3 "$here/fixtures/ask.py" /run/sbx/policy.sock "$request"
}

stops_when_told_to()
{
	systemctl stop sbx-policy.socket sbx-policy.service
	[ "$(property Result)" = success ]
	[ ! -e /run/sbx/policy.sock ]
	rm "$policy"
}

run_tests \
	does_not_start_without_a_policy \
	starts_when_it_is_asked_and_says_that_it_is_ready \
	denies_what_no_rule_allows \
	decides_by_a_new_policy_once_it_is_renamed_into_place \
	keeps_the_old_policy_when_the_new_one_is_broken \
	reloads_when_the_manager_says_so \
	keeps_records_of_denials_in_its_own_folder \
	answers_nobody_who_is_not_in_its_group \
	stops_when_told_to
