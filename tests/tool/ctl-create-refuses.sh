#!/bin/bash
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
fake

run sbx-ctl create --bad -- true
check a_configuration_that_sbx_spawn_refuses_is_not_kept has_status 2
check sbx_spawn_says_why err_has "unknown option '--bad'"
run sbx-ctl list -q
check nothing_was_made out_is ''

run sbx-ctl create true
check a_command_without_dashes_before_it_is_refused has_status 2
check where_the_dashes_belong_is_said err_has "'sbx-ctl create [OPTION...] -- COMMAND'"
run sbx-ctl create --read /x --
check a_missing_command_is_refused has_status 2
run sbx-ctl create
check nothing_at_all_is_refused has_status 2

for option in --policy-fd=3 --report-fd --pass-fd --audit-fd --proxy-fd --ring-fd --dry-run --print-plan --check --no-sandbox \
	--die-with-parent --pty; do
	run sbx-ctl create "$option" -- true
	check "refuses_to_keep_${option//[-=3]/_}" has_status 2
done
check why_is_said err_has 'without a terminal'

for id in '' . .. a/b ../a -a 'a b' "$(printf 'a%.0s' {1..65})"; do
	run sbx-ctl create "--id=$id" -- true
	check "refuses_the_name_$(printf %s "$id" | tr -c 'a-z' _ | cut -c1-12)" has_status 2
done
run sbx-ctl list -q
check still_nothing_was_made out_is ''

mv "$work/bin/sbx-spawn" "$work/bin/gone"
run sbx-ctl create -- true
check without_sbx_spawn_nothing_is_created has_status 125
check the_error_names_the_missing_program err_has 'cannot find sbx-spawn'
run sbx-ctl ping
check without_sbx_spawn_the_host_is_not_ready has_status 125
finish
