#!/bin/bash
# SPDX-License-Identifier: MIT
# Records of a refused start, of the end of --no-sandbox, and of commands that sbx-ctl exec runs.
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
chmod 755 "$work"
export HOME=$work
spool=/var/lib/sbx/spool/records.jsonl
[ "$(id -u)" = 0 ] || spool=$work/state/sbx/spool/records.jsonl
recorded() { # EVENT MEMBER...: one record has them all
	local event=$1 member lines
	shift
	lines=$(grep "\"event\":\"$event\"" "$spool")
	for member; do lines=$(grep -F "$member" <<<"$lines"); done
	[ -n "$lines" ]
}

members_are_documented() {
	python3 - "$spool" "${SBX_SOURCE:?}/man/sbx-audit-layout.7.scd" <<'END'
import json
import re
import sys

page = open(sys.argv[2], encoding="utf-8").read().split("## Records of sbx-spawn")[1].split("\n# ")[0]
rows = re.findall(r"^\|  (.*)$", page, re.M)
known = {name.replace("\\", "") for row in rows for name in re.findall(r"_((?:\\_|[a-z0-9])+)_", row)}
ids = {"refused", "bare", "unbare", "none", "entered"}  # the spool is root's: others write there as well
records = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
found = {name for record in records if record.get("sandbox_id") in ids for name in record}
missing = found - known - {"event", "time", "boot", "boot_usec", "tool", "version", "pid"}
print(*missing)
sys.exit(bool(missing) or "sandbox_id" not in found)
END
}

run sbx-spawn -q --id refused --read /no/such/path -- true
check a_start_is_refused has_status 125
check a_refused_start_is_recorded recorded sandbox_failed '"sandbox_id":"refused"' '"reason":"refused"' /no/such/path
run sbx-spawn -q --id planned --dry-run --read /no/such/path -- true
check a_plan_that_is_refused_is_no_start test "$(grep -c '"sandbox_id":"planned"' "$spool")" = 0

run sbx-spawn -q --id bare --no-sandbox -- sh -c 'exit 9'
check without_a_sandbox_the_status_is_the_commands has_status 9
check the_end_without_a_sandbox_is_recorded recorded sandbox_destroyed '"sandbox_id":"bare"' '"status":9'
run sbx-spawn -q --id unbare --no-sandbox -- sh -c 'kill -USR1 $$'
check a_signal_without_a_sandbox_is_a_status has_status 138
run sbx-spawn -q --id none --no-sandbox -- /no/such/program
check a_missing_program_without_a_sandbox_is_127 has_status 127
check a_failed_execve_is_recorded recorded sandbox_failed '"sandbox_id":"none"' '"reason":"exec"'

cat >"$work/review.yaml" <<'END'
version: 1
capabilities:
  - {name: system, match: {op: [fs.read, fs.list, fs.exists], path: [/usr, /bin, /lib, /lib64, /etc]}, action: allow}
  - {name: programs, match: {op: exec, path: [/usr/bin, /usr/lib, /bin]}, action: allow}
END
{ cat "$work/review.yaml" && echo '  - {name: enter, match: {op: container.run, mode: debug}, action: allow}'; } >"$work/enter.yaml"
if ! begin entered --debug --policy "$work/enter.yaml" -- sleep 1000 2>"$work/err"; then
	skip sbx_ctl_exec_is_recorded "this host cannot build one: $(head -n 1 "$work/err")"
	finish
	exit
fi
run sbx-ctl exec entered -- sh -c 'echo inside; exit 5'
check a_rule_that_allows_it_lets_it_enter out_is inside
check its_beginning_is_recorded recorded tool_execute '"sandbox_id":"entered"' 'echo inside; exit 5'
check its_end_is_recorded until_true recorded tool_result '"sandbox_id":"entered"' '"status":5'
begin reviewed --debug --policy "$work/review.yaml" -- sleep 1000
run sbx-ctl exec reviewed -- true
check without_a_rule_it_wants_a_review test "$status" -ne 0
check how_to_grant_it_is_said err_has '{op: container.run, mode: debug}, action: allow}'
run sbx-spawn --debug --print-plan -v --policy "$work/review.yaml" -- true
check the_plan_says_that_exec_is_refused out_has "'sbx-ctl exec' is refused"
check the_page_of_the_log_has_every_member members_are_documented
finish
