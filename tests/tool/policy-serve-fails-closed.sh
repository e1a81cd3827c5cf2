#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/serve.sh"

cp a p.yaml
serve p.yaml
check hostile_packets_are_refused_and_the_service_goes_on seqpacket hostile s
check every_one_of_them_is_recorded test "$(records policy_error)" -ge 200
stop

run timeout 20 sbx-policy serve --socket "$work/s" --max-clients 0 p.yaml
check no_clients_at_all_is_refused err_has "option '--max-clients' cannot take '0'"
run sbx-policy serve --socket "$work/s" --audit-fd 9 missing.yaml 9>>records
check without_its_policy_it_does_not_start has_status 2
echo 'capabilities: nonsense' >bad.yaml
run sbx-policy serve --socket "$work/s" --audit-fd 9 bad.yaml 9>>records
check with_a_broken_policy_it_does_not_start has_status 2
check the_place_of_the_mistake_is_said err_has 'bad.yaml:1:'
run sbx-policy serve --socket "$work/s" --audit-fd 9 p.yaml 9>/dev/full
check without_records_it_does_not_start test "$status" -ne 0
run sbx-policy serve --socket "$work/none/s" --audit-fd 9 p.yaml 9>none.records
check without_its_directory_it_says_so err_has 'its directory does not exist'
check and_records_no_start test ! -s none.records
serve p.yaml
run sbx-policy serve --socket "$work/s" --audit-fd 9 p.yaml 9>second.records
check a_second_one_on_the_socket_is_refused err_has 'another process listens there' 'choose another path'
check and_records_no_start_either test ! -s second.records
stop
run sbx-policy serve --socket "$work/s" --sandbox=box1="$work/none/x" --audit-fd 9 p.yaml 9>third.records
check what_fails_after_the_start_records_an_end test "$(grep -c kernel_start third.records)" = "$(grep -c kernel_shutdown third.records)"
run sh -c 'ulimit -n 14 && exec sbx-policy serve --socket "$1" --audit-fd 9 p.yaml' sh "$work/s" 9>few.records
check refuses_to_serve_nobody_where_open_files_are_limited err_has 'no room for a client' 'ulimit -n'
run sbx-policy serve --socket "$work/s" --sandbox=a/b="$work/x" p.yaml --audit-fd 9 9>>records
check a_sandbox_needs_an_id err_has 'its ID is not valid'
run sbx-policy serve --socket "$work/s" --fact=box1:tag=x p.yaml --audit-fd 9 9>>records
check a_fact_needs_a_sandbox err_has '--sandbox=ID=PATH'
run sbx-policy serve --sokcet s p.yaml
check a_mistyped_option_is_explained err_has "did you mean '--socket'?"

# A disk that becomes full after the start: RLIMIT_FSIZE makes write() fail in the same way.
rm -f records
(
	ulimit -f 2
	serve --record=all p.yaml
)
tries=0
while answers allow "$src" && [ $((tries += 1)) -lt 100 ]; do :; done
check a_decision_that_cannot_be_recorded_is_deny answers deny "$src"
finish
