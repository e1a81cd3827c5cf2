#!/bin/bash
# SPDX-License-Identifier: MIT
# A directory of the caller as stdin, stdout or stderr of a command that enters a sandbox is refused: ".." of it would
# lead outside.
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
# As root the command runs as an ordinary user, which must be able to reach this directory.
chmod 755 "$work"
export HOME=$work
mkdir -m 777 "$work/directory" "$work/trace"
echo mine >"$work/file"

if ! begin d --debug --write "$work/trace" -- sleep 1000 2>"$work/err"; then
	skip a_sandbox_is_entered "this host cannot build one: $(head -n 1 "$work/err")"
	finish
	exit
fi
# with_path FD PATH: enters with FD opened with O_PATH at PATH; the command creates a file.
with_path() {
	python3 -c 'import os, sys
os.dup2(os.open(sys.argv[2], os.O_PATH), int(sys.argv[1]))
os.execvp("sbx-ctl", ["sbx-ctl", "exec", "d", "--", "touch", sys.argv[3]])' "$1" "$2" "$work/trace/ran"
}
entering() { sbx-ctl exec d -- touch "$work/trace/ran"; }
as_stdin() { entering <"$work/directory"; }
as_stdout() { entering 1<"$work/directory"; }
as_stderr() { entering 2<"$work/directory"; }
has_not_run() { [ "$status" -eq 125 ] && [ ! -e "$work/trace/ran" ]; }

for stream in stdin stdout stderr; do
	run "as_$stream"
	check "a_directory_is_refused_as_$stream" has_not_run
	[ "$stream" = stderr ] || check "the_refusal_explains_a_directory_as_$stream" err_has 'is a directory, through which'
done
for fd in 0 1 2; do
	for kind in directory file; do
		run with_path "$fd" "$work/$kind"
		check "a_${kind}_opened_with_o_path_is_refused_as_fd_$fd" has_not_run
	done
done
# What the supervisor refuses for another reason has a fix that a user can carry out.
# shellcheck disable=SC2046 # each number is an argument
run sbx-ctl exec d -- true $(seq 5000)
check too_many_arguments_are_refused has_status 125
check fewer_are_asked_for err_has 'fix: give fewer arguments'
run sbx-ctl exec d -- cat <"$work/file"
check exec_reads_a_regular_file_as_stdin out_is mine
run entering
check without_any_of_that_it_runs test "$status" -eq 0 -a -e "$work/trace/ran"
finish
