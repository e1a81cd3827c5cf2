#!/bin/bash
# SPDX-License-Identifier: MIT
# A command in a sandbox has the client's end of a channel: it cannot change the memory that the server writes, and
# cannot execute what it writes into its own. Each attack succeeds on a server that seals nothing, outside and inside.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

attacks='map_writable map_with_all_rights make_the_mapping_writable make_a_copy_of_the_mapping_writable write_at_a_place
	write open_again_and_write open_again_and_map open_again_truncated truncate grow allocate_more punch_a_hole remove_pages
	copy_a_range send_a_file splice_a_pipe'

programs_policy
echo '  - {name: attack, match: {op: [exec, fs.read], path: ['"$work"'/ring-inside]}, action: allow}' >>"$work/p.yaml"
install -m 755 "$SBX_BUILD/tests/attack/ring-inside" "$work/ring-inside"
install -m 644 "$SBX_SOURCE/tests/tool/ring.py" "$work/ring.py"
pair() { # SERVER CLIENT...
	local server=$1
	shift
	places
	(cd "$project" && as "$who" env SBX_RING_FD=9 python3 "$work/ring.py" pair "$work/ring-inside" "$server" --- "$@")
}
outside() { pair "$1" "$work/ring-inside" "${@:2}"; }
inside() { pair "$1" sbx-spawn -q --ring-fd 9 --policy "$work/p.yaml" -- "$work/ring-inside" "${@:2}"; }
all_are() { # done|refused
	local attack
	for attack in $attacks; do
		printf '%s\n' "$out" | grep -qx "$attack $1" || return 1
	done
	[ "$(printf '%s\n' "$out" | grep -c ' done$\| refused$')" -eq "$(printf '%s\n' $attacks | wc -l)" ]
}

for who in $starters; do
	run outside naive attack
	check "a_server_without_seals_is_changed_outside_by_$who" all_are 'done'
	run inside naive attack
	check "a_sandbox_alone_does_not_stop_it_by_$who" all_are 'done'
	run outside serve attack
	check "a_server_is_not_changed_by_any_process_by_$who" all_are refused
	run inside serve attack
	for attack in $attacks; do
		check "${attack}_is_refused_by_$who" out_has "$attack refused"
	done
	check "each_attack_was_made_by_$who" all_are refused
	check "the_server_lives_and_sees_the_end_by_$who" out_has 'server closed'
	run pair serve sbx-spawn -q --ring-fd 9 --read "$work/ring-inside" -- "$work/ring-inside" attack
	check "it_is_the_same_without_a_policy_by_$who" all_are refused

	run inside serve lie
	check "a_lie_about_what_was_sent_is_named_by_$who" out_is 'server tail_beyond_capacity'

	run outside naive execute /usr/bin/true
	check "what_was_written_into_the_memory_can_be_executed_outside_by_$who" err_has 'client 0'
	run inside naive execute /usr/bin/true
	check "a_policy_of_programs_alone_does_not_stop_it_by_$who" err_has 'client 0'
	run outside serve execute /usr/bin/true
	if out_has 'cannot execute'; then
		check "memory_of_a_channel_cannot_be_executed_outside_by_$who" out_has 'Permission denied'
		run inside serve execute /usr/bin/true
		check "memory_of_a_channel_cannot_be_executed_by_$who" out_has 'Permission denied'
	else
		skip "memory_of_a_channel_cannot_be_executed_by_$who" 'this kernel has no MFD_NOEXEC_SEAL (Linux 6.3)'
	fi
done
finish
