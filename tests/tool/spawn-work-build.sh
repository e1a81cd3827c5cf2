#!/bin/bash
# SPDX-License-Identifier: MIT
# Real work: a small C project is built with make and ninja, and its program is run.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

make_sources() {
	rm -rf "${project:?}"/*
	cat >"$project/sum.h" <<-'END'
		int sum(int n);
	END
	cat >"$project/sum.c" <<-'END'
		#include "sum.h"

		int sum(int n)
		{
			return n > 0 ? n + sum(n - 1) : 0;
		}
	END
	cat >"$project/main.c" <<-'END'
		#include <stdio.h>

		#include "sum.h"

		int main(void)
		{
			return printf("%d\n", sum(100)) < 0;
		}
	END
	printf '%s\n' 'CFLAGS = -O1 -Wall -Werror' 'total: main.o libsum.a' '	$(CC) $(CFLAGS) -o $@ $^' \
		'libsum.a: sum.o' '	$(AR) rcs $@ $^' 'main.o sum.o: sum.h' 'clean:' '	rm -f total *.o *.a' \
		>"$project/Makefile"
	printf '%s\n' 'rule cc' '  command = cc -O1 -MD -MF $out.d -c $in -o $out' '  depfile = $out.d' '  deps = gcc' \
		'rule link' '  command = cc -o $out $in' 'build out/main.o: cc main.c' 'build out/sum.o: cc sum.c' \
		'build out/total: link out/main.o out/sum.o' >"$project/build.ninja"
}

for who in $starters; do
	make_sources
	run spawn -q --write . -- make -s -j2
	check "make_builds_by_$who" has_status 0
	run spawn -q -- ./total
	check "a_program_built_by_make_runs_inside_by_$who" out_is 5050
	run "$project/total"
	check "a_program_built_by_make_runs_outside_by_$who" out_is 5050
	run spawn -q --write . -- make
	check "make_finds_nothing_to_do_by_$who" out_has 'up to date'
	run spawn -q --write . -- make -s clean
	check "make_cleans_by_$who" test ! -e "$project/total" -a ! -e "$project/main.o"
	run spawn -q -- make -s
	check "make_fails_where_nothing_may_be_written_by_$who" test "$status" -eq 2 -a ! -e "$project/main.o"
	if command -v ninja >/dev/null; then
		run spawn -q --write . -- ninja -j2
		check "ninja_builds_by_$who" has_status 0
		run spawn -q -- out/total
		check "a_program_built_by_ninja_runs_by_$who" out_is 5050
		run spawn -q --write . -- ninja
		check "ninja_finds_nothing_to_do_by_$who" out_has 'no work to do'
	else
		skip "ninja_builds_by_$who" 'ninja is not installed'
	fi
done
finish
