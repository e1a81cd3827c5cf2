#!/bin/sh
# SPDX-License-Identifier: MIT
# timeout: 900
# sbx-spawn and sbx-ctl where every limit can be held: cgroup v2 and a service manager, for root and for an ordinary
# user, in a scope that the manager makes and in a unit whose inside is ours.
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

# The user's manager runs as if he were logged in; what root leaves in the environment does not reach him.
as_user()
{
	uid=$(id -u "$tester")
	(cd "$work/user" && setpriv --reuid="$uid" --regid="$uid" --clear-groups env -i HOME="/home/$tester" \
		PATH="$PATH" LC_ALL=C.UTF-8 XDG_RUNTIME_DIR="/run/user/$uid" "$@")
}
as_root() { (cd "$work/root" && "$@"); }
registry_of() # WHO
{
	if [ "$1" = root ]; then echo /run/sbx/sandboxes; else echo "/run/user/$(id -u "$tester")/sbx/sandboxes"; fi
}

# A unit that has handed the inside of its cgroup over. Who wants limits below it may not sit in it.
delegated() # USER COMMAND...
{
	user=$1
	shift
	systemd-run --quiet --wait --pipe --collect -p Delegate=yes -p User="$user" -p LimitCORE=0 \
		-E PATH="$PATH" -E LC_ALL=C.UTF-8 -- sh -c '
		cgroup=/sys/fs/cgroup$(sed -n "s/^0:://p" /proc/self/cgroup)
		mkdir "$cgroup/self" && echo $$ >"$cgroup/self/cgroup.procs" && cd / && exec "$@"' sh "$@"
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

full_tier_works() # WHO
{
	"as_$1" sbx-spawn -q --report full.json -- sh -c 'echo inside; exit 7' >"$work/$1/out" || status=$?
	[ "${status:-0}" = 7 ]
	[ "$(cat "$work/$1/out")" = inside ]
	has "$work/$1/full.json" '"tier":"full"' '"reason":"exit"' '"landlock"' '"seccomp"' '"user"' '"network"'
}
gives_root_the_full_tier() { full_tier_works root; }
gives_an_ordinary_user_the_full_tier() { full_tier_works user; }

check_says_what_is_held() { "as_$1" sbx-spawn --check; }
says_to_root_what_can_be_held() { check_says_what_is_held root; }
says_to_a_user_what_can_be_held() { check_says_what_is_held user; }

# Half of what it wants: some of it is in use when the kernel says no.
hungry='head -c 200000000 /dev/zero | tail -c 150000000 | wc -c'

is_out_of_memory() # REPORT HOLDER
{
	has "$1" '"oom":true' '"reason":"memory"' "\"memory\":{\"value\":67108864,\"held_by\":\"$2\"}" '"peak_memory_of":"cgroup"'
	! grep -q '"status":0' "$1"
}

runs_out_of_memory_in_a_scope() # WHO
{
	! "as_$1" sbx-spawn -q --memory 64MiB --report memory.json -- sh -c "$hungry" || fail 'it has lived'
	is_out_of_memory "$work/$1/memory.json" scope
}
holds_the_memory_of_roots_in_a_scope() { runs_out_of_memory_in_a_scope root; }
holds_the_memory_of_a_users_in_a_scope() { runs_out_of_memory_in_a_scope user; }

runs_out_of_memory_in_a_unit() # USER FOLDER
{
	! delegated "$1" sbx-spawn -q --memory 64MiB --report "$2/unit.json" -- sh -c "$hungry" || fail 'it has lived'
	is_out_of_memory "$2/unit.json" cgroup
}
holds_the_memory_of_roots_in_a_delegated_unit() { runs_out_of_memory_in_a_unit root "$work/root"; }
holds_the_memory_of_a_users_in_a_delegated_unit() { runs_out_of_memory_in_a_unit "$tester" "$work/user"; }

leaves_alone_what_stays_below_its_limit()
{
	as_user sbx-spawn -q --memory 64MiB --report little.json -- sh -c 'head -c 1000000 /dev/zero | tail -c 1000 | wc -c'
	has "$work/user/little.json" '"oom":false' '"status":0'
}

# begin WHO ID OPTION... -- COMMAND...: in the background, until it is known where its cgroup is: $cgroup.
begin()
{
	who=$1 id=$2
	shift 2
	"as_$who" sbx-spawn -q --id "$id" "$@" >"$work/$who/out-$id" 2>&1 &
	within 60 grep -q '"state":"RUNNING"' "$(registry_of "$who")/$id/state.json"
	cgroup=$(sed -n 's/.*"cgroup":"\([^"]*\)".*/\1/p' "$(registry_of "$who")/$id/state.json")
	[ -d "$cgroup" ] || fail "no cgroup: $(cat "$(registry_of "$who")/$id/state.json")"
}

end() # WHO ID
{
	"as_$1" sbx-ctl kill "$2"
	wait
	[ ! -e "$(registry_of "$1")/$2" ]
	[ ! -e "$cgroup" ]
}

value() { sed -n "s/^$2 //p" "$cgroup/$1"; }
periods_have_passed() { [ "$(value cpu.stat nr_periods)" -ge 20 ]; }

# A tenth of a second at a time, a fifth of it to use; a tick more may be charged.
holds_the_processor() # WHO
{
	begin "$1" "cpu-$1" --cpu 0.2 -- sh -c 'while :; do :; done'
	[ "$(cat "$cgroup/cpu.max")" = '20000 100000' ]
	within 60 periods_have_passed
	cat "$cgroup/cpu.stat"
	[ "$(value cpu.stat nr_throttled)" -gt 5 ]
	[ $(($(value cpu.stat usage_usec) / $(value cpu.stat nr_periods))) -le 30000 ]
	end "$1" "cpu-$1"
}
holds_the_processor_of_roots() { holds_the_processor root; }
holds_the_processor_of_a_users() { holds_the_processor user; }

was_refused() { [ "$(value pids.events max)" -gt 0 ]; }

# As many as were allowed, and PID 1.
stops_a_fork_bomb() # WHO
{
	begin "$1" "pids-$1" --pids 20 -- sh -c 'bomb() { bomb | bomb & }; bomb; while :; do :; done'
	[ "$(cat "$cgroup/pids.max")" = 21 ]
	within 60 was_refused
	[ "$(cat "$cgroup/pids.current")" -le 21 ]
	end "$1" "pids-$1"
}
stops_a_fork_bomb_of_roots() { stops_a_fork_bomb root; }
stops_a_fork_bomb_of_a_users() { stops_a_fork_bomb user; }

holds_it_still() # WHO
{
	begin "$1" "still-$1" --memory 64MiB -- sh -c 'while :; do :; done'
	"as_$1" sbx-ctl pause "still-$1" | grep 'paused by its cgroup'
	[ "$(value cgroup.events frozen)" = 1 ]
	[ "$(cat "$cgroup/cgroup.freeze")" = 1 ]
	! grep -q 'T (stopped)' "/proc/$(head -n 1 "$cgroup/cgroup.procs")/status" || fail 'by a signal'
	used=$(value cpu.stat usage_usec)
	"as_$1" sbx-ctl list | grep -i paused
	[ "$(value cpu.stat usage_usec)" = "$used" ]
	"as_$1" sbx-ctl resume "still-$1" | grep 'goes on, by its cgroup'
	[ "$(value cgroup.events frozen)" = 0 ]
	runs_again() { [ "$(value cpu.stat usage_usec)" -gt "$used" ]; }
	within 60 runs_again
	end "$1" "still-$1"
}
pauses_roots_by_their_cgroup() { holds_it_still root; }
pauses_a_users_by_their_cgroup() { holds_it_still user; }

refuses_a_limit_that_it_cannot_hold()
{
	# Without a manager there is nobody who could give him a cgroup.
	uid=$(id -u "$tester")
	systemctl stop "user@$uid.service"
	! as_user env XDG_STATE_HOME="$work/user" XDG_RUNTIME_DIR="$work/user" \
		sbx-spawn --memory 64MiB -- true 2>"$work/user/err" || fail 'it was started'
	grep 'cannot hold the limit memory' "$work/user/err"
	systemctl start "user@$uid.service"
}

kill_the_supervisor() # WHO
{
	begin "$1" "orphan-$1" --memory 64MiB -- sleep 1000
	supervisor=$(sed -n 's/.*"supervisor":\([0-9]*\).*/\1/p' "$(registry_of "$1")/orphan-$1/state.json")
	kill -KILL "$supervisor"
	is_empty() { [ ! -e "$cgroup" ] || [ "$(value cgroup.events populated)" = 0 ]; }
	within 60 is_empty
	"as_$1" sbx-ctl gc
	[ ! -e "$(registry_of "$1")/orphan-$1" ]
	is_gone() { [ ! -e "$cgroup" ]; }
	within 60 is_gone
}
kills_roots_with_their_supervisor() { kill_the_supervisor root; }
kills_a_users_with_their_supervisor() { kill_the_supervisor user; }

leaves_nothing()
{
	nothing_is_left() { [ -z "$(find /sys/fs/cgroup -name 'sbx-*.scope' -o -name 'sbx-*' -path '*/run-*')" ]; }
	within 60 nothing_is_left
	systemctl list-units --all --no-legend 'sbx-*.scope' >"$work/units"
	[ ! -s "$work/units" ] || fail "$(cat "$work/units")"
	[ -z "$(find "$(registry_of root)" "$(registry_of user)" -mindepth 1)" ]
	! grep sbx-spawn /proc/[0-9]*/comm
}

run_tests \
	users_are_there \
	gives_root_the_full_tier \
	gives_an_ordinary_user_the_full_tier \
	says_to_root_what_can_be_held \
	says_to_a_user_what_can_be_held \
	holds_the_memory_of_roots_in_a_scope \
	holds_the_memory_of_a_users_in_a_scope \
	holds_the_memory_of_roots_in_a_delegated_unit \
	holds_the_memory_of_a_users_in_a_delegated_unit \
	leaves_alone_what_stays_below_its_limit \
	holds_the_processor_of_roots \
	holds_the_processor_of_a_users \
	stops_a_fork_bomb_of_roots \
	stops_a_fork_bomb_of_a_users \
	pauses_roots_by_their_cgroup \
	pauses_a_users_by_their_cgroup \
	refuses_a_limit_that_it_cannot_hold \
	kills_roots_with_their_supervisor \
	kills_a_users_with_their_supervisor \
	leaves_nothing
