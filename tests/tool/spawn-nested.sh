#!/bin/bash
# SPDX-License-Identifier: MIT
# A sandbox in a sandbox: only if the outer policy permits it, and the inner one has all layers.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

cp "$SBX_BUILD/tools/sbx-spawn" "$project/inner"
policy() { # NESTED [MATCH-OF-PROGRAMS]
	cat >"$work/p.yaml" <<END
version: 1
capabilities:
  - name: system
    match: {op: [fs.read, fs.list, fs.exists], path: [/usr, /bin, /lib, /lib64, /sbin, /etc, $project]}
    action: allow
  - name: programs
    match: {op: exec${2-}}
    action: allow
  - name: scratch
    match: {op: fs.*, path: /tmp}
    action: allow
isolation: {nested: $1}
END
	chmod 644 "$work/p.yaml"
}
# A sanitizer in the inner sandbox needs more memory than the limit, and ptrace.
room=
grep -q __asan_init "$SBX_BUILD/tools/sbx-spawn" && room='--best-effort-limits --memory 64TiB'
inside='export ASAN_OPTIONS=detect_leaks=0 XDG_STATE_HOME=/tmp/s XDG_RUNTIME_DIR=/tmp/s; mkdir -m 700 /tmp/s; exec ./inner'
for who in $starters; do
	policy true
	run spawn $room -q -p "$work/p.yaml" -- sh -c "$inside -q -- sh -c 'echo in; id -u; ls /tmp'"
	check "a_sandbox_works_in_a_sandbox_by_$who" test "$status" -eq 0 -a "${out#in}" != "$out"
	check "the_inner_one_has_a_tmp_of_its_own_by_$who" test "$(printf '%s\n' "$out" | grep -cx s)" -eq 0
	run spawn $room -q -p "$work/p.yaml" -- sh -c "$inside -q --hostname other -- getent hosts sandbox"
	check "the_inner_one_knows_the_name_of_the_outer_one_by_$who" out_has 127.0.0.1
	run spawn $room -q -p "$work/p.yaml" -- sh -c "$inside -q -- sh -c 'grep -h ^Seccomp_filters /proc/self/status'"
	check "the_inner_one_has_both_filters_by_$who" test "$(printf '%s' "$out" | tr -dc 0-9)" -ge 2
	run spawn -v -p "$work/p.yaml" -- true
	check "a_notice_names_the_layer_that_nesting_lacks_by_$who" err_has Landlock
	run spawn -p "$work/p.yaml" --print-plan -- true
	check "no_copy_of_a_file_of_etc_is_called_written_by_$who" eval 'out_has "writes        /tmp" && ! out_has "/etc/passwd"'
	policy true ', path: [/usr, /bin, /lib, /lib64, /sbin]'
	run spawn -p "$work/p.yaml" -- true
	check "a_list_of_programs_that_would_not_hold_is_refused_by_$who" has_status 125
	check "the_refusal_names_the_setting_by_$who" err_has "p.yaml:12 'isolation.nested'"
	policy false
	run spawn $room -q -p "$work/p.yaml" -- sh -c "$inside -q -- true"
	check "without_leave_it_is_refused_by_$who" has_status 125
done
finish
