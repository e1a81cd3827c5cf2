#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/serve.sh"

token() { sbx-policy token --socket "$work/s" "$@"; }

# As an ordinary user: the services of root have a fixed path.
chmod 755 "$work"
mkdir -m 777 home
without_runtime() {
	[ "$(id -u)" -ne 0 ] || set -- setpriv --reuid=1000 --regid=1000 --clear-groups "$@"
	env -u XDG_RUNTIME_DIR -u XDG_STATE_HOME HOME="$work/home" "$@"
}

run token list
check without_a_service_it_says_how_to_start_one err_has "sbx-policy serve"
check and_that_is_a_failure has_status 125
cp a p.yaml
rule secret '/srv/p/secret/**' deny >>p.yaml
serve p.yaml
run token issue fs.write
check a_process_must_be_named err_has 'add --pid=PID'
check and_that_is_wrong_usage has_status 2
run token issue fs.wirte --pid $$
check the_operation_must_be_known has_status 2
run token issue fs.write --pid 4194303
check the_process_must_be_there err_has 'no such process'
run token issue fs.write --pid $$ --glob 'src/**'
check a_relative_glob_needs_a_project err_has 'project'
run token issue fs.write --pid $$ --glob '/srv/p/secret/x'
check a_token_for_a_denied_operation_is_refused err_has 'the policy denies'
check that_is_a_no has_status 1
run token issue fs.write --pid $$ --uses 0
check no_use_at_all_is_no_default err_has 'it could never be used'
check and_no_use_is_wrong_usage has_status 2
run token issue fs.write --pid $$ --ttl 30
check a_time_needs_a_unit has_status 2
for what in list "check sbx:x fs.write --pid $$" "issue fs.write --pid $$"; do
	# shellcheck disable=SC2086 # words
	run without_runtime sbx-policy token $what
	check "without_a_runtime_directory_token_${what%% *}_fails" eval 'has_status 125 && err_has "XDG_RUNTIME_DIR is not set"'
done
for service in 'sbx-audit serve' 'sbx-policy serve a' 'sbx-proxy serve'; do
	# shellcheck disable=SC2086 # words
	run without_runtime $service
	check "so_does_${service%% *}_serve" eval 'has_status 125 && err_has "XDG_RUNTIME_DIR is not set"'
done
run token isue fs.write
check a_mistyped_verb_is_explained err_has "did you mean 'issue'?"
run token revoke
check a_missing_token_is_explained has_status 2
run token list
check nothing_was_issued out_is ''
run sbx-policy token list --socket "$work/none.sock"
check a_service_that_does_not_run_can_be_started_as_said err_has "start it with 'sbx-policy serve FILE'"
run sbx-policy token --socket "$work/s" issue fs.write --pid 0
check no_token_is_for_process_0 err_has "option '--pid' cannot take '0'"
finish
