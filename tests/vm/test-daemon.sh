#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout: 300
# lib/service with a real systemd: fixtures/probe.service has the same restrictions as our services.
. "$(dirname "$0")/tap.sh"
here=$(cd "$(dirname "$0")" && pwd)

ask() { python3 "$here/fixtures/ask.py" /run/probe.sock "$@"; }
property() { systemctl show --value -p "$1" probe.service; }

install_units()
{
	cp "$here/fixtures/probe.socket" "$here/fixtures/probe.service" /run/systemd/system/
	systemctl daemon-reload
	systemctl start probe.socket
}

starts_when_its_socket_is_used()
{
	[ "$(property ActiveState)" = inactive ]
	ask hello
	[ "$(property ActiveState)" = active ]
	[ "$(property StatusText)" = 'generation 0' ]
}

knows_the_process_that_asks()
{
	read -r mine pid uid text <<-ANSWER
		$(ask 'who am I')
	ANSWER
	[ "$pid" = "$mine" ]
	[ "$uid" = 0 ]
	[ "$text" = 'who am I' ]
}

knows_the_user_that_asks()
{
	read -r mine pid uid text <<-ANSWER
		$(setpriv --reuid=65534 --clear-groups python3 "$here/fixtures/ask.py" /run/probe.sock x)
	ANSWER
	[ "$pid" = "$mine" ]
	[ "$uid" = 65534 ]
}

generation_is() { [ "$(property StatusText)" = "generation $1" ]; }

reloads_and_tells_the_manager()
{
	cursor=$(journalctl -n 0 --show-cursor | sed -n 's/^-- cursor: //p')
	systemctl log-level debug
	systemctl reload probe.service
	within 120 generation_is 1
	systemctl log-level info
	journalctl --sync
	journalctl --after-cursor="$cursor" UNIT=probe.service -o cat >/tmp/notified
	grep -n 'RELOADING=1' /tmp/notified
	[ "$(property ActiveState)" = active ]
	ask 'still here'
}

logs_with_fields_that_can_be_asked_for()
{
	ask 'log the quick brown fox'
	logged()
	{
		journalctl -q -o cat _SYSTEMD_UNIT=probe.service SBX_RULE=r1 SBX_ID=probe |
			grep -qx 'the quick brown fox'
	}
	within 120 logged
	[ -z "$(journalctl -q SBX_RULE=r2)" ]
}

is_killed_by_the_watchdog_when_it_hangs_and_comes_back()
{
	before=$(property MainPID)
	ask hang || :
	was_restarted() { [ "$(property NRestarts)" -ge 1 ] && [ "$(property ActiveState)" = active ]; }
	within 120 was_restarted
	[ "$(property MainPID)" != "$before" ]
	journalctl --sync
	journalctl -q -o cat UNIT=probe.service | grep 'Watchdog timeout'
	ask 'here again'
	rm /var/lib/systemd/coredump/core.probe-daemon.* # from the watchdog's SIGABRT; shows that core dumps are kept
}

stops_when_told_to()
{
	systemctl stop probe.socket probe.service
	[ "$(property Result)" = success ]
	[ "$(property ActiveState)" = inactive ]
}

install_units
run_tests \
	starts_when_its_socket_is_used \
	knows_the_process_that_asks \
	knows_the_user_that_asks \
	reloads_and_tells_the_manager \
	logs_with_fields_that_can_be_asked_for \
	is_killed_by_the_watchdog_when_it_hangs_and_comes_back \
	stops_when_told_to
