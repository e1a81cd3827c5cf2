#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout: 600
# The shipped units of sbx-audit, as the package installs them, under a real systemd with a journal.
. "$(dirname "$0")/tap.sh"
here=$(cd "$(dirname "$0")" && pwd)
socket=/run/sbx/audit.sock
log=/var/lib/sbx/audit
heads='MESSAGE_ID=609c9344974b4fc7b1e307767d9d5480'

send() { python3 "$here/fixtures/ask.py" "$socket" "$1" | cut -d ' ' -f 2-; }
property() { systemctl show --value -p "$1" sbx-audit.service; }
in_log() { sbx-audit query --json "$@" 2>/dev/null; }

starts_when_somebody_writes_and_makes_its_log()
{
	# Another test may have used the log, which is continued.
	systemctl stop sbx-audit.service
	systemctl start sbx-audit.socket
	[ "$(property ActiveState)" = inactive ]
	send '{"event":"state_transition"}' | grep '^{"seq":[1-9]'
	[ "$(property ActiveState)" = active ]
	[ "$(property User)" = sbx-audit ]
	[ "$(stat -c '%U %a' "$log")" = 'sbx-audit 700' ]
	said() { journalctl -u sbx-audit.service | grep -q 'first public key of the new one: sbx-audit/'; }
	within 120 said
}

says_how_it_is()
{
	said() { property StatusText | grep -q '^log of [1-9][0-9]* records, .* waiting'; }
	within 120 said
}

root_reads_the_log_and_who_has_written_it()
{
	in_log --event=state_transition | grep '"writer":{"uid":0,"pid":[1-9]'
	sbx-audit verify --full
}

what_a_sandbox_did_goes_through_the_socket()
{
	sbx-spawn -- true
	destroyed() { in_log --event=sandbox_destroyed | grep -q '"writer":{"uid":0,'; }
	within 120 destroyed
	[ ! -s /var/lib/sbx/spool/records.jsonl ]
}

an_ordinary_user_of_the_group_may_write()
{
	setpriv --reuid=65534 --groups="$(getent group sbx | cut -d : -f 3)" \
		python3 "$here/fixtures/ask.py" "$socket" '{"event":"merge_approved"}' | grep '{"seq":'
	in_log --event=merge_approved | grep '"writer":{"uid":65534,'
}

answers_nobody_who_is_not_in_its_group()
{
	! setpriv --reuid=65534 --clear-groups \
		python3 "$here/fixtures/ask.py" "$socket" '{"event":"merge_approved"}'
}

the_journal_has_its_heads()
{
	systemctl reload sbx-audit.service
	has_heads() { [ "$(journalctl -o cat "$heads" | grep -c '^sbx-audit/.* records, root ')" -ge 1 ]; }
	within 120 has_heads
	journalctl -o json "$heads" | grep '"SBX_AUDIT_SIZE":"[1-9]'
	sbx-audit verify --full --journal
}

the_journal_finds_a_log_that_was_put_back()
{
	systemctl stop sbx-audit.socket sbx-audit.service
	cp -a "$log" /tmp/earlier
	systemctl start sbx-audit.socket
	send '{"event":"policy_update"}' | grep '{"seq":'
	systemctl stop sbx-audit.socket sbx-audit.service
	journalctl --sync # journald may not have written the message yet
	sbx-audit verify --full --log=/tmp/earlier
	! sbx-audit verify --full --journal --log=/tmp/earlier
	sbx-audit verify --full --journal
	rm -r /tmp/earlier
}

# The attack of the next test succeeds on a service that only calls recv().
a_socket_that_lingers_holds_up_a_plain_service()
{
	[ "$(python3 "$here/fixtures/linger.py" plain /run/plain.sock x)" = 'not served' ]
}

# The kernel of this machine may be older than Linux 6.16, and cannot refuse the socket.
a_socket_that_lingers_does_not_hold_it_up()
{
	systemctl start sbx-audit.socket
	send '{"event":"policy_update","n":1}' | grep '{"seq":'
	python3 "$here/fixtures/linger.py" "$socket" "$(property MainPID)" '{"event":"policy_update","n":2}' | grep -x served
}

is_started_again_when_it_is_killed_and_loses_nothing_it_acknowledged()
{
	systemctl start sbx-audit.socket
	answer=$(send '{"event":"policy_update","n":12345}')
	systemctl kill -s KILL sbx-audit.service
	next=$(send '{"event":"policy_update","n":12346}')
	[ "${answer#*:}" != "${next#*:}" ]
	in_log --event=policy_update | grep '"n":12345,'
	sbx-audit verify --full
}

