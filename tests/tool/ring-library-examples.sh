#!/bin/bash
# SPDX-License-Identifier: MIT
# The programs of sbx-ring(3) compile against the public headers alone, run, and do what the page says.
. "${SBX_SOURCE:?}/tests/tool/ring.sh"

page=$SBX_SOURCE/man/sbx-ring.3.scd
program() { # NAME: writes the block that begins with this comment
	awk -v first="/* $1 */" '/^```/ { inside = 0 } $0 == first { inside = 1 } inside' "$page" |
		sed 's/\\\\/\\/g' >"$1" # scdoc shows \\\\ as one backslash
}
# libsbx.so may have been built with sanitizers, whose libraries the program must load first.
build() { # NAME
	program "$1.c"
	run "${CC:-cc}" -std=c11 -Wall -Wextra -Werror ${SBX_TEST_CFLAGS:-} -I "$SBX_SOURCE/lib/include" -o "$1" "$1.c" \
		"$SBX_BUILD/lib/libsbx.so.0.0.0" -Wl,-rpath,"$SBX_BUILD/lib"
}

if nm -D "$SBX_BUILD/lib/libsbx.so.0.0.0" 2>/dev/null | grep -q __asan_init; then
	SBX_TEST_CFLAGS=-fsanitize=address,undefined
fi
build server
check the_server_compiles has_status 0
build client
check the_client_compiles has_status 0
run sbx-ring pair --with ./server -- ./client hello goodbye
check they_print_what_the_page_says out_is "$(sed -n '/^\$ sbx-ring pair --with \.\/server/,/^```/{/^[$`]/d;p}' "$page")"
check both_end_with_0 test "$status:$err" = 0:
run sbx-ring pair --with ./server -- sh -c 'exit 3'
check a_client_that_never_opens_it_is_noticed err_has 'the command of --with has ended with status 1'

awk '/^import os, socket, sys/ { inside = 1 } /^```/ { inside = 0 } inside' "$page" |
	sed "s,/usr/share/sbx/python,$SBX_SOURCE/lib/python," >client.py
run sbx-ring pair --with ./server -- python3 client.py
check the_client_in_python_gets_the_same out_is '10 bytes'

awk '/^import json, os, socket, sys/ { inside = 1 } /^```/ { inside = 0 } inside' "$page" |
	sed "s,/usr/share/sbx/python,$SBX_SOURCE/lib/python," >ask.py
# shellcheck disable=SC2016 # the command of the page
run sbx-ring pair --with 'python3 ask.py' -- sbx-ring call --serve -- sed -u 's/$/!/'
check a_request_in_python_gets_its_response out_is 'hello!'

sed -n '/^int  sbx_ring_open/,/^```/p' "$page" | tr -s ' \n' ' ' >functions
sed -e '1,/^# DESCRIPTION/d' -e '/^```/,/^```/d' -e 's/\\//g' "$page" >described
names=$(sed -n 's/^SBX_API .*\(sbx_ring_[a-z_]*\)(.*/\1/p' "$SBX_SOURCE/lib/include/sbx/ring.h" | sort -u)
for function in $names; do
	check "the_page_declares_$function" grep -q "$function(" functions
	check "the_page_describes_$function" grep -q "\*$function\*(" described
done
check there_are_functions test "$(echo "$names" | wc -l)" -ge 20
members=$(sed -n '/^struct sbx_ring_\(config\|statistics\) {/,/^}/p' "$SBX_SOURCE/lib/include/sbx/ring.h" |
	sed -e 's,/\*.*,,' -e '/;/!d' -e '/^}/d' -e 's/;.*//' -e 's/^\t[a-z0-9_ ]* \(\*\?[a-z_]*\(, [a-z_]*\)*\)$/\1/' | tr -s ', *' '\n' | sort -u)
for member in $members; do
	check "the_page_describes_$member" grep -q "_$member\(_\|-\|>\)" described
done
check there_are_members test "$(echo "$members" | wc -l)" -ge 20
finish
