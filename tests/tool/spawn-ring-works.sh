#!/bin/bash
# SPDX-License-Identifier: MIT
# A channel works in each kind of sandbox, in both modes: its client makes no file, and needs no system call that a
# profile refuses. What a command sends over it arrives in the verified log.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

peer=$work/ring-peer
install -m 755 "$SBX_BUILD/tests/tool/ring-peer" "$peer"
install -m 644 "$SBX_SOURCE/tests/tool/ring.py" "$work/ring.py"
programs_policy
echo '  - {name: peer, match: {op: [exec, fs.read], path: ['"$peer"']}, action: allow}' >>"$work/p.yaml"
cp "$work/p.yaml" "$work/proxy.yaml"
echo '  - {name: host, match: {op: net.connect, host: [a.example]}, action: allow}' >>"$work/proxy.yaml"

joined() { # MODE COMMAND...: a server of libsbx, and the command with the other end
	local mode=$1
	shift
	places
	mkdir -p "$project/.venv/lib"
	cp "$peer" "$project/.venv/lib/peer"
	(cd "$project" && as "$who" env SBX_RING_FD=9 python3 "$work/ring.py" pair "$peer" "$mode" --- "$@") </dev/null
}
worked() { [ "$status" -eq 0 ] && [ "$out" = 'all came back' ] && err_has 'client 0'; }

policies=$SBX_SOURCE/policies
for who in $starters; do
	for mode in stream call; do
		while read -r name words; do
			read -r -a words <<<"$words"
			run joined "$mode" sbx-spawn -q --ring-fd 9 "${words[@]}"
			check "a_${mode}_works_${name}_by_$who" worked
		done <<-END
			without_a_policy --read $peer -- $peer echo
			without_a_network --net none --read $peer -- $peer echo
			on_a_terminal --pty --read $peer -- $peer echo
			in_little_memory --memory 64MiB --best-effort-limits --pids 4 --files 16 --read $peer -- $peer echo
			under_a_policy_of_programs --policy $work/p.yaml -- $peer echo
			under_a_policy_with_a_proxy --policy $work/proxy.yaml --net proxy -- $peer echo
			under_the_policy_python --policy $policies/python.yaml -- .venv/lib/peer echo
			under_the_policy_policy_sandbox --policy $policies/policy-sandbox.yaml --read $peer -- $peer echo
			under_the_policy_strict --policy $policies/strict.yaml --read $peer -- $peer echo
			under_the_policy_code_executor --policy $policies/code-executor.yaml --read $peer -- $peer echo
			under_the_policy_default --policy $policies/default.yaml --read /usr --read /lib --read /lib64 --read $peer -- $peer echo
		END
	done

	places
	log=$work/$who/log
	as "$who" sbx-audit setup --log "$log" >"$work/key"
	appended() { # CLIENT...
		(cd "$project" && as "$who" python3 "$work/ring.py" pair sbx-audit append --log "$log" --ring-fd 9 --- "$@")
	}
	run appended sbx-spawn -q --id "ring-$who" --ring-fd 9 --policy "$work/p.yaml" -- "$peer" source 2500
	check "records_of_a_sandbox_are_taken_by_$who" has_status 0
	run as "$who" sbx-audit query --log "$log" -e tool_execute --json
	check "each_of_them_is_in_the_log_by_$who" test "$(printf '%s\n' "$out" | grep -c '"n":[0-9]*,"writer":{.*"ring":"')" -eq 2500
	run as "$who" sbx-audit query --log "$log" -e ring_closed
	check "the_end_of_the_sandbox_is_too_by_$who" test "$(printf '%s\n' "$out" | grep -c ring_closed)" -eq 1
	run as "$who" sbx-audit verify --log "$log" --full --key "$(cat "$work/key")"
	check "the_log_verifies_by_$who" has_status 0
	run appended sbx-spawn -q --ring-fd 9 --policy "$work/p.yaml" -- "$peer" die 10
	check "records_before_the_death_of_a_command_are_taken_by_$who" err_has 'client 137'
	run as "$who" sbx-audit query --log "$log" -e ring_closed --json
	check "its_death_is_recorded_by_$who" out_has '"end":"died"'
	tool=$(command -v sbx-ring)
	send() {
		(cd "$project" && printf '%s\n' '{"event":"syscall","time":"2026-01-02T03:04:05Z","op":"fs.read"}' |
			as "$who" sbx-ring pair --with "sbx-audit append --log $log --ring-fd 3" -- \
				sbx-spawn -q --ring-fd 3 --read "$tool" -- env ASAN_OPTIONS=detect_leaks=0 "$tool" send)
	}
	run send
	check "two_commands_are_joined_by_sbx_ring_by_$who" has_status 0
	run as "$who" sbx-audit query --log "$log" -e syscall
	check "a_line_of_a_sandbox_is_in_the_log_by_$who" out_has 'op=fs.read'
done

# The tier reduced needs a delegated cgroup, whose name must not look like one of sbx.
top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
cgroup=$top/ring-test-$$
if [ "$(id -u)" -ne 0 ] || [ -z "$top" ] || ! mkdir "$cgroup" 2>/dev/null; then
	skip a_channel_works_in_the_tier_reduced 'no cgroup v2 in which we may make one'
	finish
	exit
fi
# Its last process may still be exiting.
end() {
	for ((tries = 0; tries < 600; tries++)); do
		rmdir "$cgroup" 2>/dev/null && break
		sleep 0.05
	done
	rm -rf "$work"
}
trap end EXIT
chown -R "$user:$user" "$cgroup"
who=user
reduced() { (echo 0 >"$cgroup/cgroup.procs" && joined "$@"); }
for mode in stream call; do
	run reduced "$mode" sbx-spawn -q --tier-exactly reduced --ring-fd 9 --read "$peer" -- "$peer" echo
	check "a_${mode}_works_in_the_tier_reduced" worked
done
finish