decisions_are_recorded_there()
{
	mkdir -p /etc/sbx
	printf 'capabilities:\n  - name: data\n    match: { syscall: fs.read, path: /srv/data }\n    action: allow\n' \
		>/etc/sbx/policy.yaml
	systemctl start sbx-policy.socket
	python3 "$here/fixtures/ask.py" /run/sbx/policy.sock '{"op":"fs.write","path":"/srv/secret-of-audit"}'
	decided() { in_log --event=policy_decision | grep -q secret-of-audit; }
	within 120 decided
	systemctl stop sbx-policy.socket sbx-policy.service
	rm /etc/sbx/policy.yaml
}

waits_while_the_disk_is_full_and_goes_on()
{
	systemctl stop sbx-audit.socket sbx-audit.service
	mv "$log" "$log.aside"
	mkdir "$log"
	mount -t tmpfs -o size=6m,mode=0700 tmpfs "$log"
	chown sbx-audit: "$log"
	systemctl start sbx-audit.socket
	send '{"event":"policy_update","n":1}' | grep '{"seq":'
	dd if=/dev/zero of="$log/ballast" bs=64k 2>/dev/null || :
	python3 - <<-'PYTHON'
		import socket, subprocess
		client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		client.connect("/run/sbx/audit.sock")
		client.settimeout(300)
		padding = "a" * 60000
		n = 1
		def is_full():
		    status = subprocess.run(["systemctl", "show", "--value", "-p", "StatusText", "sbx-audit.service"],
		                            capture_output=True, text=True, check=True).stdout
		    return "No space" in status or "full" in status
		# Until an answer stays away for longer than a moment.
		is_waiting = False
		while not is_waiting:
		    n += 1
		    client.send(b'{"event":"policy_update","n":%d,"x":"%s"}' % (n, padding.encode()))
		    client.settimeout(5)
		    for _ in range(60):
		        try:
		            client.recv(1000)
		            break
		        except TimeoutError:
		            if is_waiting := is_full():
		                break
		    else:
		        raise AssertionError("no answer, and no word of why")
		subprocess.run(["rm", "/var/lib/sbx/audit/ballast"], check=True)
		client.settimeout(300)
		assert b'"seq"' in client.recv(1000)
	PYTHON
	sbx-audit verify --full --log="$log"
	systemctl stop sbx-audit.socket sbx-audit.service
	umount "$log"
	rmdir "$log"
	mv "$log.aside" "$log"
}

stops_when_told_to_and_signs_everything()
{
	systemctl start sbx-audit.socket
	send '{"event":"policy_update"}'
	systemctl stop sbx-audit.socket sbx-audit.service
	[ "$(property Result)" = success ]
	[ ! -e "$socket" ]
	sbx-audit verify --full | grep '^OK: '
	! sbx-audit verify --full | grep 'wait for the next'
}

the_units_of_the_timers_rotate_and_verify_it()
{
	systemctl start sbx-audit-verify.service
	[ -s /var/lib/sbx/audit-verify/state ]
	systemctl start sbx-audit-rotate.service
	# systemd forgets the result of a unit that is not active; one whose condition is not met is skipped.
	finished() { journalctl -o cat -u sbx-audit-rotate.service | grep '^Finished '; }
	within 120 finished
	[ "$(stat -c '%U %a' "$log")" = 'sbx-audit 700' ]
	sbx-audit verify --full
}

they_leave_a_log_of_root_to_root()
{
	mv "$log" "$log.aside"
	sbx-audit setup
	if systemctl start sbx-audit-rotate.service; then false; fi
	[ "$(stat -c '%U %a' "$log")" = 'root 700' ]
	sbx-spawn -q -- true
	sbx-audit tail | grep sandbox_destroyed
	rm -r "$log"
	mv "$log.aside" "$log"
	systemctl reset-failed
}

run_tests \
	starts_when_somebody_writes_and_makes_its_log \
	says_how_it_is \
	root_reads_the_log_and_who_has_written_it \
	what_a_sandbox_did_goes_through_the_socket \
	an_ordinary_user_of_the_group_may_write \
	answers_nobody_who_is_not_in_its_group \
	the_journal_has_its_heads \
	the_journal_finds_a_log_that_was_put_back \
	a_socket_that_lingers_holds_up_a_plain_service \
	a_socket_that_lingers_does_not_hold_it_up \
	is_started_again_when_it_is_killed_and_loses_nothing_it_acknowledged \
	decisions_are_recorded_there \
	waits_while_the_disk_is_full_and_goes_on \
	stops_when_told_to_and_signs_everything \
	the_units_of_the_timers_rotate_and_verify_it \
	they_leave_a_log_of_root_to_root
