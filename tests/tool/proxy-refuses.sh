#!/bin/sh
# SPDX-License-Identifier: MIT
# What sbx-proxy does not start with.
. "$SBX_SOURCE/tests/tool/tap.sh"
. "$SBX_SOURCE/tests/tool/proxy.sh"

run sbx-proxy --listen 127.0.0.1:0
check without_a_policy_nothing_is_started has_status 2
check the_error_says_how_to_name_one err_has 'sbx-proxy --policy=FILE'
run sbx-proxy --policy policy.yaml
check without_a_socket_nothing_is_started has_status 2
check the_error_says_how_to_get_one err_has '--listen=127.0.0.1:8080'

for address in localhost:8080 127.0.0.1 '[::1]' 8080 127.1:8080 127.0.0.1:65536; do
	run sbx-proxy --policy policy.yaml --listen "$address"
	check "it_does_not_listen_at_$address" has_status 2
	check "the_error_shows_$address" err_has "cannot listen at '$address'"
done

echo 'version: 1
capabilities: 3' >broken.yaml
run sbx-proxy --policy broken.yaml --listen 127.0.0.1:0
check a_broken_policy_is_refused has_status 2
check the_error_has_the_line err_has 'broken.yaml:2:'
run sbx-proxy --policy none.yaml --listen 127.0.0.1:0
check a_missing_policy_is_refused has_status 2
check the_error_names_the_file err_has none.yaml

run sbx-proxy serve --policy policy.yaml
check serve_takes_no_policy has_status 2
check the_error_says_that_it_has_no_effect err_has "--policy has no effect on 'sbx-proxy serve'"
check the_error_says_where_it_has_one err_has "it is for 'sbx-proxy --policy'"
run sbx-proxy --policy policy.yaml --listen "127.0.0.1:$origin"
check an_address_in_use_ends_with_125 has_status 125
check the_error_says_how_to_find_who_uses_it err_has 'fix: choose another, or stop what uses it'
run sbx-proxy --policy policy.yaml --listen-unix "$work/none/proxy"
check a_missing_directory_is_to_be_created err_has 'fix: create the directory'
for place in "$work" "$work/policy.yaml"; do
	run timeout 20 sbx-proxy --policy policy.yaml --listen-unix "$place"
	check "it_does_not_listen_at_the_$(stat -c %F "$place" | tr ' ' _)" has_status 125
	check "the_error_about_the_$(stat -c %F "$place" | tr ' ' _)_says_that_it_is_no_socket" err_has 'something else than a socket'
done
run timeout 20 sbx-proxy --policy policy.yaml --listen-unix ''
check an_empty_path_is_refused has_status 2
check the_error_says_that_it_is_empty err_has 'the path is empty'
run sbx-proxy status --rate 1M
check status_takes_no_limits has_status 2
for option in --rate --max-bytes --max-connections --head-timeout --idle-timeout; do
	run sbx-proxy --policy policy.yaml --listen 127.0.0.1:0 "$option" 0
	check "a_limit_of_0_is_refused_for_$option" has_status 2
	check "the_error_names_$option" err_has "option '$option' cannot take '0'"
done
run sbx-proxy --policy policy.yaml --listen 127.0.0.1:0 --dns name.example
check a_name_is_no_name_server has_status 2
run timeout 20 sbx-proxy --policy policy.yaml --listen 127.0.0.1:0 --dns name.example --audit-fd 2
check records_on_stderr_do_not_hide_the_error err_has "cannot use the DNS servers 'name.example'"
for server in 127.0.0.1:0 127.0.0.1:65589 '[::1]:65589' 127.0.0.1,127.0.0.1:65536; do
	run timeout 20 sbx-proxy --policy policy.yaml --listen 127.0.0.1:0 --dns "$server"
	check "a_port_that_cannot_be_is_refused_in_$server" has_status 2
done
run sbx-proxy worker --uid 0
check a_worker_needs_a_socket has_status 2
run sbx-proxy worker --fd 0 </dev/null
check a_worker_needs_a_packet_socket has_status 2
check the_error_says_who_starts_workers err_has "sbx-spawn or 'sbx-proxy serve'"
run sbx-proxy status --socket "$work/none"
check status_without_a_service_fails has_status 125
check the_error_says_how_to_start_it err_has 'systemctl start sbx-proxy.socket'
finish
