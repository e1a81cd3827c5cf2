# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# TAP for the tests in the virtual machine; sourced. A test is a function whose name is a sentence; its return value
# is the result:
#
#   . "$(dirname "$0")/tap.sh"
#   refuses_a_weak_unit() { ! exposure weak.service; }
#   run_tests refuses_a_weak_unit
#
# A test ends at the first command that fails; its trace is then printed as comments.

# Ends the running test as skipped: this host lacks something that it needs.
skip() { printf '%s\n' "$*" >"$TAP_FOLDER/skip"; exit 0; }

# Prints a number for information after the result.
remark() { printf '# %s\n' "$*" >>"$TAP_FOLDER/remarks"; }

# Prints the failed condition and ends the test.
fail() { set +x; printf '%s\n' "$*" >&2; exit 1; }

expect_same() # FILE FILE
{
	diff -u "$1" "$2" >&2 || fail "$1 and $2 differ"
}

# Waits until a command succeeds, at most this number of seconds.
within() # SECONDS COMMAND...
{
	until_time=$(($(date +%s) + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$(date +%s)" -lt "$until_time" ] || fail "did not come true in time: $*"
		sleep 0.2
	done
}

run_tests() # FUNCTION...
{
	TAP_FOLDER=$(mktemp -d)
	tap_n=0 tap_failed=0
	for tap_name in "$@"; do
		tap_n=$((tap_n + 1)) tap_mark=
		rm -f "$TAP_FOLDER/skip" "$TAP_FOLDER/remarks"
		# Not in a condition: there the shell ignores -e.
		(PS4='+ '; set -eux; "$tap_name") >"$TAP_FOLDER/out" 2>&1 </dev/null
		tap_status=$?
		if [ "$tap_status" = 0 ]; then
			[ ! -e "$TAP_FOLDER/skip" ] || tap_mark=" # SKIP $(cat "$TAP_FOLDER/skip")"
			printf 'ok %d - %s%s\n' "$tap_n" "$tap_name" "$tap_mark"
			[ ! -e "$TAP_FOLDER/remarks" ] || cat "$TAP_FOLDER/remarks"
		else
			tap_failed=1
			sed 's/^/# /' "$TAP_FOLDER/out"
			printf 'not ok %d - %s\n' "$tap_n" "$tap_name"
		fi
		[ -t 2 ] || sed "s/^/$tap_name: /" "$TAP_FOLDER/out" >&2 # a log gets all of it
	done
	rm -rf "$TAP_FOLDER"
	printf '1..%d\n' "$tap_n"
	exit "$tap_failed"
}
