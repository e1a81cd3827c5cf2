# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For tests of sbx-audit: a private log, and lines that are records.

export HOME=$work XDG_STATE_HOME=$work/state
log=$work/log

# decisions FIRST LAST: one line for each number, each with its own rule.
decisions() {
	local i verdict=(allow deny)
	for ((i = $1; i <= $2; i++)); do
		printf '{"time":"2026-01-02T03:04:%02d.5Z","event":"policy_decision","verdict":"%s","op":"fs.read","rule":"r%d",%s}\n' \
			$((i % 60)) "${verdict[i % 2]}" "$i" '"input":{"op":"fs.read","path":"/a"},"policy":"00"'
	done
}
# shellcheck disable=SC2034 # for the tests
setup() { key=$(sbx-audit setup -l "$log"); }
append() { decisions "$@" | sbx-audit append -q -l "$log"; }
lines_of() { printf '%s\n' "$out" | grep -c .; }
has_lines() { [ "$(lines_of)" -eq "$1" ]; }
