#!/bin/bash
# SPDX-License-Identifier: MIT
# What each verb refuses, with what, why and fix.
. "${SBX_SOURCE:?}/tests/tool/ring.sh"

# Each line: STATUS|ARGUMENTS|WHAT|WHY|FIX. The arguments are words of a shell.
while IFS='|' read -r code arguments what why fix; do
	eval "run timeout 20 sbx-ring $arguments </dev/null"
	check "refuses_[$arguments]" refuses "$code" "$what" "$why" "$fix"
done <<'END'
2|create|missing argument: create needs NAME||
2|create a b|||
2|create ../a|cannot use the channel '../a'|a name has 1 to 64 letters|choose another name
2|create .hidden|cannot use the channel '.hidden'|a name has 1 to 64 letters|choose another name
2|create ''|cannot use the channel ''|a name has 1 to 64 letters|choose another name
2|create "$(printf 'a\nb')"|cannot use the channel|a name has 1 to 64 letters|choose another name
2|create $(printf 'a%.0s' $(seq 65))|cannot use the channel|a name has 1 to 64 letters|choose another name
2|create x --size 1000|no channel can have the size 1000|it is for both directions together|choose 128KiB
2|create x --size 64KiB|no channel can have the size 65536|it is for both directions together|choose 128KiB
2|create x --size 4GiB|no channel can have the size 4294967296|it is for both directions together|choose 128KiB
2|create x --size 0|option '--size' cannot take '0'||
2|create x --mode fast|option '--mode' cannot take 'fast'||
1|send none|cannot use the channel 'none'|no keeper of this name runs|start one: sbx-ring create none
2|send|no channel given|there is no NAME, --endpoint or --fd, and SBX_RING_FD is not set|write a NAME
2|send a --fd 0|more than one channel given|a NAME, --endpoint and --fd exclude each other|leave out all but one
2|send a --endpoint b|more than one channel given|a NAME, --endpoint and --fd exclude each other|leave out all but one
2|send --fd 0|cannot use file descriptor 0 as a channel|it is not a unix socket|start the command with
2|send --fd 99|option '--fd' cannot take '99'|no file is open under this number|start it with a socket: sbx-ring pair --with=
2|send a --transport tcp|a NAME does not go with this transport|a name is of a channel in shared memory|write the path or the port
2|send a --transport udp|option '--transport' cannot take 'udp'|UDP loses messages|use tcp, or unix_socket
2|send a --transport grpc|option '--transport' cannot take 'grpc'|channels have frames of their own|use tcp
2|send a --transport unix_scoket|option '--transport' cannot take 'unix_scoket'|there is no such transport|did you mean 'unix_socket'?
2|send a --size 2MiB|--size has no effect here|the keeper has chosen size and mode|leave it out, and give it to 'sbx-ring create'
2|send --transport unix_socket --endpoint "$work/s" --role server --timeout 20ms --size 1000|no channel can have the size 1000|it is for both directions together|choose 128KiB
2|create --fds -- sbx-ring recv --create --fd 3 --timeout 20ms --size 131073|no channel can have the size 131073|it is for both directions together|choose 128KiB
2|create --fds -- sbx-ring recv --create --fd 3 --timeout 20ms --size 64KiB|no channel can have the size 65536|it is for both directions together|choose 128KiB
2|send a --mode call|--mode has no effect here|the keeper has chosen size and mode|leave it out, and give it to 'sbx-ring create'
2|send a --property ipc_shm_size=2097152|--property with a size has no effect here|the keeper has chosen size|leave it out
2|send a --property ipc_buffer_size=1024|--property with a size has no effect here|the keeper has chosen size|leave it out
2|recv --endpoint a --size 2MiB|--size has no effect here|the keeper has chosen size and mode|leave it out
2|recv --endpoint a --role server --mode call|--mode has no effect here|the keeper has chosen size and mode|leave it out
2|call --serve --endpoint a --mode call -- cat|--mode has no effect here|the keeper has chosen size and mode|leave it out
2|send --transport unix_socket --endpoint "$work/s" --mode call|--mode has no effect on this transport|only channels in shared memory|leave it out
2|send --transport unix_socket --endpoint "$work/home"|cannot open a channel at|the path exists and is not a socket|remove it
2|send --transport unix_socket --endpoint "/$(printf 'a%.0s' $(seq 120))"|cannot open a channel at|the kernel takes at most 107 bytes|choose a shorter path
2|send --transport unix_socket --endpoint "$SBX_SOURCE/dev/s"|cannot open a channel at|a part of the path is not a directory|choose another path
1|recv --transport unix_socket --endpoint "$work/s" --role server --timeout 20ms|cannot receive|no client came before the time-out|start the client
1|send --transport unix_socket --endpoint "$work/s" --timeout 20ms|cannot send message|no client came before the time-out|start the client
1|send --transport unix_socket --endpoint "$work/s" --timeout 20ms --when-full fail|cannot send message|no client came before the time-out|start the client
2|send --null --framed a|--null does not go with --framed|messages end with NUL|leave out one of them
2|send a --when-full maybe|option '--when-full' cannot take 'maybe'||
2|send a --timeout 5|option '--timeout' cannot take '5'||
2|send a --create|--create has no effect without a socket|a channel with a name has been made by its keeper|leave it out
2|send a --property x|'x' is not a property|it has no '='|write --property=
2|send a --property ipc_speed=1|||
2|send a --property ipc_transport=grpc|||
2|send a b|||
1|recv none|cannot use the channel 'none'|no keeper of this name runs|start one: sbx-ring create none
2|recv|no channel given|there is no NAME|write a NAME
2|recv ..|cannot use the channel '..'|a name has 1 to 64 letters|choose another name
2|recv --fd 1|cannot use file descriptor 1 as a channel|it is not a unix socket|start the command with
2|recv --null --framed a|--null does not go with --framed|messages end with NUL|leave out one of them
2|recv --role both a|option '--role' cannot take 'both'||
2|recv --when-full drop a|unknown option '--when-full'||
2|pair --with 'sbx-ring send --create' -- sbx-ring recv --size 2MiB|--size has no effect here|the server chooses size and mode|leave it out, or give it to the side with --create
2|pair --with 'sbx-ring send --create' -- sbx-ring recv --mode call|--mode has no effect here|the server chooses size and mode|leave it out, or give it to the side with --create
1|call none|cannot use the channel 'none'|no keeper of this name runs|start one: sbx-ring create none
2|call|no channel given|there is no NAME|write a NAME
2|call --serve|no command given|--serve answers with a command|write 'sbx-ring call --serve -- cat'
2|call --serve -- cat|no channel given|there is no NAME|write --endpoint=NAME
2|call a -- cat|a command without --serve|call without --serve takes its requests from stdin|add --serve
2|call --framed a|unknown option '--framed'||
2|pair|||
2|pair -- true|no --with given|a pair is two commands|write --with=
2|pair --with '' -- true|no --with given|a pair is two commands|write --with=
2|pair --with true|||
2|pair --wiht true -- true|unknown option '--wiht'||did you mean '--with'?
2|pair --size 1MiB --with true -- true|||
2|pipe|||
2|pipe --size 3MiB -- echo started|no channel can have the size 3145728|it is for both directions together|choose 128KiB
2|pipe --size 1 -- echo started|no channel can have the size 1|it is for both directions together|choose 128KiB
2|pipe --size lots -- cat|option '--size' cannot take 'lots'||
2|pipe --audit-fd 99 -- cat|option '--audit-fd' cannot take '99'||
2|pipe --mode call -- cat|unknown option '--mode'||
1|inspect none|cannot use the channel 'none'|no keeper of this name runs|start one: sbx-ring create none
2|inspect|||
2|inspect a/b|cannot use the channel 'a/b'|a name has 1 to 64 letters|choose another name
2|inspect --bytes 1KiB a|--bytes has no effect without --dump|it says how much --dump shows|add --dump
2|inspect --dump --bytes 0 a|option '--bytes' cannot take '0'||
2|inspect a b|||
1|stat none|cannot use the channel 'none'|no keeper of this name runs|start one: sbx-ring create none
2|stat --dmup none|unknown option '--dmup'||did you mean '--dump'?
2|ls a|||
2|ls --watch|unknown option '--watch'||
2|ls --fd 0|unknown option '--fd'||
2|ls --mode call|unknown option '--mode'||
2|ls -0|unknown option '-0'||
END

