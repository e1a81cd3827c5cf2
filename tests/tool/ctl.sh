# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For tests of sbx-ctl, sourced instead of tap.sh. The registry and the volumes are private: for root in a mount
# namespace, for other users through the environment. "fake" replaces sbx-spawn by a supervisor that needs nothing of
# the host. Root's gc also looks for cgroups: those of the host, which belong to concurrent tests, are hidden unless
# CTL_CGROUPS is set.
: "${SBX_SOURCE:?}" "${SBX_BUILD:?}"
if [ "$(id -u)" = 0 ] && [ -z "${CTL_INSIDE:-}" ]; then
	unshare --mount true 2>/dev/null || { echo '1..0 # SKIP the registry of root has a fixed place'; exit; }
	CTL_INSIDE=1 exec unshare --mount --propagation private bash "$0" "$@"
fi
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

if [ "$(id -u)" = 0 ]; then
	mount -t tmpfs tmpfs /run && mkdir -p /var/lib/sbx && mount -t tmpfs -o mode=755 tmpfs /var/lib/sbx || exit 99
	[ -n "${CTL_CGROUPS:-}" ] || [ ! -d /sys/fs/cgroup ] || mount -t tmpfs tmpfs /sys/fs/cgroup || exit 99
	sandboxes=/run/sbx/sandboxes volumes=/var/lib/sbx/volumes
else
	mkdir -p "$work/run" "$work/state"
	export XDG_RUNTIME_DIR=$work/run XDG_STATE_HOME=$work/state
	# shellcheck disable=SC2034 # for the test that sources this
	sandboxes=$work/run/sbx/sandboxes volumes=$work/state/sbx/volumes
fi
cd "$work" || exit 99
end() {
	for id in $(sbx-ctl list -q); do sbx-ctl remove --force --time 0s "$id"; done
	cd / && rm -rf "$work"
}
trap 'end >/dev/null 2>&1' EXIT

# sbx-ctl runs the sbx-spawn of its own directory.
fake() {
	mkdir "$work/bin"
	cp "$SBX_BUILD/tools/sbx-ctl" "$work/bin/sbx-ctl"
	printf '#!/bin/sh\nexec python3 -B "%s" "$@"\n' "$SBX_SOURCE/tests/tool/ctl-supervisor.py" >"$work/bin/sbx-spawn"
	chmod +x "$work/bin/sbx-spawn"
	PATH=$work/bin:$PATH
}

# until_true COMMAND...: the rest of the test needs it.
until_true() {
	eventually "$@" && return
	echo "Bail out! never: $*"
	exit 1
}
# Is the process started and sleeping?
sleeps() { [ "$(process_state "$1")" = S ]; }
logs_are() { [ "$(sbx-ctl logs "$1")" = "$2" ]; }
running() { sbx-ctl ping "$1" >/dev/null 2>&1; }
until_running() { until_true running "$1"; }
supervisor() { python3 -B "$SBX_SOURCE/tests/tool/ctl-supervisor.py" "$@"; }
# member ID NAME: a value from the JSON of inspect, a string without quotes.
member() { sbx-ctl inspect "$1" | sed -E "s/.*\"$2\":(\"([^\"]*)\"|(\\[[^]]*\\]|[^,}]*)).*/\\2\\3/"; }
state_is() { [ "$(member "$1" state)" = "$2" ]; }
is_gone() { [ ! -e "$sandboxes/$1" ]; }
ends_with() { [ "$status" -eq "$1" ] && [ -z "$out" ]; }

# begin ID [OPTION...] -- COMMAND: creates and starts a sandbox.
begin() {
	id=$1
	shift
	sbx-ctl create --id "$id" "$@" >/dev/null && sbx-ctl start "$id"
}
# Kills the supervisor with SIGKILL.
orphan() {
	pid=$(member "$1" supervisor)
	kill -KILL "$pid"
	supervisor ended "$pid"
}
# True for a zombie, too: its parent may reap it later.
is_dead() { case $(process_state "$1") in Z | '') true ;; *) false ;; esac }
process_state() { sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null; }
