# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# TAP for shell tests. A test file sources this, calls "check NAME COMMAND..." and ends with "finish".
#
#   run COMMAND...        runs it; status, out and err have the result
#   check NAME COMMAND... ok if the command succeeds; the NAME is a sentence
#   skip NAME REASON      the host cannot do it
#   eventually COMMAND... repeats it until it succeeds, for what another process does; fails after five minutes
#
# TEST_ONLY=text runs the checks whose name contains the text.

# The umask of the caller may be stricter, but other users must be able to read the tests' files.
umask 022
n=0
n_failed=0
work=$(mktemp -d)
# A signal for a child of bash that has not become its command yet runs the trap in the child.
# shellcheck disable=SC3028 # empty in other shells
trap 'if [ "${BASHPID:-$$}" = "$$" ]; then rm -rf "$work"; fi' EXIT
status='' out='' err=''

run() {
	status=0
	"$@" >"$work/out" 2>"$work/err" || status=$?
	if [ -n "${BASH_VERSION:-}" ]; then
		# shellcheck disable=SC3034 # bash reads the files without a process
		out=$(<"$work/out") err=$(<"$work/err")
	else
		out=$(cat "$work/out") err=$(cat "$work/err")
	fi
}

wanted() {
	case $1 in
	*"${TEST_ONLY:-}"*) return 0 ;;
	*) return 1 ;;
	esac
}

check() {
	name=$1
	shift
	wanted "$name" || return 0
	n=$((n + 1))
	if "$@"; then
		echo "ok $n - $name"
		return 0
	fi
	n_failed=$((n_failed + 1))
	echo "not ok $n - $name"
	printf '%s\n' "check: $*" "status: $status" "out: $out" "err: $err" | sed 's/^/# /'
}

skip() {
	wanted "$1" || return 0
	n=$((n + 1))
	echo "ok $n - $1 # SKIP $2"
}

eventually() {
	tries=0
	until "$@"; do
		[ $((tries += 1)) -le 6000 ] || return 1
		sleep 0.05
	done
}

# Has the child become this command? Until then it is a copy of the shell, with its user and its traps.
has_become() { # PID COMMAND
	[ "$(cat "/proc/$1/comm" 2>/dev/null)" = "$2" ]
}

finish() {
	echo "1..$n"
	[ "$n_failed" -eq 0 ]
}

# For check: they test the result of the last run.
has_status() { [ "$status" -eq "$1" ]; }
out_is() { [ "$out" = "$1" ]; }
err_is() { [ "$err" = "$1" ]; }
out_has() { case $out in *"$1"*) true ;; *) false ;; esac; }
err_has() { case $err in *"$1"*) true ;; *) false ;; esac; }
