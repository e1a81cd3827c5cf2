#!/bin/bash
# SPDX-License-Identifier: MIT
# A channel is for processes of its user outside of sandboxes: no sandbox reaches the socket of a keeper, and no other user.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

unset SBX_RING_FD
# Programs that an ordinary user may execute, too.
PATH="${SBX_BUILD:?}/tools:/usr/sbin:/usr/bin:/sbin:/bin"
service() { python3 "$SBX_SOURCE/tests/tool/seqpacket.py" "$@"; }
stop() { [ ! -e "$work/pid" ] || service stop "$work/pid" 2>/dev/null; }
trap 'stop; rm -rf "$work"' EXIT
channel=ring-test-$$
mkdir "$work/bin"
install -m 755 "$SBX_BUILD/tools/sbx-ring" "$work/bin/sbx-ring"
install -m 644 "$SBX_SOURCE/tests/tool/seqpacket.py" "$SBX_SOURCE/tests/tool/ring-keeper.py" "$work/bin"
start() {
	places
	as "$who" python3 "$work/bin/seqpacket.py" start "$work/$who/pid" sbx-ring create --keep "$channel" >/dev/null
	cp "$work/$who/pid" "$work/pid"
}

for who in $starters; do
	start
	rings=$XDG_RUNTIME_DIR/sbx/rings
	[ "$who" = root ] && rings=/run/sbx/rings
	check "the_keeper_listens_by_$who" test -S "$rings/$channel.sock"
	run begin_spawn -q --read / -- ls "$rings"
	check "a_sandbox_that_may_read_everything_does_not_see_it_by_$who" test -z "$out" -a "$status" -ne 0
	run begin_spawn -q --read / --read "$work/bin" -- "$work/bin/sbx-ring" send "$channel"
	check "it_cannot_open_the_channel_by_$who" err_has "no keeper of this name runs"
	run begin_spawn -q --read / --read "$work/bin" -- "$work/bin/sbx-ring" ls
	check "it_lists_nothing_by_$who" out_is ''
	stop
	rm -f "$work/pid"
done

# The same user in another user namespace reaches the socket, and gets nothing.
who=user
start
run as user unshare --user --map-root-user env XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" \
	python3 "$work/bin/ring-keeper.py" ask-at "$XDG_RUNTIME_DIR/sbx/rings/$channel.sock" '{"type":"TAKE","role":"server"}'
if [ "$status" -eq 0 ]; then
	check a_process_in_another_user_namespace_is_refused out_has '"error": "denied"'
	check it_gets_no_fds out_has '} 0'
else
	skip a_process_in_another_user_namespace_is_refused 'the host allows no user namespace'
fi
if [ "$(id -u)" -eq 0 ]; then
	chmod 755 "$work" "$work/user" "$work/user/run" "$work/user/run/sbx" "$work/user/run/sbx/rings"
	chmod 777 "$work/user/run/sbx/rings/$channel.sock"
	run setpriv --reuid=65534 --regid=65534 --clear-groups \
		python3 "$work/bin/ring-keeper.py" ask-at "$XDG_RUNTIME_DIR/sbx/rings/$channel.sock" '{"type":"STATUS"}'
	check another_user_is_refused_whatever_the_modes out_has '"error": "denied"'
	run env XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" setpriv --reuid=65534 --regid=65534 --clear-groups "$work/bin/sbx-ring" inspect "$channel"
	check a_client_does_not_talk_to_the_keeper_of_another_user err_has 'its keeper belongs to another user'
else
	skip another_user_is_refused_whatever_the_modes 'only root can become another user'
fi
finish
