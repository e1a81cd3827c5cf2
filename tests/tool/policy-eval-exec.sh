#!/bin/bash
# SPDX-License-Identifier: MIT
# What a sandbox executes although no rule allows it: eval says so, and a rule that denies it holds.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

places
policy() { # RULE...
	cat >"$work/p.yaml" <<-END
		version: 1
		capabilities:
		  - {name: system, match: {op: [fs.read, fs.list, fs.exists], path: [/usr, /bin, /lib, /lib64]}, action: allow}
	END
	[ $# -eq 0 ] || printf '  - %s\n' "$@" >>"$work/p.yaml"
	chmod 644 "$work/p.yaml"
}
# A program in a directory of libraries that its package executes, and a loader.
tool=$(find -L /usr/lib/git-core /usr/lib/apt -type f -perm -o+x -exec sh -c 'head -c 4 "$1" | grep -q ELF' sh {} \; -print -quit)
loader=$(find -L /lib64 /lib -maxdepth 1 -name 'ld-linux*' -exec realpath {} \; -quit)
shell=$(realpath /bin/sh)

policy
run sbx-policy eval "$work/p.yaml" exec "$shell"
check no_rule_allows_the_command eval "has_status 1 && out_has 'note: a sandbox executes the program loader'"
run begin_spawn --policy "$work/p.yaml" -- "$shell" -c 'echo in; cat /dev/null'
check the_command_alone_is_executed eval 'out_has in && ! has_status 0'
policy "{name: never, match: {op: exec, path: $shell}, action: deny}"
run sbx-policy eval "$work/p.yaml" exec "$shell"
check a_denial_has_no_such_note eval "has_status 1 && ! out_has 'note: a sandbox executes the program loader'"
run begin_spawn --policy "$work/p.yaml" -- "$shell" -c 'echo in'
check a_denial_of_the_command_holds has_status 126

policy "{name: shell, match: {op: exec, path: $shell}, action: allow}"
run sbx-policy eval "$work/p.yaml" exec "$loader"
check no_rule_allows_the_loader eval "has_status 1 && out_has 'note: a sandbox executes the program loader'"
run begin_spawn --policy "$work/p.yaml" -- "$shell" -c "'$tool' --version"
check a_program_that_no_rule_allows_is_not_executed has_status 126
run begin_spawn --policy "$work/p.yaml" -- "$shell" -c "'$loader' --version"
check the_loader_is_executed has_status 0
run begin_spawn --policy "$work/p.yaml" -- "$shell" -c "'$loader' --verify /usr/bin/true"
check the_loader_maps_no_program_outside_of_libraries eval '! has_status 0'
policy "{name: shell, match: {op: exec, path: $shell}, action: allow}" "{name: never, match: {op: exec, path: $tool}, action: deny}"
run begin_spawn --policy "$work/p.yaml" -- "$shell" -c "'$loader' '$tool' --version"
check a_denial_of_a_program_holds_for_the_loader eval '! has_status 0'

# The kernel reads a program that it executes.
mkdir "$project/bin"
cp /usr/bin/true "$project/bin/tool"
policy "{name: shell, match: {op: exec, path: $shell}, action: allow}"
run sbx-policy eval "$work/p.yaml" exec "$project/bin/tool" "project=$project"
sed -n "s/^    \(  - name\|    match\|    action\)/\1/p" "$work/out" >"$work/fix"
cat "$work/fix" >>"$work/p.yaml"
run sbx-policy check "$work/p.yaml"
check the_proposed_rule_has_no_warning eval 'has_status 0 && out_is ""'
run begin_spawn --policy "$work/p.yaml" -- "$shell" -c "$project/bin/tool"
check the_proposed_rule_lets_a_program_run has_status 0
policy "{name: shell, match: {op: exec, path: [$shell, $project/bin/tool]}, action: allow}"
for verb in eval explain; do
	run sbx-policy "$verb" "$work/p.yaml" exec "$project/bin/tool"
	check "${verb}_says_that_it_must_be_read" out_has 'note: a sandbox does not execute it, because fs.read of it is not allowed'
done
run begin_spawn --policy "$work/p.yaml" -- "$project/bin/tool"
check a_program_that_is_not_read_is_not_executed has_status 126
check the_error_names_both_permissions eval "err_has 'may not be read in the sandbox' && err_has '[exec, fs.read]'"
run sbx-policy eval "$work/p.yaml" exec "$shell"
check a_program_that_is_read_needs_no_note eval 'has_status 0 && ! out_has note'
finish
