# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# For tests of sbx-proxy, sourced after tap.sh. $origin is the port of an HTTP server on the loopback, which writes the
# target of each request to $work/origin; policy.yaml allows it. Everything that is started is stopped at the end.

proxy() { python3 "$SBX_SOURCE/tests/tool/proxy.py" "$@"; }
service() { python3 "$SBX_SOURCE/tests/tool/seqpacket.py" "$@"; }

# start_proxy OPTION...: a proxy without service, at the path $work/proxy; returns when it accepts.
start_proxy() {
	service start "$work/proxy.pid" sbx-proxy --listen-unix "$work/proxy" --audit-fd 9 "$@" \
		9>>"$work/records" >>"$work/said" 2>>"$work/log"
}
# stop_one NAME: what has its pid in NAME.pid
stop_one() {
	[ -e "$work/$1.pid" ] && service stop "$work/$1.pid"
	rm -f "$work/$1.pid"
}
stop_all() {
	stop_one proxy
	stop_one service
	stop_one origin
}
recorded() { grep "\"event\":\"$1\"" "$work/records" | grep -qF -e "${2:-}"; }
allow() { # PORT
	cat <<-END
		version: 1
		capabilities:
		  - name: origin
		    match: { syscall: net.connect, cidr: ["127.0.0.1/32"], ports: [$1] }
		    action: allow
	END
}

cd "$work" || exit 1
trap 'stop_all; rm -rf "$work"' EXIT
export XDG_STATE_HOME="$work/state" HOME="$work"
proxy origin "$work/origin.pid" "$work/port" "$work/origin" || exit 1
# shellcheck disable=SC2034 # for the test that sources this
origin=$(cat "$work/port")
allow "$origin" >policy.yaml
