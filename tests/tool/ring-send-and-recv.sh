#!/bin/bash
# SPDX-License-Identifier: MIT
# Records of stdin arrive as the same records of stdout, over every transport.
. "${SBX_SOURCE:?}/tests/tool/ring.sh"

through() { # OPTIONS: of both sides; OPTIONS: of the server
	sbx-ring pair --with "sbx-ring send --create $1 ${2:-} <in" -- sbx-ring recv $1 >got
}
same() { through "$@" && cmp in got; }

seq 200000 >in
check lines_arrive_in_order same ''
check lines_arrive_in_mode_call same '' '--mode call'
check lines_arrive_through_a_small_channel same '' '--size 128KiB'
check lines_arrive_over_a_unix_socket same '--transport unix_socket'
printf 'last line without newline' >in
through ''
check the_last_line_may_lack_its_newline cmp got <(cat in && echo)
printf '\n\n\n' >in
check empty_lines_are_messages same ''
: >in
check no_line_is_no_message same ''
head -c 3000000 /dev/urandom | tr '\n' x >in && echo >>in
check a_long_line_arrives same ''
check a_long_line_arrives_through_a_small_channel same '' '--size 128KiB'
printf 'one\ntwo\0three\0\0' >in
check nul_separates_messages_with_newlines same --null
python3 - >in <<'END'
import random, sys
for size in [0, 1, 7, 8, 9, 63, 64, 65, 131064, 131065, 4000000] + [random.randrange(3000) for _ in range(2000)]:
    sys.stdout.buffer.write(size.to_bytes(4, "little") + random.randbytes(size))
END
check framed_messages_may_have_any_bytes same --framed
check framed_messages_arrive_over_a_unix_socket same '--framed --transport unix_socket'
check framed_messages_arrive_through_a_small_channel same --framed '--size 128KiB --mode call'

head -c 16777221 /dev/zero | tr '\0' x >in && echo >>in
check the_longest_message_arrives same ''
{ echo short && head -c 16777222 /dev/zero | tr '\0' x; } >in
run sbx-ring pair --with 'sbx-ring recv --create >got' -- sbx-ring send --timeout 60s <in
check a_longer_line_is_refused_with_its_number refuses 2 'line 2 of stdin is too long' 'a message has at most 16777221 bytes' \
	'send it in shorter parts'
check lines_before_it_have_arrived test "$(cat got)" = short
printf '\5\0\0\0hell' >in
run sbx-ring pair --with 'sbx-ring recv --create >got' -- sbx-ring send --framed <in
check a_frame_that_is_cut_off_is_refused refuses 2 'message 1 of stdin is cut off' 'fewer bytes came' 'check that the length'
printf '\377\377\377\377hell' >in
run sbx-ring pair --with 'sbx-ring recv --create >got' -- sbx-ring send --framed <in
check a_length_over_the_limit_is_refused refuses 2 'message 1 of stdin is too long' 'a message has at most' 'send it in shorter'

# A line is there at once, not when a buffer is full.
mkfifo lines
sbx-ring pair --with 'sbx-ring send --create <lines' -- sbx-ring recv >got &
pair=$!
exec 5>lines
for i in 1 2 3; do
	echo "$i" >&5
	until [ "$(tail -n 1 got)" = "$i" ]; do :; done
	check "line_${i}_arrives_while_stdin_stays_open" test "$(wc -l <got)" = "$i"
done
exec 5>&-
check the_end_of_stdin_ends_both wait "$pair"

# A reader that has gone, a full disk.
run sbx-ring pair --with 'yes | sbx-ring send --create 2>said' -- bash -c 'sbx-ring recv | head -n 2; exit "${PIPESTATUS[0]}"'
check a_reader_that_has_gone_ends_recv_as_by_sigpipe test "$status:$out" = "141:y
y"
check the_server_is_told_what_to_do grep -q 'fix: let the other side stay' said
run sbx-ring pair --with 'seq 5 | sbx-ring send --create' -- sh -c 'sbx-ring recv >/dev/full'
check a_full_disk_is_reported refuses 125 'cannot write the messages to stdout' 'No space left on device' 'check where standard output goes'
run sbx-ring pair --with 'seq 5 | sbx-ring send --create' -- sh -c 'sbx-ring recv >&-'
check a_closed_stdout_is_reported refuses 125 'cannot write the messages to stdout' 'Bad file descriptor' 'check where'
run sbx-ring pair --with 'sbx-ring recv --create' -- sh -c 'sbx-ring send <&-'
check a_closed_stdin_is_reported refuses 125 'cannot read stdin' 'Bad file descriptor' ''
run sbx-ring pair --with 'sbx-ring recv --create' -- sh -c 'sbx-ring send </'
check a_directory_as_stdin_is_reported refuses 125 'cannot read stdin' 'Is a directory' ''

