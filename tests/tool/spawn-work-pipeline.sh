#!/bin/bash
# SPDX-License-Identifier: MIT
# Real work: a filter in a pipeline. Its data is unchanged, and both ends see its end.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

# Ten million random bytes, including NUL and newline.
head -c 10000000 /dev/urandom >"$work/data"
sum=$(sha256sum <"$work/data")
lines=$(tr '\0' '\n' <"$work/data" | wc -l)
from_data() { spawn "$@" <"$work/data"; }
through_pipes() { cat "$work/data" | spawn "$@" | cat; }
ends_early() { spawn -q -- yes | head -n 1; }

for who in $starters; do
	run from_data -q -- sha256sum
	check "stdin_from_a_file_arrives_unchanged_by_$who" out_is "$sum"
	through_pipes -q -- sh -c 'cat | cat' >"$work/through"
	check "a_pipeline_inside_of_a_pipeline_changes_nothing_by_$who" cmp "$work/data" "$work/through"
	run from_data -q -- sh -c 'tr "\0" "\n" | wc -l'
	check "a_pipeline_of_the_shell_counts_right_by_$who" out_is "$lines"
	run from_data -q -- sh -c 'head -c 1 >/dev/null; exit 3'
	check "the_status_of_the_last_command_is_ours_by_$who" has_status 3
	run ends_early
	check "a_reader_that_goes_away_ends_it_by_$who" out_is y
	run spawn -q -- sh -c 'cat; echo end' </dev/null
	check "the_end_of_stdin_arrives_by_$who" out_is end
	run spawn -q -- sh -c 'echo to-out; echo to-err >&2'
	check "stdout_and_stderr_stay_apart_by_$who" test "$out,$err" = to-out,to-err
done
finish
