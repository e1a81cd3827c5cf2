#!/bin/bash
# SPDX-License-Identifier: MIT
# sbx-ring create: a name, two roles, each given once; a client gets nothing before the server has sealed its file.
. "${SBX_SOURCE:?}/tests/tool/ring.sh"

check a_keeper_becomes_ready create one
check it_prints_one_line test "$(cat said)" = "one: stream, 512KiB each way, at $XDG_RUNTIME_DIR/sbx/rings/one.sock"
check its_socket_is_for_its_user test "$(stat -c %a "$XDG_RUNTIME_DIR/sbx/rings/one.sock")" = 600
check its_directory_is_for_its_user test "$(stat -c %a "$XDG_RUNTIME_DIR/sbx/rings")" = 700
run keeper seals one
check a_client_is_not_answered_before_the_seals out_is 'the client got them after the seals'
check a_channel_that_both_have_left_ends_its_keeper ended one
check the_socket_is_removed test ! -e "$XDG_RUNTIME_DIR/sbx/rings/one.sock"

create two --mode call --size 128KiB --json
check json_has_name_socket_mode_and_sizes grep -qx \
	"{\"name\":\"two\",\"socket\":\"$XDG_RUNTIME_DIR/sbx/rings/two.sock\",\"mode\":\"call\",\"capacity\":65536,\"bytes\":131072,\"keep\":false}" said
run keeper roles two
check each_role_is_given_once out_is 'each role was given once'

create three
run sbx-ring create three
check a_name_is_kept_once refuses 1 "cannot create the channel 'three'" 'another process keeps a channel of this name' \
	'choose another name'
run keeper hostile three
check invalid_packets_are_refused out_is 'all were refused'
kill -9 "$(cat keeper.three)" && tail --pid="$(cat keeper.three)" -f /dev/null
run sbx-ring ls --json
check the_socket_of_a_killed_keeper_is_dead out_is '{"name":"three","state":"dead"}'
check it_is_replaced create three
run keeper ask three '{"type":"STATUS"}'
check the_new_one_answers out_has '"state": "waiting_for_server"'
service stop keeper.three
check sigterm_ends_it_with_its_socket test ! -e "$XDG_RUNTIME_DIR/sbx/rings/three.sock"
rm -f keeper.three

umask 000
create four
check the_umask_does_not_open_it test "$(stat -c %a "$XDG_RUNTIME_DIR/sbx/rings/four.sock")" = 600
umask 022
chmod 770 "$XDG_RUNTIME_DIR/sbx/rings"
run sbx-ring create five
check a_directory_that_others_can_read_is_refused refuses 125 'cannot use the directory of the channels' \
	'other users may write there, or read it' 'set XDG_RUNTIME_DIR'
chmod 700 "$XDG_RUNTIME_DIR/sbx/rings"
mv "$XDG_RUNTIME_DIR/sbx/rings" "$work/elsewhere"
ln -s "$work/elsewhere" "$XDG_RUNTIME_DIR/sbx/rings"
run sbx-ring create five
check a_link_is_refused refuses 125 'cannot use the directory of the channels' 'it is not a directory' 'set XDG_RUNTIME_DIR'
finish
