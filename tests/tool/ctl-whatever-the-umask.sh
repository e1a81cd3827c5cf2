#!/bin/bash
# SPDX-License-Identifier: MIT
# With a umask of 0777 sbx can still use its own files, and the command gets the caller's umask. As an ordinary user,
# because root ignores modes.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

who=user
ctl() { places && (cd "$project" && as user sbx-ctl "$@"); }
masked() { places && (cd "$project" && umask 777 && as user "$@"); }
registry=$work/user/run/sbx/sandboxes

run masked sbx-spawn -q -- true
check a_start_is_a_start has_status 0
check it_leaves_nothing_in_the_registry test -z "$(ls -A "$registry")"
run masked sbx-spawn -q -- true
check so_is_the_next_one has_status 0
run masked sbx-ctl create --id a -- sh -c 'umask; exec sleep 1000'
check a_sandbox_is_created has_status 0
run masked sbx-ctl start a
check it_starts has_status 0
has_written() { run ctl logs a && [ -n "$out" ]; }
eventually has_written
check the_command_has_the_starters_umask out_is 0777
run ctl inspect a
check it_can_be_looked_at out_has '"state":"RUNNING"'
run masked sbx-ctl remove --force --time 0s a
check it_can_be_removed has_status 0

# As older versions have left them.
as user mkdir -m 0 "$registry/closed"
ctl create --id b -- true >/dev/null
run ctl list
check the_list_continues_after_a_closed_directory test "$status" -eq 0 -a "${out#*created}" != "$out"
check the_closed_one_is_a_warning err_has "warning: cannot open the sandbox 'closed'"
run ctl --json list
check as_json_it_is_one_too err_has '{"level":"warn"'
run ctl gc
check gc_goes_on_behind_it has_status 0
check gc_warns_of_it err_has "warning: cannot take the sandbox 'closed'"
run ctl inspect closed
check a_closed_directory_named_by_its_id_is_an_error has_status 1
check how_to_open_it_is_said err_has "chmod 700 'closed'"
as user chmod 700 "$registry/closed"
run ctl gc
check once_it_is_open_it_goes test ! -e "$registry/closed"

# sbx-spawn itself reports it before the start.
programs_policy
run ctl create --id p "-p$work/p.yaml" -- true
run ctl inspect p
check the_policy_is_known_before_the_start out_has "\"policy\":\"$work/p.yaml\""
check so_is_its_user out_has "\"uid\":$(as user id -u),"
finish
