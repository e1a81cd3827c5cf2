#!/bin/bash
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
fake

run sbx-ctl list
check an_empty_list_has_its_heading out_is 'ID  STATUS  AGE  PID  TIER  COMMAND'
run sbx-ctl list --json
check an_empty_list_is_no_json ends_with 0
check the_registry_is_made_for_us_alone test "$(stat -c %a "$sandboxes")" = 700

sbx-ctl create --id a -- printf '\033[31m%s' $'x\ny' >/dev/null
sbx-ctl create --id a-longer-name -- sleep "$(printf 'ä%.0s' {1..100})" >/dev/null
run sbx-ctl list
check columns_are_aligned test "$(printf '%s\n' "$out" | cut -c1-24)" = 'ID             STATUS   
a              created  
a-longer-name  created  '
check a_command_cannot_paint_the_terminal out_has '\033[31m%s x\x0ay'
check a_long_command_is_cut_between_characters out_has 'ää...'
run sbx-ctl list -q
check quietly_only_names_are_listed out_is $'a\na-longer-name'
run sbx-ctl --json list
check as_json_each_is_one_line test "$(printf '%s\n' "$out" | python3 -c 'import json, sys
print([json.loads(line)["id"] for line in sys.stdin])')" = "['a', 'a-longer-name']"

mkdir -m 700 "$sandboxes/broken"
echo '{' >"$sandboxes/broken/state.json"
run sbx-ctl list
check one_that_cannot_be_read_is_told err_has "cannot read the state of the sandbox 'broken'"
check the_others_are_listed_all_the_same out_has a-longer-name

begin b -- sleep 1000
run sbx-ctl inspect a b
check several_are_inspected_in_order test "$(printf '%s\n' "$out" | python3 -c 'import json, sys
print([(e["id"], e["alive"], e["state"]) for e in map(json.loads, sys.stdin)])')" = "[('a', False, 'CREATING'), ('b', True, 'RUNNING')]"
run sbx-ctl inspect b nobody
check one_that_is_missing_does_not_hide_another out_has '"id":"b"'
check it_is_told_which_is_missing err_has "'nobody'"
check a_missing_one_is_a_no has_status 1

# All columns except age, PID and command.
status_of() { sbx-ctl list 2>/dev/null | awk -v id="$1" '$1 == id { sub(/^[^ ]+ +/, ""); sub(/  .*/, ""); print }'; }
pid_of() { sbx-ctl list 2>/dev/null | sed -n "s/^$1 .*  [0-9]*s  *\([-0-9]*\)  .*/\1/p"; }
status_is() { [ "$(status_of "$1")" = "$2" ]; }
check one_that_runs_is_running status_is b running
check its_supervisor_is_listed test "$(pid_of b)" = "$(member b supervisor)"
begin three -- sh -c 'exit 3'
sbx-ctl wait three
check an_exit_is_listed_with_its_status status_is three 'exit 3'
begin nine -- sh -c 'kill -KILL $$'
sbx-ctl wait nine
check one_that_was_killed_is_listed_with_the_signal status_is nine 'killed 9'
check an_ended_sandbox_has_no_pid test "$(pid_of nine)" = -
sbx-ctl create --id fails --fails -- true >/dev/null
sbx-ctl start fails 2>/dev/null
check one_that_could_not_be_built_is_listed_so status_is fails 'not started'
for reason in time memory output new-reason; do
	begin "$reason" -- true
	sbx-ctl wait "$reason"
	sed -i "s/\"reason\": \"exit\"/\"reason\": \"$reason\"/" "$sandboxes/$reason/state.json"
done
check a_time_limit_is_named status_is time 'time limit'
check a_memory_limit_is_named status_is memory 'memory limit'
check an_output_limit_is_named status_is output 'output limit'
check a_reason_of_a_later_version_is_listed_as_it_is status_is new-reason new-reason
sbx-ctl pause b >/dev/null
check one_that_is_paused_is_listed_so status_is b paused

chmod 755 "$sandboxes"
run sbx-ctl list
check a_registry_that_others_can_read_is_refused has_status 125
check how_to_close_it_is_said err_has 0700
chmod 700 "$sandboxes"

if [ "$(id -u)" = 0 ]; then
	printf 'version: 1\nview: system\n' >"$work/p.yaml"
	mkdir "$work/ro" && mount -t tmpfs -o ro,mode=700,uid=65534 tmpfs "$work/ro" && chmod 755 "$work" || exit 99
	mkdir "$work/st" && chown 65534:65534 "$work/st"
	on_ro() { setpriv --reuid=65534 --regid=65534 --clear-groups env XDG_RUNTIME_DIR="$work/ro" XDG_STATE_HOME="$work/st" "$@"; }
	run on_ro "$SBX_BUILD/tools/sbx-ctl" list
	check a_read_only_file_system_is_told eval 'has_status 125 && err_has "Read-only file system"'
	check and_a_user_is_told_how_to_name_another_directory err_has 'or set XDG_RUNTIME_DIR to a directory of your own'
	run on_ro "$SBX_BUILD/tools/sbx-policy" serve "$work/p.yaml"
	check a_service_tells_it_too err_has 'fix: name another path with --socket, or set XDG_RUNTIME_DIR'
	umount "$work/ro"
fi
finish
