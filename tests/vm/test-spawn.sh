#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout: 900
# sbx-spawn and sbx-ctl where every limit can be enforced: cgroup v2 and systemd, for root and an ordinary user, in a
# scope that systemd creates and in a unit with a delegated cgroup.
. "$(dirname "$0")/tap.sh"
tester=sbx-tester
work=$(mktemp -d)
chmod 755 "$work"
trap 'clean >/dev/null 2>&1' EXIT

clean()
{
	uid=$(id -u "$tester") && systemctl stop "user@$uid.service" "user-runtime-dir@$uid.service"
	userdel -r "$tester"
	rm -rf "$work"
}

# Runs as a logged-in user with a running user manager, without root's environment.
as_user()
{
	uid=$(id -u "$tester")
	(cd "$work/user" && setpriv --reuid="$uid" --regid="$uid" --clear-groups env -i HOME="/home/$tester" \
		PATH="$PATH" LC_ALL=C.UTF-8 XDG_RUNTIME_DIR="/run/user/$uid" "$@")
}
as_root() { (cd "$work/root" && "$@"); }
registry_of() # WHO
{
	case $1 in
	root) echo /run/sbx/sandboxes ;;
	user) echo "/run/user/$(id -u "$tester")/sbx/sandboxes" ;;
	esac
}

# A unit with a delegated cgroup. A cgroup with limits below it must not contain processes, so the command first moves
# into a cgroup of its own. That is a script, because systemd expands "$$" itself.
delegated() # USER COMMAND...
{
	user=$1
	shift
	cat >"$work/enter" <<'END'
cgroup=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)
mkdir "$cgroup/self" && echo $$ >"$cgroup/self/cgroup.procs" && exec "$@"
END
	systemd-run --quiet --wait --pipe --collect -p Delegate=yes -p User="$user" \
		-E PATH="$PATH" -E LC_ALL=C.UTF-8 -- sh "$work/enter" "$@"
}

has() # REPORT TEXT...
{
	report=$1
	shift
	for text in "$@"; do grep -qF "$text" "$report" || fail "no $text in $(cat "$report")"; done
}

users_are_there()
{
	useradd -m -s /bin/sh "$tester"
	mkdir "$work/user" "$work/root"
	chown "$tester:" "$work/user"
	systemctl start "user@$(id -u "$tester").service"
	[ -S "/run/user/$(id -u "$tester")/systemd/private" ]
}

reports_the_full_tier() # WHO
{
	"as_$1" sbx-spawn -q --report full.json -- sh -c 'echo inside; exit 7' >"$work/$1/out" || status=$?
	[ "${status:-0}" = 7 ]
	[ "$(cat "$work/$1/out")" = inside ]
	has "$work/$1/full.json" '"tier":"full"' '"reason":"exit"' '"user"' '"mount"' '"pid"' '"ipc"' \
		'"uts"' '"net"' '"landlock"' '"seccomp"' '"capabilities"'
}

# The kernel's view of the command, from outside.
lives_in_the_full_tier() # WHO
{
	begin "$1" "full-$1" --memory 64MiB -- sleep 1000
	has_command()
	{
		command=$(cat "/proc/$init/task/$init/children") && command=${command% }
		grep -x sleep "/proc/$command/comm"
	}
	within 120 has_command
	for namespace in user mnt pid ipc uts net cgroup; do
		[ "$(readlink "/proc/$command/ns/$namespace")" != "$(readlink "/proc/self/ns/$namespace")" ] ||
			fail "$namespace is the host's"
	done
	cat "/proc/$command/status"
	for line in 'Seccomp:	2' 'NoNewPrivs:	1' 'CapEff:	0000000000000000' 'CapBnd:	0000000000000000'; do
		grep -x "$line" "/proc/$command/status"
	done
	! grep -E '^Uid:.*	0(	|$)' "/proc/$command/status" || fail 'it is root'
	end "$1" "full-$1"
}

full_tier_works() # WHO
{
	reports_the_full_tier "$1"
	lives_in_the_full_tier "$1"
}
gives_root_the_full_tier() { full_tier_works root; }
gives_an_ordinary_user_the_full_tier() { full_tier_works user; }

