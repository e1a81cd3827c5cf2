#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout: 600
# Records that root and a service wrote while sbx-audit was not running, before its socket existed and while it was
# stopped, are in the log of the shipped units, once, with their owner.
. "$(dirname "$0")/tap.sh"
here=$(cd "$(dirname "$0")" && pwd)
policy=/etc/sbx/policy.yaml

in_log() { sbx-audit query --json "$@" 2>/dev/null; }
begun() { in_log --event=sandbox_created | grep '"writer":{"uid":0}' | grep -c . || :; }
decided() { in_log --event=policy_decision | grep "\"writer\":{\"uid\":$(id -u sbx-policy)}" | grep -c "$1" || :; }
record() # N: writes N records of root to its spool
{
	i=0
	while [ $i -lt $(($1 / 2)) ]; do
		sbx-spawn -q -- true
		i=$((i + 1))
	done
}
ask() # WORD
{
	python3 "$here/fixtures/ask.py" /run/sbx/policy.sock '{"op":"fs.write","path":"/srv/'"$1"'"}' >/dev/null
}

keeps_records_while_there_is_no_socket()
{
	systemctl stop sbx-audit.socket sbx-audit.service
	mkdir -p /etc/sbx
	printf 'capabilities:\n  - name: data\n    match: { syscall: fs.read, path: /srv/data }\n    action: allow\n' >"$policy"
	systemctl start sbx-policy.socket
	record 100
	ask before-the-socket
	[ "$(grep -c . /var/lib/sbx/spool/records.jsonl)" -eq 100 ]
	grep -q before-the-socket /var/lib/sbx/policy/sbx/spool/records.jsonl
}

takes_all_of_them_in_when_the_socket_is_there()
{
	systemctl start sbx-audit.socket
	all() { [ "$(begun)" -eq 50 ] && [ "$(decided before-the-socket)" -eq 1 ]; }
	within 240 all
	[ ! -e /var/lib/sbx/spool/records.jsonl ]
}

takes_in_what_came_while_it_was_stopped()
{
	systemctl stop sbx-audit.socket sbx-audit.service
	record 100
	ask while-it-was-stopped
	systemctl start sbx-audit.socket
	all() { [ "$(begun)" -eq 100 ] && [ "$(decided while-it-was-stopped)" -eq 1 ]; }
	within 240 all
	[ "$(in_log --event=sandbox_destroyed | grep -c '"writer":{"uid":0}')" -eq 100 ]
}

a_service_returns_to_the_socket()
{
	returned() { ask again && in_log --event=policy_decision | grep again | grep -q '"pid":[1-9][0-9]*}}*$'; }
	within 240 returned
}

gc_sends_the_end_of_a_killed_sandbox_to_the_service()
{
	sbx-spawn -q --id left-to-gc -- sleep 1000 &
	within 240 sbx-ctl ping left-to-gc
	kill -KILL $!
	supervisor_is_gone() { sbx-ctl list | grep -Eq '^left-to-gc +orphaned'; }
	within 240 supervisor_is_gone
	systemctl start sbx-gc.service
	ended() { in_log --event=sandbox_failed | grep left-to-gc | grep -q '"tool":"sbx-ctl"'; }
	within 240 ended
	in_log --event=sandbox_failed | grep left-to-gc | grep -q '"writer":{"uid":0,"pid":[1-9]'
	[ ! -e /var/lib/sbx/spool/records.jsonl ]
}

leaves_nothing_behind()
{
	gone() { [ -z "$(ls /var/lib/sbx/audit-inbox)" ] && [ -z "$(ls /var/lib/sbx/spool)" ]; }
	within 240 gone
	[ "$(stat -c '%U %a' /var/lib/sbx/audit-inbox)" = 'sbx-audit 700' ]
	sbx-audit verify --full
}

a_service_cannot_hand_over_what_is_not_its_own()
{
	spool=/var/lib/sbx/policy/sbx/spool
	as_policy() { setpriv --reuid=sbx-policy --regid=sbx-policy --clear-groups "$@"; }
	rm -f "$spool/records.jsonl"
	as_policy ln -s /etc/shadow "$spool/records.jsonl"
	! sbx-audit gather
	[ "$(stat -c %U /etc/shadow)" = root ]
	as_policy rm "$spool/records.jsonl"
	systemctl stop sbx-policy.socket sbx-policy.service
	rm "$policy"
}

run_tests \
	keeps_records_while_there_is_no_socket \
	takes_all_of_them_in_when_the_socket_is_there \
	takes_in_what_came_while_it_was_stopped \
	a_service_returns_to_the_socket \
	gc_sends_the_end_of_a_killed_sandbox_to_the_service \
	leaves_nothing_behind \
	a_service_cannot_hand_over_what_is_not_its_own
