# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# For tests of sbx-policy serve, sourced after tap.sh: policies a (src may be written) and b (doc may be written), and
# functions that start and stop a service that records into $work/records.

seqpacket() { python3 "$SBX_SOURCE/tests/tool/seqpacket.py" "$@"; }

rule() {
	printf '  - { name: %s, match: { syscall: fs.write, path_glob: ["%s"] }, action: %s }\n' "$1" "$2" "$3"
}

# serve [OPTION...] POLICY...: starts the service in the background and returns when it is ready.
serve() {
	seqpacket start "$work/pid" sbx-policy serve --socket "$work/s" --audit-fd 9 "$@" 9>>"$work/records" 2>>"$work/log"
}
stop() {
	[ -e "$work/pid" ] && seqpacket stop "$work/pid" "$@"
	rm -f "$work/pid"
}
ask() { printf '%s\n' "$1" | seqpacket ask "${2:-$work/s}"; }
answers() { ask "$2" "${3:-$work/s}" | grep -q "\"verdict\":\"$1\""; }
records() { grep -c "\"event\":\"$1\"" "$work/records"; }

# Is each member of these events in sbx-audit-layout(7)?
documented() { # FILE EVENT...
	python3 - "$SBX_SOURCE/man/sbx-audit-layout.7.scd" "$@" <<'END'
import json
import re
import sys

page = open(sys.argv[1], encoding="utf-8").read().split("## Records of sbx-policy")[1].split("\n## ")[0]
rows = re.findall(r"^\|  (.*)$", page, re.M)
known = {name.replace("\\", "") for row in rows for name in re.findall(r"_((?:\\_|[a-z0-9])+)_", row)}
records = [json.loads(line) for line in open(sys.argv[2], encoding="utf-8")]
found = {event: {name for record in records if record["event"] == event for name in record} for event in sys.argv[3:]}
missing = set().union(*found.values()) - known - {"event", "time", "boot", "boot_usec", "tool", "version", "pid"}
print(*missing)
sys.exit(bool(missing) or not all(found.values()))
END
}

cd "$work" || exit 1
trap 'stop; rm -rf "$work"' EXIT
{ echo capabilities:; rule src '/srv/p/src/**' allow; } >a
{ echo capabilities:; rule doc '/srv/p/doc/**' allow; } >b
# shellcheck disable=SC2034 # for the test that sources this
src='{"op":"fs.write","path":"/srv/p/src/a"}'
# shellcheck disable=SC2034
doc='{"op":"fs.write","path":"/srv/p/doc/a"}'