export SBX_RING_FD=9
run sbx-ring recv
check a_number_that_is_not_open_is_refused refuses 2 "SBX_RING_FD is '9'" 'it is not the number of an open file descriptor' \
	"start it with 'sbx-ring pair'"
export SBX_RING_FD=x
run sbx-ring send
check a_variable_that_is_not_a_number_is_refused refuses 2 "SBX_RING_FD is 'x'" 'it is not the number' "start it with"
export SBX_RING_FD=2
run sbx-ring send
check stderr_is_not_taken_for_a_channel refuses 2 "SBX_RING_FD is '2'" 'it is not the number' "start it with"
unset SBX_RING_FD
run sbx-ring pair --with 'seq 5 | sbx-ring send --create --transport unix_socket' -- sbx-ring recv --timeout 60s
check a_server_of_another_transport_is_refused test "$status" = 1
run sbx-ring pair --with 'cat <&3' -- sbx-ring recv --follow
check follow_needs_an_endpoint refuses 2 '--follow needs a channel that can be opened again' 'a channel over a given socket ends' \
	'write a NAME'

export XDG_RUNTIME_DIR="$work/none"
run sbx-ring create x
check a_missing_runtime_directory_is_named refuses 125 "cannot use the directory of the channels, '$work/none/sbx'" \
	'No such file or directory' 'set XDG_RUNTIME_DIR'
long=$work/$(printf 'x%.0s' $(seq 100))
mkdir "$long" && chmod 700 "$long"
XDG_RUNTIME_DIR=$long run sbx-ring create x
check a_path_that_is_too_long_is_refused refuses 2 'cannot listen on' 'the kernel takes at most 107 bytes' 'choose a shorter name'
for verb in recv inspect; do
	XDG_RUNTIME_DIR=$long run sbx-ring "$verb" x
	check "${verb}_refuses_it_too" refuses 2 "cannot use the channel 'x'" 'the kernel takes at most 107 bytes' 'choose a shorter name'
done
run sbx-ring recv --json x
check recv_writes_no_json test "$status:$out" = 2:
check the_refusal_is_json err_has '"what":"recv does not go with --json"'
finish
