#!/bin/sh
# SPDX-License-Identifier: MIT
# A worker and a hostile supervisor.
. "$SBX_SOURCE/tests/tool/tap.sh"
. "$SBX_SOURCE/tests/tool/proxy.sh"

echo 'net: {mode: proxy}' >>policy.yaml
for fault in digest unsealed damaged connected fds unknown twice closed; do
	run proxy alone policy.yaml "$fault"
	check "a_worker_ends_after_the_fault_$fault" out_is 'refused, ended with 0'
done
allow "$origin" >host.yaml
echo 'net: {mode: host}' >>host.yaml
run proxy alone host.yaml closed
check a_policy_that_was_not_compiled_for_a_proxy_is_refused test "$status" -ne 0
finish