check_says_what_is_held() # WHO
{
	"as_$1" sbx-spawn --check >"$work/$1/check"
	cat "$work/$1/check"
	for what in 'tier full' 'memory, in total' 'cpu' 'pids' 'systemd scopes'; do
		grep -E "^  $what  *yes\$" "$work/$1/check"
	done
}
says_to_root_what_can_be_held() { check_says_what_is_held root; }
says_to_a_user_what_can_be_held() { check_says_what_is_held user; }

# About half of it is in use when the limit is reached.
hungry='head -c 200000000 /dev/zero | tail -c 150000000 | wc -c'

# Many processes that are smaller than the scope keeper: all are killed, but not the keeper.
crowded='for i in $(seq 400); do sleep 1000 & done; wait'

is_out_of_memory() # REPORT HOLDER
{
	has "$1" '"oom":true' '"reason":"memory"' '"limits_reached":["memory"]' '"peak_memory_of":"cgroup"' \
		"\"memory\":{\"value\":67108864,\"held_by\":\"$2\"}"
	! grep -q '"status":0' "$1" || fail 'it has ended well'
}

runs_out_of_memory_in_a_scope() # WHO
{
	for command in "$hungry" "$crowded"; do
		! "as_$1" sbx-spawn -q --memory 64MiB --pids 600 \
			--report memory.json -- sh -c "$command" || fail 'it has lived'
		is_out_of_memory "$work/$1/memory.json" scope
	done
}
holds_the_memory_of_roots_in_a_scope() { runs_out_of_memory_in_a_scope root; }
holds_the_memory_of_a_users_in_a_scope() { runs_out_of_memory_in_a_scope user; }

runs_out_of_memory_in_a_unit() # USER DIRECTORY
{
	! delegated "$1" sbx-spawn -q --memory 64MiB --report "$2/unit.json" -- sh -c "$hungry" ||
		fail 'it has lived'
	is_out_of_memory "$2/unit.json" cgroup
}
holds_the_memory_of_roots_in_a_delegated_unit() { runs_out_of_memory_in_a_unit root "$work/root"; }
holds_the_memory_of_a_users_in_a_delegated_unit()
{
	runs_out_of_memory_in_a_unit "$tester" "$work/user"
}

# A service with DynamicUser=: no name in /etc/passwd, HOME=/, most of the system read-only, one directory of its own.
runs_for_the_dynamic_user_of_a_service()
{
	cat >"$work/dynamic" <<'END'
sbx-spawn -q --write . -- sh -c 'whoami && echo "$HOME" && touch ~/x /tmp/x && echo made >made && ! touch /usr/x 2>/dev/null' </dev/null
END
	systemd-run --quiet --wait --pipe --collect -p DynamicUser=yes -p StateDirectory=sbx-dynamic \
		-p WorkingDirectory=/var/lib/sbx-dynamic -E PATH="$PATH" -E LC_ALL=C.UTF-8 -- sh -s <"$work/dynamic" >"$work/out"
	cat "$work/out"
	[ "$(cat "$work/out")" = "$(printf 'sbx\n/run/home')" ]
	[ "$(cat /var/lib/private/sbx-dynamic/made)" = made ]
	rm -rf /var/lib/private/sbx-dynamic /var/lib/sbx-dynamic
}

# The average duration of a run in microseconds.
cost_of_a_run() # COMMAND...
{
	"$@" sh -c 'begin=$(date +%s%N)
		for i in 1 2 3 4 5 6 7 8 9 10; do sbx-spawn -q --memory 64MiB -- true || exit; done
		echo $((($(date +%s%N) - begin) / 10000))'
}
is_in() # HOLDER REPORT: what held the limits of a run
{
	grep -qF "\"held_by\":\"$1\"" "$2" || fail "no $1 in $(cat "$2")"
}
tells_what_a_scope_costs()
{
	as_user sbx-spawn -q --memory 64MiB --report scope.json -- true
	is_in scope "$work/user/scope.json"
	delegated "$tester" sbx-spawn -q --memory 64MiB --report "$work/user/cgroup.json" -- true
	is_in cgroup "$work/user/cgroup.json"
	scope=$(cost_of_a_run as_user) unit=$(cost_of_a_run delegated "$tester")
	remark "a run in a scope of the manager takes $scope us, in a delegated cgroup $unit us:" \
		"$((scope * 100 / unit)) %"
}

