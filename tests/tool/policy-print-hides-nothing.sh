#!/bin/bash
# SPDX-License-Identifier: MIT
# A policy under review must be displayed as it is: characters that reorder text or are invisible never reach the
# terminal unescaped.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1
# Bidirectional override, zero width, soft hyphen, Hangul filler, a tag, a variation selector, a no-break space.
hidden=$'a\u202eb\u200bc\u00add\u3164e\U000e0041f\ufe0fg\u00a0h'
write_policy() { # FILE ACTION
	cat >"$1" <<-END
		version: 1
		capabilities:
		  - { name: "rule$hidden", match: { syscall: fs.read, path: "/srv/$hidden" }, action: $2, reason: "why$hidden",
		      except: [ { caller_tag: "t$hidden" } ] }
		env: { set: { V: "v$hidden" } }
	END
}
shows_nothing_hidden() {
	! python3 -c 'import sys, unicodedata; sys.exit(not any(unicodedata.category(c) in ("Cf", "Zs", "Mn", "Lo") and c != " "
		for c in open(sys.argv[1], encoding="utf-8").read()))' "$work/out"
}

write_policy p.yaml allow
write_policy q.yaml deny
for verb in 'print p.yaml' 'print --json p.yaml' 'merge p.yaml p.yaml' 'diff p.yaml q.yaml' 'explain p.yaml fs.read /srv/x' \
	'check p.yaml'; do
	# shellcheck disable=SC2086
	run sbx-policy $verb
	check "hides_nothing: $verb" shows_nothing_hidden
done
run sbx-policy print p.yaml
check escapes_are_those_of_yaml out_has '"/srv/a\u202Eb\u200Bc\xADd\u3164e\U000E0041f\uFE0Fg\xA0h"'
cp "$work/out" again.yaml
run sbx-policy diff p.yaml again.yaml
check the_printed_policy_decides_the_same has_status 0
finish
