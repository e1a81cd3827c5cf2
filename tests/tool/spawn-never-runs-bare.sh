#!/bin/bash
# SPDX-License-Identifier: MIT
# Whatever fails, the command does not run outside of a sandbox.
. "$SBX_SOURCE/tests/tool/tap.sh"
. "$SBX_SOURCE/tests/tool/spawn.sh"

# The attack that must not happen: a command that leaves a trace when it runs outside a sandbox.
trace=$work/trace
leave=(sh -c "touch '$trace'")
chmod 777 "$work"
"${leave[@]}"
check the_command_would_leave_a_trace test -e "$trace"
rm -f "$trace"

who=user
failing='--policy /nonexistent
--policy /etc/passwd
--read /nonexistent
--net proxy
--require no-such-layer
--tier nothing
--id ../../etc
--uid 0
--bind /etc:relative
--memory lots
--template nothing
--audit-fd 77
--policy-fd 77
--out /nonexistent/out'
while read -r -a words; do
	run spawn "${words[@]}" -- "${leave[@]}"
	name=$(echo "${words[*]}" | tr -cs 'a-z0-9\n' _)
	check "does_not_run_bare_with_$name" test ! -e "$trace"
	check "is_not_a_success_with_$name" has_status 125
	rm -f "$trace"
done <<<"$failing"
run spawn -- "${leave[@]}"
check inside_it_leaves_none test ! -e "$trace"
finish
