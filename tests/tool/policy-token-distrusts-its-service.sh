#!/bin/sh
# SPDX-License-Identifier: MIT
# The socket's owner may be any program: an answer that no service gives is refused, and nothing of it reaches a terminal.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/serve.sh"

answer() {
	stop
	seqpacket answer "$work/s" "$work/pid" "$1"
}
token() { sbx-policy token --socket "$work/s" "$@"; }

answer '{"ok":true,"token":"sbx:x"}'
run token issue fs.write --pid $$
check a_token_is_printed out_is 'sbx:x'
for text in '{"ok":true}' '{"ok":true,"token":""}' '{"ok":true,"token":{}}'; do
	answer "$text"
	run token issue fs.write --pid $$
	check "an_answer_without_a_token_is_no_success_${#text}" eval 'has_status 125 && out_is "" && err_has "it has no token"'
	run token check sbx:x fs.write /a --pid $$
	check "nor_without_a_state_${#text}" eval 'has_status 125 && out_is "" && err_has "it has no token"'
done
answer '{"ok":true,"tokens":[],"after":7}'
run token list
check a_list_without_an_end_is_left eval 'has_status 125 && err_has "it names the same tokens again"'
answer '{"ok":true,"tokens":[{"token":"\u001b[31m","op":"\u001b[31m","pid":"\u001b[31m","uses":"\u001b"}]}'
run token list
check control_characters_of_a_list_are_shown out_has '\x1b[31m \x1b[31m'
check and_none_is_left test "$(printf %s "$out" | tr -d '\033')" = "$out"
answer '{"ok":true,"token":"\u001b[31m"}'
run token issue fs.write --pid $$
check those_of_a_token_too out_is '\x1b[31m'
for code in -2147483648 -99999999999999999999 99 '{}'; do
	answer "{\"ok\":false,\"code\":$code,\"what\":\"no\"}"
	run token revoke sbx:x
	check "a_code_that_is_no_errno_is_a_failure_$code" eval 'has_status 125 && err_has "Protocol error"'
done
finish
