#!/bin/bash
# SPDX-License-Identifier: MIT
# sbx-policy eval names the facts on which an answer depends in its text, its JSON, and in the answer of the service.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/serve.sh"

digest=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef

# NAME<TAB>FACTS<TAB>REQUEST<TAB>RULES: '|' stands for a newline, '-' for no fact.
cases() {
	cat <<END
nothing	-	fs.read /a	- {name: r, match: {op: fs.read, path: /a}, action: deny}
a_caller	caller	fs.read /a	- {name: r, match: {op: fs.read, path: /a, caller: me}, action: allow}
a_caller_that_is_said	-	fs.read /a caller=you	- {name: r, match: {op: fs.read, path: /a, caller: me}, action: allow}
a_tag	caller_tag	fs.read /a	- {name: r, match: {op: fs.read, path: /a, caller_tag: t}, action: deny}
state_and_mode	state mode	fs.read /a	- {name: r, match: {op: fs.read, path: /a, state: s, mode: debug}, action: allow}
a_token	token	fs.read /a	- {name: r, match: {op: fs.read, path: /a}, action: allow, constraints: {require_capability_token: true}}
a_digest	digest	exec /a	- {name: r, match: {op: exec, path: /a}, action: allow, constraints: {sha256: '$digest'}}
a_size	size	fs.write /a	- {name: r, match: {op: fs.write, path: /a}, action: allow, constraints: {max_file_size: 10}}
a_size_that_is_too_great	-	fs.write /a size=11	- {name: r, match: {op: fs.write, path: /a}, action: allow, constraints: {max_file_size: 10}}
a_level	level	fs.read /a	- {name: r, match: {op: fs.read, path: /a}, action: allow, constraints: {require_sandbox: L2}}
another_path	-	fs.read /b	- {name: r, match: {op: fs.read, path: /a, caller: me}, action: allow}
an_exception	caller	fs.read /a	- {name: r, match: {op: fs.read, path: /a}, action: deny, except: [{caller: me}]}
an_exception_with_a_path	mode	fs.read /a	- {name: r, match: {op: fs.read}, action: allow, except: [{path: /a, mode: debug}]}
an_allow_that_a_denial_overrides	-	fs.read /a	- {name: d, match: {op: fs.read, path: /a}, action: deny}|- {name: r, match: {op: fs.read, path: /a, caller: me}, action: allow}
a_denial_that_outweighs	caller	fs.read /a	- {name: d, match: {op: fs.read, path: /a}, action: allow}|- {name: r, match: {op: fs.read, path: /a, caller: me}, action: deny}
a_list_that_is_empty	-	fs.read /a	- {name: r, match: {op: fs.read, path: /a, caller: []}, action: deny}
an_address	address	net.connect a.example	- {name: r, match: {op: net.connect, cidr: 10.0.0.0/8}, action: deny}
an_address_that_is_said	-	net.connect a.example address=9.1.1.1	- {name: r, match: {op: net.connect, cidr: 10.0.0.0/8}, action: deny}
an_ordinary_address	address	net.connect a.example	- {name: r, match: {op: net.connect, host: a.example}, action: allow}
a_built_in_rule	mode	container.run	- {name: r, match: {op: fs.read, path: /a}, action: allow}
END
}

# The facts in the text, and in a line of JSON.
of_text() { sed -n 's/^  depends on \([a-z_, ]*\): .*/\1/p' "$work/out" | tr -d ','; }
of_json() { python3 -c 'import json,sys; print(*json.loads(sys.stdin.readline()).get("depends_on", "-"))'; }
line_of() { # WORD...
	python3 - "$@" <<'END'
import json, sys

request = {"op": sys.argv[1]}
for word in sys.argv[2:]:
    name, is_named, value = word.partition("=")
    argument = "host" if sys.argv[1].startswith("net.") else "path"
    request.update({name: int(value) if name == "size" else value} if is_named else {argument: word})
print(json.dumps(request))
END
}

while IFS=$'\t' read -r case facts words rules; do
	printf 'capabilities:\n%s\n' "$(tr '|' '\n' <<<"$rules")" >p.yaml
	read -ra words <<<"$words"
	run sbx-policy eval p.yaml "${words[@]}"
	text=$(of_text)
	check "the_text_names_$case" test "${text:--}" = "$facts"
	run sbx-policy --json eval p.yaml "${words[@]}"
	check "the_json_names_$case" test "$(of_json <"$work/out")" = "$facts"
	line_of "${words[@]}" >line
	check "the_json_of_a_line_names_$case" test "$(sbx-policy eval p.yaml <line | of_json)" = "$facts"
done < <(cases)

printf 'capabilities:\n- {name: r, match: {op: fs.read, path: /a, mode: debug}, action: allow}\n' >p.yaml
serve p.yaml
check the_service_names_the_facts_its_answer_depends_on test "$(ask '{"op":"fs.read","path":"/a"}' | of_json)" = mode
check the_service_names_nothing_that_was_said test "$(ask '{"op":"fs.read","path":"/a","mode":"strict"}' | of_json)" = -
check the_service_ends stop
finish