stays_below() # WHO
{
	"as_$1" sbx-spawn -q --memory 64MiB --report little.json -- \
		sh -c 'head -c 1000000 /dev/zero | tail -c 1000 | wc -c' >"$work/$1/out"
	[ "$(cat "$work/$1/out")" = 1000 ]
	has "$work/$1/little.json" '"oom":false' '"status":0' '"reason":"exit"' '"peak_memory_of":"cgroup"'
}
leaves_alone_what_stays_below_its_limit_for_root() { stays_below root; }
leaves_alone_what_stays_below_its_limit_for_a_user() { stays_below user; }

# Starts in the background and sets $cgroup, its $scope, $init and $supervisor.
begin() # WHO ID OPTION... -- COMMAND...
{
	who=$1 id=$2
	shift 2
	"as_$who" sbx-spawn -q --id "$id" "$@" >"$work/$who/out-$id" 2>&1 &
	state=$(registry_of "$who")/$id/state.json
	within 120 grep -q '"state":"RUNNING"' "$state"
	cat "$state"
	cgroup=$(sed -n 's/.*"cgroup":"\([^"]*\)".*/\1/p' "$state")
	scope=${cgroup%/*}
	processes=$cgroup/cgroup.procs
	[ ! -e "$cgroup/command" ] || processes=$cgroup/command/cgroup.procs
	init=$(sed -n 's/.*"init":\([0-9]*\).*/\1/p' "$state")
	supervisor=$(sed -n 's/.*"supervisor":\([0-9]*\).*/\1/p' "$state")
	grep -x "$init" "$processes"
	[ "$(value "$cgroup/cgroup.events" populated)" = 1 ]
	[ "$scope" != "${scope%.scope}" ]
}

end() # WHO ID
{
	"as_$1" sbx-ctl kill "$2"
	wait
	[ ! -e "$(registry_of "$1")/$2" ]
	# systemd removes the scope.
	within 120 scope_is_gone
}
scope_is_gone() { [ ! -e "$scope" ]; }

value() { sed -n "s/^$2 //p" "$1"; } # FILE NAME

# A CPU quota of a fifth in periods of 100 ms. A host that stalls may charge more to one period; the kernel then
# throttles the following ones until that is repaid.
keeps_its_share()
{
	periods=$(value "$scope/cpu.stat" nr_periods)
	[ "$periods" -ge 20 ] && [ "$(value "$scope/cpu.stat" nr_throttled)" -gt 5 ] &&
		[ "$(value "$scope/cpu.stat" usage_usec)" -le $((periods * 25000)) ]
}

holds_the_processor() # WHO
{
	begin "$1" "cpu-$1" --cpu 0.2 -- sh -c 'while :; do :; done'
	[ "$(cat "$scope/cpu.max")" = '20000 100000' ]
	within 120 keeps_its_share
	cat "$scope/cpu.stat"
	end "$1" "cpu-$1"
}
holds_the_processor_of_roots() { holds_the_processor root; }
holds_the_processor_of_a_users() { holds_the_processor user; }

was_refused() { [ "$(value "$scope/pids.events" max)" -gt 0 ]; }

# The allowed number, PID 1, and the scope keeper. (Alone the limit would be an rlimit, which needs no scope.)
stops_a_fork_bomb() # WHO
{
	begin "$1" "pids-$1" --memory 256MiB --pids 20 -- \
		sh -c 'bomb() { bomb | bomb & }; bomb; while :; do :; done'
	[ "$(cat "$scope/pids.max")" = 22 ]
	within 120 was_refused
	[ "$(cat "$scope/pids.current")" -le 22 ]
	end "$1" "pids-$1"
}
stops_a_fork_bomb_of_roots() { stops_a_fork_bomb root; }
stops_a_fork_bomb_of_a_users() { stops_a_fork_bomb user; }

holds_it_still() # WHO
{
	begin "$1" "still-$1" --memory 64MiB -- sh -c 'while :; do :; done'
	# The keeper beside it has 4 MiB of its own.
	[ "$(cat "$cgroup/memory.max") $(cat "$scope/memory.max")" = "$((64 << 20)) $((68 << 20))" ]
	"as_$1" sbx-ctl pause "still-$1" | grep 'paused (cgroup frozen)'
	[ "$(value "$cgroup/cgroup.events" frozen)" = 1 ]
	[ "$(cat "$cgroup/cgroup.freeze")" = 1 ]
	cat "$cgroup/cgroup.procs" >"$work/processes"
	while read -r process; do
		! grep -q 'T (stopped)' "/proc/$process/status" || fail 'by a signal'
	done <"$work/processes"
	used=$(value "$cgroup/cpu.stat" usage_usec)
	"as_$1" sbx-ctl list | grep -i paused
	[ "$(value "$cgroup/cpu.stat" usage_usec)" = "$used" ]
	"as_$1" sbx-ctl resume "still-$1" | grep 'resumed (cgroup thawed)'
	[ "$(value "$cgroup/cgroup.events" frozen)" = 0 ]
	runs_again() { [ "$(value "$cgroup/cpu.stat" usage_usec)" -gt "$used" ]; }
	within 120 runs_again
	end "$1" "still-$1"
}
pauses_roots_by_their_cgroup() { holds_it_still root; }
pauses_a_users_by_their_cgroup() { holds_it_still user; }

# Entering processes have the same limits. An ordinary user here is outside of the user manager's cgroups, as in a
# login session: the kernel does not let the user move a process into them.
enters_the_scope() # WHO [OPTION...]
{
	who=$1
	shift
	begin "$who" "entered-$who" "$@" --debug --memory 64MiB -- sleep 1000
	# Where the sandbox has no Landlock, only pipes may be the streams.
	"as_$who" sbx-ctl exec "entered-$who" -- sleep 1000 </dev/null 2>&1 | cat &
	both_are_in_it()
	{
		while read -r process; do cat "/proc/$process/comm"; done <"$processes" >"$work/there"
		[ "$(grep -cx sleep "$work/there")" = 2 ]
	}
	within 120 both_are_in_it
	end "$who" "entered-$who"
}
enters_what_is_in_a_scope_of_roots() { enters_the_scope root; }
enters_what_is_in_a_scope_of_a_users() { enters_the_scope user; }

# With 'isolation.nested' a command can mount its cgroup, which is a child of the one with the limits.
a_nested_command_does_not_reach_its_limits()
{
	cat >"$work/nested.yaml" <<'END'
version: 1
isolation: {nested: true}
net: {mode: none}
capabilities:
  - {name: see, action: allow, match: {op: [fs.read, fs.list, fs.exists], path: [/usr, /bin, /lib, /lib64]}}
  - {name: programs, action: allow, match: {op: exec}}
  - {name: scratch, action: allow, match: {op: fs.*, path: /tmp}}
  - {name: enter, action: allow, match: {op: container.run, mode: debug}}
END
	cat >"$work/mounts" <<'END'
mkdir /tmp/cgroup
exec unshare -Urm --cgroup sh -c '
	mount -t cgroup2 none /tmp/cgroup && cd /tmp/cgroup || exit
	for file in memory.max pids.max cgroup.freeze; do echo 0 >"../$file"; echo 0 >$file; done 2>/dev/null
	mkdir made
	exec sleep 1000'
END
	begin user nested --policy "$work/nested.yaml" --memory 64MiB --pids 20 -- sh -c "$(cat "$work/mounts")"
	within 120 test -d "$cgroup/command/made"
	[ ! -s "$cgroup/cgroup.procs" ]
	[ ! -e "$cgroup/command/memory.max" ]
	[ "$(cat "$cgroup/memory.max") $(cat "$scope/pids.max")" = "$((64 << 20)) 22" ]
	end user nested
}
enters_what_is_nested_in_a_scope() { enters_the_scope user --policy "$work/nested.yaml"; }
a_nested_command_is_held_to_its_memory()
{
	! as_user sbx-spawn -q --policy "$work/nested.yaml" --memory 64MiB --pids 600 --report memory.json -- \
		sh -c "$hungry" || fail 'it has lived'
	is_out_of_memory "$work/user/memory.json" scope
}

# Without a user manager no scope can be created.
is_refused() # WHO COMMAND...
{
	who=$1
	shift
	! "as_$who" "$@" sbx-spawn --memory 64MiB -- sh -c 'echo ran' \
		>"$work/$who/out" 2>"$work/$who/err" || fail 'it was started'
	cat "$work/$who/err"
	grep 'cannot enforce --memory here' "$work/$who/err"
	grep '  fix: ' "$work/$who/err"
	[ ! -s "$work/$who/out" ]
}

refuses_root_a_limit_that_it_cannot_hold()
{
	is_refused root unshare --mount sh -c 'mount -t tmpfs none /run/systemd && exec "$@"' sh
}

refuses_a_user_a_limit_that_it_cannot_hold()
{
	uid=$(id -u "$tester")
	# The socket of the manager stays until its directory is removed.
	systemctl stop "user@$uid.service" "user-runtime-dir@$uid.service"
	within 120 test ! -e "/run/user/$uid/systemd/private"
	is_refused user env XDG_STATE_HOME="$work/user" XDG_RUNTIME_DIR="$work/user"
	systemctl start "user@$uid.service"
}

kill_the_supervisor() # WHO
{
	begin "$1" "orphan-$1" --memory 64MiB -- sleep 1000
	kill -KILL "$supervisor"
	is_empty() { [ ! -e "$cgroup" ] || [ "$(value "$cgroup/cgroup.events" populated)" = 0 ]; }
	within 120 is_empty
	init_is_gone() { [ ! -e "/proc/$init" ]; }
	within 120 init_is_gone
	"as_$1" sbx-ctl gc
	[ ! -e "$(registry_of "$1")/orphan-$1" ]
	within 120 scope_is_gone
}
kills_roots_with_their_supervisor() { kill_the_supervisor root; }
kills_a_users_with_their_supervisor() { kill_the_supervisor user; }

# The slice stays, empty; of the services only installed ones.
leaves_nothing()
{
	no_cgroup_is_left()
	{
		[ -z "$(find /sys/fs/cgroup -name 'sbx-*' ! -name 'sbx-*.service' ! -name 'sbx-*.socket')" ] &&
			[ -z "$(find /sys/fs/cgroup -mindepth 1 -path '*/sbx.slice/*' -type d)" ]
	}
	within 120 no_cgroup_is_left
	systemctl list-units --all --no-legend 'sbx-*.scope' >"$work/units"
	as_user systemctl --user list-units --all --no-legend 'sbx-*.scope' >>"$work/units"
	[ ! -s "$work/units" ] || fail "$(cat "$work/units")"
	find "$(registry_of root)" "$(registry_of user)" -mindepth 1 >"$work/registered"
	[ ! -s "$work/registered" ] || fail "$(cat "$work/registered")"
	cat /proc/[0-9]*/comm >"$work/processes" 2>/dev/null || : # some have exited meanwhile
	! grep -xE 'sbx-spawn|sleep|tail' "$work/processes" || fail 'some are still running'
}

run_tests \
	users_are_there \
	gives_root_the_full_tier \
	gives_an_ordinary_user_the_full_tier \
	says_to_root_what_can_be_held \
	says_to_a_user_what_can_be_held \
	runs_for_the_dynamic_user_of_a_service \
	tells_what_a_scope_costs \
	holds_the_memory_of_roots_in_a_scope \
	holds_the_memory_of_a_users_in_a_scope \
	holds_the_memory_of_roots_in_a_delegated_unit \
	holds_the_memory_of_a_users_in_a_delegated_unit \
	leaves_alone_what_stays_below_its_limit_for_root \
	leaves_alone_what_stays_below_its_limit_for_a_user \
	holds_the_processor_of_roots \
	holds_the_processor_of_a_users \
	stops_a_fork_bomb_of_roots \
	stops_a_fork_bomb_of_a_users \
	pauses_roots_by_their_cgroup \
	pauses_a_users_by_their_cgroup \
	enters_what_is_in_a_scope_of_roots \
	enters_what_is_in_a_scope_of_a_users \
	a_nested_command_does_not_reach_its_limits \
	enters_what_is_nested_in_a_scope \
	a_nested_command_is_held_to_its_memory \
	refuses_root_a_limit_that_it_cannot_hold \
	refuses_a_user_a_limit_that_it_cannot_hold \
	kills_roots_with_their_supervisor \
	kills_a_users_with_their_supervisor \
	leaves_nothing
