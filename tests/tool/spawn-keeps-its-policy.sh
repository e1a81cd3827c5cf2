#!/bin/bash
# SPDX-License-Identifier: MIT
# While a sandbox runs, its directory in the registry has the enforced policy and says where its records go.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

programs_policy
mkfifo "$work/in" "$work/said"
chmod 666 "$work/in" "$work/said"
exec 5<>"$work/in" 6<>"$work/said"

# Returns when the command runs; it runs until "end".
begin() { # ID OPTION...
	places
	begin_spawn -q --id "$1" "${@:2}" -- sh -c 'echo started; read -r word' <"$work/in" >"$work/said" &
	supervisor=$!
	read -r _ <&6
	if [ "$who" = root ]; then sandbox=/run/sbx/sandboxes/$1; else sandbox=$XDG_RUNTIME_DIR/sbx/sandboxes/$1; fi
}
end() {
	echo end >&5
	wait "$supervisor"
}
member() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$sandbox/state.json" "$1"; }
same_policy() { [ "$(cat "$sandbox/policy.json")" = "$(sbx-policy print --json "$work/printed.yaml")" ]; }

for who in $starters; do
	id=keeps-$who-$$
	programs_policy
	cp "$work/p.yaml" "$work/printed.yaml"
	begin "$id" --policy "$work/p.yaml"
	: >"$work/p.yaml"
	check "the_policy_is_kept_though_its_file_has_changed_by_$who" same_policy
	check "other_users_cannot_read_the_policy_by_$who" test "$(stat -c %a "$sandbox/policy.json")" = 600
	check "the_file_of_the_policy_is_named_by_$who" test "$(member policy)" = "$work/p.yaml"
	check "its_rules_are_counted_by_$who" test "$(member policy_rules)" = 2
	check "its_digest_has_64_digits_by_$who" test "$(member policy_digest | tr -cd 0-9a-f | wc -c)" = 64
	# If sbx-audit serves this host, root's records go there.
	audit=spool
	[ "$who" = user ] || [ ! -S /run/sbx/audit.sock ] || audit=service
	check "it_says_where_records_go_by_$who" test "$(member audit)" = "$audit"
	run as "$who" sbx-ctl inspect "$id"
	check "inspect_shows_where_records_go_by_$who" out_has "\"audit\":\"$audit\""
	end
	check "nothing_is_left_by_$who" test ! -e "$sandbox"

	begin "$id" --audit-fd 7 7>>"$work/records"
	check "without_a_policy_there_is_no_file_by_$who" test ! -e "$sandbox/policy.json"
	check "without_a_policy_there_is_no_digest_by_$who" test "$(member policy_digest)" = None
	check "an_open_file_takes_the_records_by_$who" test "$(member audit)" = fd
	end
done
finish
