#!/bin/bash
# SPDX-License-Identifier: MIT
# A log whose private key is in the kernel's keyring or in a systemd credential: its directory contains only a
# reference.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

line=$(printf 'sbx-audit-key/1 0 %s' "$(head -c 32 /dev/urandom | base64)")
# with_key NAME COMMAND...: runs COMMAND in a new session keyring with the line as NAME ('': without it).
with_key() {
	LINE=$line python3 -c '
import ctypes, os, platform, sys
first = 248 if platform.machine() == "x86_64" else 217  # add_key, request_key, keyctl
call = ctypes.CDLL(None).syscall
if call(first + 2, 1, None) < 0:  # KEYCTL_JOIN_SESSION_KEYRING
    sys.exit(77)
line = (os.environ["LINE"] + "\n").encode()
if sys.argv[1] and call(first, b"user", sys.argv[1].encode(), line, len(line), -3) < 0:
    sys.exit(77)
os.execvp(sys.argv[2], sys.argv[2:])' "$@"
}
add_one() { decisions 1 1 | "$@" sbx-audit append -q -l "$log"; }
secret_is_in() { grep -qrF "${line##* }" "$1"; }

mkdir "$work/credentials"
printf '%s\n' "$line" >"$work/credentials/log-key"
chmod 400 "$work/credentials/log-key"
export CREDENTIALS_DIRECTORY=$work/credentials
run sbx-audit setup -l "$log" --key-in=credential:log-key
check setup_takes_a_credential has_status 0
key=$out
run add_one env
check records_are_signed_with_it has_status 0
check the_directory_only_names_the_credential test "$(cat "$log/key")" = 'sbx-audit-key/1 in credential:log-key'
check no_file_of_the_directory_contains_the_key eval '! secret_is_in "$log"'
run sbx-audit verify --full -l "$log" --key "$key"
check the_log_is_verified has_status 0
run sbx-audit key change -l "$log"
check its_key_is_not_changed has_status 125
check it_is_said_why err_has 'it is kept outside the log'
run add_one env -u CREDENTIALS_DIRECTORY
check without_the_credential_nothing_is_written has_status 125
check the_missing_key_is_told err_has 'the keyring or credential that it names has no key'
run sbx-audit setup -l "$log"
check setup_makes_no_other_key has_status 1
chmod 444 "$work/credentials/log-key"
run add_one env
check a_credential_that_others_can_read_is_refused has_status 125
unset CREDENTIALS_DIRECTORY

run sbx-audit setup -l "$work/none" --key-in=keyring:sbx-test-missing
check a_key_that_is_missing_makes_no_log has_status 125
run sbx-audit setup -l "$work/none" --key-in=file:key
check another_place_is_wrong_usage has_status 2

log=$work/log2
run with_key sbx-test-key sbx-audit setup -l "$log" --key-in=keyring:sbx-test-key
if [ "$status" -eq 77 ]; then
	skip setup_takes_a_key_of_the_keyring 'the kernel gives no keyrings here'
	finish
	exit
fi
check setup_takes_a_key_of_the_keyring has_status 0
check both_places_had_the_same_key test "${out##*+}" = "${key##*+}"
run add_one with_key sbx-test-key
check records_are_signed_with_the_keyring has_status 0
check nothing_of_the_key_is_on_the_disk eval '! secret_is_in "$log"'
run add_one with_key ''
check without_the_keyring_nothing_is_written has_status 125
run sbx-audit query -l "$log" -e policy_decision
check one_record_was_written has_lines 1
finish
