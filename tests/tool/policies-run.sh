#!/bin/bash
# SPDX-License-Identifier: MIT
# Each policy of policies/ permits the commands that it is for, in a typical project, and nothing else.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

# A fresh checkout: nothing is built, installed or configured.
checkout() {
	rm -rf "$project"
	mkdir -p "$project/input" "$project/out" "$project/src"
	echo 'a,b' >"$project/input/a.csv"
	echo 'print("from src")' >"$project/src/main.py"
	printf 'all: hello\n\t./hello\nhello: hello.c\n\t$(CC) -o $@ $<\n' >"$project/Makefile"
	printf '#include <stdio.h>\nint main(void)\n{\n\tputs("built");\n\treturn 0;\n}\n' >"$project/hello.c"
	places
}
under() { # POLICY WORDS...
	local policy=$1
	shift
	spawn -q --policy "$SBX_SOURCE/policies/$policy.yaml" "$@"
}
says() { [ "$status" -eq 0 ] && [ "$out" = "$1" ]; }
have() { [ -x "/usr/bin/$1" ]; }

python_programs() {
	run under python -- python3 -c 'import json, ssl, sqlite3; print(1)'
	check python_runs_the_interpreter says 1
	run under python -- python3 src/main.py
	check python_runs_a_file_of_the_project says 'from src'
	run under python -- python3 -c 'open("out/a", "w"); open("src/a", "w")'
	check python_writes_only_where_it_says test "$status" -ne 0 -a -e "$project/out/a" -a ! -e "$project/src/a"
	if (cd "$project" && as "$who" /usr/bin/python3 -m venv --without-pip .venv) 2>/dev/null; then
		run under python -- .venv/bin/python3 -c 'import sys; print(sys.prefix)'
		check python_runs_a_virtual_environment says "$project/.venv"
		cp /usr/bin/true "$project/.venv/lib/native"
		run under python -- python3 -c 'import subprocess; print(subprocess.call([".venv/lib/native"]))'
		check python_runs_the_programs_of_packages says 0
		run under mcp-server --net none -- .venv/bin/python3 -c 'print(1)'
		check mcp_server_runs_a_virtual_environment says 1
	else
		skip python_runs_a_virtual_environment 'python3-venv is not installed'
	fi
	run under python -- sh -c true
	check python_runs_no_shell has_status 126
}

node_programs() {
	mkdir -p "$project/node_modules/.bin" "$project/node_modules/a/bin"
	printf '#!/usr/bin/node\nconsole.log("tool")\n' >"$project/node_modules/a/bin/tool"
	chmod 755 "$project/node_modules/a/bin/tool"
	ln -s ../a/bin/tool "$project/node_modules/.bin/tool"
	cp /usr/bin/true "$project/node_modules/a/bin/native"
	run under node -- node_modules/.bin/tool
	check node_runs_the_tools_of_packages says tool
	run under node -- node -e 'console.log(require("child_process").spawnSync("node_modules/a/bin/native").status)'
	check node_runs_the_programs_of_packages says 0
	run under node -- node -e 'require("fs").writeFileSync("node_modules/a/x", "")'
	check node_does_not_change_packages test "$status" -ne 0 -a ! -e "$project/node_modules/a/x"
	run under mcp-server --net none -- node_modules/.bin/tool
	check mcp_server_runs_the_tools_of_packages says tool
}

builds() {
	run under build -- make -s
	check build_makes_a_fresh_checkout says built
	checkout
	(cd "$project" && as "$who" git init -q)
	run under build -- make -s
	check build_makes_a_repository says built
	run under build -- sh -c 'echo x >.git/hooks/pre-commit'
	check build_does_not_change_hooks test "$status" -ne 0 -a ! -e "$project/.git/hooks/pre-commit"
	run under build -- sh -c "echo x >'$work/$who/home/x'"
	check build_writes_nothing_beside_the_project test "$status" -ne 0 -a ! -e "$work/$who/home/x"
	run under code-executor -- sh -c 'cat input/a.csv; echo x >out/x'
	check code_executor_reads_and_writes_out test "$out" = a,b -a -e "$project/out/x"
}

strict_programs() {
	run under strict -- /bin/true
	check strict_runs_a_program has_status 0
	run under strict -- python3 -c 'import csv; print(list(csv.reader(open("input/a.csv"))))'
	check strict_turns_input_into_output says "[['a', 'b']]"
	run under strict -- python3 -c 'open("src/main.py")'
	check strict_sees_only_the_input has_status 1
	run under strict -- python3 -c 'import os; os.listdir("/usr/bin")'
	check strict_does_not_list_programs has_status 1
	run under strict -- python3 -c 'import os; os.execv("/usr/bin/true", ["true"])'
	check strict_runs_no_second_program test "$status" -ne 0
	run under policy-sandbox -- python3 -c 'print(1)'
	check policy_sandbox_runs_an_extension says 1
	run under ai-provider --net none -- python3 -c 'import ssl; print(1)'
	check ai_provider_runs_a_client says 1
}

others() {
	for policy in readonly no-network ebpf-audit fs-allowlist; do
		run under "$policy" -- sh -c 'cat input/a.csv'
		check "${policy//-/_}_runs_a_shell_that_reads" says a,b
	done
	for policy in networked net-egress; do
		run under "$policy" --net none -- sh -c 'cat input/a.csv'
		check "${policy//-/_}_runs_a_shell_that_reads" says a,b
	done
	run under anti-escape --read /usr --read /lib --read /lib64 -- true
	check anti_escape_with_allowed_paths_runs_a_program has_status 0
	run under exec-policy -- cat input/a.csv
	check exec_policy_runs_a_program_that_it_names says a,b
	run under exec-policy -- sh -c true
	check exec_policy_runs_no_shell has_status 126
	run under workspace -- sh -c "touch '$work/ran'"
	check workspace_is_refused_before_the_broker_is_there has_status 125
	check workspace_names_the_rule err_has "rule 'sensitive-files'"
	check workspace_runs_nothing test ! -e "$work/ran"
	run under default -- true
	check default_shows_no_program has_status 127
	run under readonly -- sh -c 'echo x >src/x'
	check readonly_writes_nothing test "$status" -ne 0 -a ! -e "$project/src/x"
}

who=user
checkout
strict_programs
others
if have python3; then python_programs; else skip python_runs_the_interpreter 'python3 is not installed'; fi
if have node; then node_programs; else skip node_runs_the_tools_of_packages 'node is not installed'; fi
if have cc && have make; then builds; else skip build_makes_a_fresh_checkout 'cc or make is not installed'; fi
finish
