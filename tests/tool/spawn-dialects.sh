#!/bin/bash
# SPDX-License-Identifier: MIT
# Rules about everything, and about missing paths, in each policy dialect, as a sandbox enforces them.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

everything='echo one >here && cat here && ls /usr >/dev/null && test -r /etc/passwd && mkdir below && rmdir below'
for who in $starters; do
	places
	printf '%s\n' 'version: 1' 'defaults: {fs: allow, exec: allow}' >"$work/p.yaml"
	run spawn --policy "$work/p.yaml" -- sh -c "$everything"
	check "defaults_that_allow_files_open_the_project_to_$who" out_is one
	check "and_nothing_fails_for_$who" has_status 0
	run spawn --policy "$work/p.yaml" -- sh -c 'echo x >/etc/sbx-test || echo x >/usr/bin/sbx-ctl'
	check "installed_files_of_sbx_are_not_written_by_$who" test "$status" -ne 0 -a "$status" -ne 125

	printf '%s\n' 'net: {mode: none}' 'capabilities:' '  - {name: all, match: {syscall: "*"}, action: allow}' >"$work/p.yaml"
	run spawn --policy "$work/p.yaml" -- sh -c "$everything"
	check "a_rule_for_every_operation_opens_the_project_to_$who" out_is one
	printf '%s\n' 'net: {mode: none}' 'capabilities:' '  - {name: all, match: {syscall: "*"}, action: allow}' \
		'  - {name: not, match: {syscall: "*", path: ./secret}, action: deny}' >"$work/p.yaml"
	echo hidden >"$project/secret"
	run spawn --policy "$work/p.yaml" -- sh -c 'cat secret'
	check "a_denial_in_it_holds_for_$who" out_is ''
	check "and_is_seen_by_$who" test "$status" -ne 0 -a "$status" -ne 125

	mkdir -p "$project/data"
	places
	printf '%s' '{"sandbox": {"type": "PROCESS", "config": {"allowFileSystemAccess": true,' \
		'"allowedPaths": ["./data", "./data/new", "./missing"]}}}' >"$work/m.json"
	run spawn --policy "$work/m.json" --print-plan -v -- sh
	check "a_missing_path_of_a_manifest_is_said_to_$who" out_has "missing' of"
	run spawn --policy "$work/m.json" -- sh -c 'echo new >data/new'
	check "one_in_a_writable_directory_is_made_by_$who" test "$(cat "$project/data/new")" = new
	run spawn --policy "$work/m.json" -- sh -c 'echo new >missing'
	check "another_is_not_by_$who" test ! -e "$project/missing"
	printf '%s' '{"sandbox": {"type": "PROCESS", "config": {"allowFileSystemAccess": true, "allowNetworkAccess": true,' \
		'"allowedPaths": ["./data"]}}}' >"$work/m.json"
	run spawn --policy "$work/m.json" --print-plan -v -- sh
	check "the_host_network_of_a_manifest_is_warned_of_for_$who" out_has 'the command can reach whatever the host can reach'
	run spawn --policy "$work/m.json" --net loopback --print-plan -v -- sh
	check "without_it_there_is_no_warning_for_$who" test "${out#*whatever the host}" = "$out"
	rm -rf "$project/data" "$project/here" "$project/secret"
done
finish