# The other end of the socket is open, and no process reads the channel.
unread() { # OPTION...: of send
	rm -f ended
	sbx-ring pair --with "sbx-ring send --create --size 128KiB $* <in 2>error; echo \$? >ended" -- \
		sh -c 'until [ -s ended ]; do :; done' 2>>log
	status=$(cat ended) out='' err=$(cat error)
}
yes 'a line of a text that fills the channel' | head -n 10000 >in
unread --when-full fail
check fail_ends_at_the_first_message_without_room refuses 1 'cannot send message' 'there was no room for the message' 'let the other side read'
check fail_has_no_time_out eval '! err_has time-out'
unread --when-full wait --timeout 50ms
check wait_ends_after_the_time_out refuses 1 'cannot send message' 'there was no room for the message before the time-out' 'let the other side read'
unread --when-full drop
check drop_counts_what_it_has_dropped refuses 1 '' 'there was no room for them (--when-full=drop)' 'let the other side read faster'
check it_says_how_many err_has 'of 10000 messages were dropped'
run sbx-ring pair --with 'cat <&3 >/dev/null' -- sbx-ring recv --timeout 50ms
check a_client_without_a_server_ends_after_the_time_out refuses 1 'cannot receive the channel' 'the server sent nothing' ''
run sbx-ring pair --with 'sbx-ring recv --create --timeout 50ms; true' -- sh -c 'cat <&3 >/dev/null'
check no_message_before_the_time_out_is_reported err_has 'no message came before the time-out'

# The other side must not move the cursor, nor with bytes that it changes while they are read.
cat >on-terminal <<'END'
import os, pty, sys
seen, ends = bytearray(), []
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    try:
        part = os.read(fd, 65536)
    except OSError:
        break
    if not part:
        break
    seen += part
os.waitpid(pid, 0)
print(len(seen), seen.count(b"\x1b"), seen.count(rb"\x1b"))
END
run python3 on-terminal sbx-ring pair --with 'sbx-ring -q recv --create' -- sh -c 'printf "a\033[2Jb\n" | sbx-ring send'
check a_terminal_shows_escapes_as_text test "${out#* }" = '0 1'
run python3 on-terminal sbx-ring pair --with 'sbx-ring -q recv --create' -- "$SBX_BUILD/tests/tool/ring-peer" flip 200
check all_messages_came_to_the_terminal test "${out%% *}" -ge 20000000
check bytes_that_change_are_no_escapes test "$(cut -d ' ' -f 2 <<<"$out")" = 0

at="--transport unix_socket --endpoint $work/packets"
# A reader that stalls for longer than a close waits loses nothing.
yes 'a line of a text that fills the channel' | head -n 30000 >in
sbx-ring recv $at --role server | { sleep 7; cat; } >got &
reader=$!
until [ -S packets ]; do :; done
run sbx-ring send $at --role client <in
check send_has_sent_everything_when_it_ends has_status 0
wait "$reader"
check a_reader_that_stalls_loses_nothing cmp in got

# Over TCP the port may be left to the kernel.
seq 3 | sbx-ring send --transport tcp 2>said &
sender=$!
until endpoint=$(sed -n 's/.*the endpoint is //p' said) && [ -n "$endpoint" ]; do :; done
run sbx-ring recv --transport tcp --endpoint "$endpoint"
check a_server_over_tcp_needs_no_endpoint out_is "$(seq 3)"
wait "$sender"
run sbx-ring send --transport unix_socket </dev/null
check a_unix_socket_needs_a_path refuses 2 'no channel given' 'there is no NAME, --endpoint or --fd' 'write the path of a unix socket: --endpoint=/PATH'

seq 3 | sbx-ring send $at --datagram &
sender=$!
until [ -S packets ]; do :; done
run sbx-ring recv $at
check a_stream_does_not_read_packets refuses 1 'cannot open a channel at' 'the two sides differ in stream or datagram' 'open both with is_datagram (--datagram)'
run sbx-ring recv $at --datagram
check packets_arrive out_is "$(seq 3)"
wait "$sender"
run sbx-ring recv --datagram --endpoint one
check datagrams_are_of_unix_sockets refuses 2 '--datagram has no effect here' 'only a unix socket at a path' 'leave it out'

create silent
run sbx-ring recv silent --role server --property ipc_timeout_ms=50
check the_property_is_the_time_out refuses 1 'cannot receive' 'no client came before the time-out' 'start the client'

# Two clients: one of them lacks --create.
run sbx-ring pair --with 'sbx-ring recv --timeout 2500ms; true' -- sbx-ring recv --timeout 2500ms
check two_clients_say_that_they_wait err_has 'waiting for the server at the other end of the socket: one of the two sides needs --create'
check each_says_it_once test "$(grep -c waiting <<<"$err")" = 2
check the_time_out_holds_from_the_start refuses 1 'cannot receive the channel' 'the server sent nothing' 'start the other side'
run sbx-ring pair --with 'sbx-ring -q recv --timeout 2500ms; true' -- sbx-ring -q recv --timeout 2500ms
check quiet_clients_wait_in_silence eval '! err_has waiting'
finish
