#!/bin/bash
# SPDX-License-Identifier: MIT
# After any failure the command must not run outside of a sandbox.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

# The command leaves a file if it runs outside of a sandbox.
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
--net proxy --tier-exactly reduced
--net proxy --proxy-fd 77
--require no-such-layer
--tier nothing
--id ../../etc
--uid 0
--bind /etc:relative
--memory lots
--template nothing
--audit-fd 77
--policy-fd 77
--ring-fd 77
--ring-fd 0
--out /nonexistent/out'
while read -r -a words; do
	run spawn "${words[@]}" -- "${leave[@]}"
	name=$(echo "${words[*]}" | tr -cs 'a-z0-9\n' _)
	check "does_not_run_bare_with_$name" test ! -e "$trace"
	check "is_not_a_success_with_$name" has_status 125
	rm -f "$trace"
done <<<"$failing"

# Options that cannot be enforced without a sandbox are refused, not ignored.
dropped='--policy /etc/passwd
--policy-fd 0
--require landlock
--min-tier full
--tier-exactly full
--template code-executor
--memory 1GiB
--time 1m
--deny /etc
--exec /usr/bin
--net none
--deny-net
--env A=b
--cwd /tmp
--hostname box
--uid 1000
--pty
--die-with-parent
--out out
--report report
--report-fd 2
--print-plan
--dry-run'
while read -r -a words; do
	run spawn --no-sandbox "${words[@]}" -- "${leave[@]}" </dev/null
	option=$(echo "${words[0]}" | tr -cs 'a-z\n' _)
	check "does_not_forget$option" test "$status" -eq 125 -a ! -e "$trace"
	check "says_that_it_cannot_hold$option" err_has "option '${words[0]}' needs a sandbox"
	rm -f "$trace"
done <<<"$dropped"
run spawn --no-sandbox --read /usr --write . --ptrace --id bare --audit-fd 2 -- echo ran
check options_that_only_grant_are_harmless_without_a_sandbox out_is ran

run spawn -- "${leave[@]}"
check inside_it_leaves_none test ! -e "$trace"

# If the registry is in /tmp, another user may have taken its name; /tmp is private in this test. If the build is in the /tmp
# that is covered, it stays reachable by a file descriptor.
taken() { # COMMAND-THAT-TAKES-IT
	local tools
	tools=$(dirname -- "$(command -v sbx-spawn)")
	PATH=/proc/self/fd/9:$PATH unshare --mount --propagation=private sh -c '
		mount -t tmpfs tmpfs /tmp && chmod 1777 /tmp && eval "$2" || exit 99
		setpriv --reuid="$1" --regid="$1" --clear-groups env -u XDG_RUNTIME_DIR -u XDG_STATE_HOME HOME=/nonexistent sbx-spawn -- \
			sh -c "echo it ran"
		status=$?
		[ -z "$(find /tmp -mindepth 2)" ] || exit 98
		exit "$status"' sh "$user" "$1" 9<"$tools"
}
if [ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null; then
	i=0
	for way in "mkdir -m 777 /tmp/sbx-$user" "ln -s /var/tmp /tmp/sbx-$user" "touch /tmp/sbx-$user"; do
		i=$((i + 1))
		run taken "$way"
		check "a_registry_that_another_user_has_taken_is_refused_$i" has_status 125
		check "the_error_names_the_possible_owner_$i" err_has 'it belongs to another user, who may have created it first'
	done
	# The rest of /proc is needed for messages, too.
	without_proc() { unshare --mount --propagation=private sh -c 'mount -t tmpfs tmpfs /proc && exec "$@"' sh "$@"; }
	for command in 'sbx-spawn -- echo ran' 'sbx-spawn --out new -- echo ran' 'sbx-ctl create -- echo ran'; do
		# shellcheck disable=SC2086 # words
		run without_proc $command
		check "without_proc_nothing_is_run: $command" out_is ''
		check "proc_is_named: $command" err_has /proc
	done
else
	skip a_registry_that_another_user_has_taken_is_refused_1 'only root can make a /tmp for it'
	skip without_proc_nothing_is_run 'only root can hide it'
fi
finish
