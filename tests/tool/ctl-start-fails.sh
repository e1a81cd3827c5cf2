#!/bin/bash
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/ctl.sh" || exit 99
fake

sbx-ctl create --id a --fails -- true >/dev/null
run sbx-ctl start a
check a_sandbox_that_cannot_be_built_is_told has_status 125
check start_prints_the_error_of_sbx_spawn err_has 'sbx-spawn: cannot build it'
check escape_sequences_in_the_error_are_escaped err_has '\x1b[31mit is a test'
check its_status_is_told err_has 'ended with 125 before the command ran'
check it_has_ended state_is a DESTROYED
run sbx-ctl wait a
check its_status_is_that_of_a_failure has_status 125
run sbx-ctl start a
check it_is_not_tried_again has_status 1

# A supervisor that refuses at once, as for a policy that became invalid.
sbx-ctl create --id b -- true >/dev/null
cp "$work/bin/sbx-spawn" "$work/bin/kept"
printf '%s\n' '#!/bin/sh' "echo '{\"what\":\"no\",\"why\":\"a test\"}' >&2" 'exit 125' >"$work/bin/sbx-spawn"
run sbx-ctl start b
check a_start_that_is_refused_is_told has_status 125
check the_refusal_is_shown err_is $'sbx-ctl: no\n  why: a test'
check it_still_waits state_is b CREATING
printf '%s\n' '#!/bin/sh' '[ "$1" = --print-plan ] && echo "{}" && exit' 'echo died >&2' 'exit 3' >"$work/bin/sbx-spawn"
run sbx-ctl start b
check one_that_dies_before_it_begins_is_told err_has 'ended with 3 before the command ran'
check start_prints_earlier_output_of_sbx_spawn err_has died
check it_waits_even_then state_is b CREATING
sbx-ctl create --id r -- true >/dev/null
printf '%s\n' '#!/bin/sh' '[ "$1" = --print-plan ] && echo "{}" && exit' "rm -r '$sandboxes/r'" >"$work/bin/sbx-spawn"
run sbx-ctl start r
check one_that_is_removed_by_another_process_is_told err_has 'it was removed as soon as it was started'
mv "$work/bin/kept" "$work/bin/sbx-spawn"

# Neither the configuration nor the policy that it names changes.
echo one >policy
sbx-ctl create --id p --policy policy -- true >/dev/null
check the_digest_of_its_policy_is_kept test "$(member p policy_digest)" = one
echo two >policy
run sbx-ctl start p
check a_policy_that_has_changed_is_refused has_status 1
check that_it_has_changed_is_said err_has 'its policy has changed'
check nothing_was_started state_is p CREATING
rm policy
run sbx-ctl start p
check a_policy_that_is_gone_is_refused has_status 125
echo one >policy
run sbx-ctl start p
check the_same_policy_is_accepted has_status 0

# The working directory of create was removed.
mkdir gone
(cd gone && sbx-ctl create --id g -- true >/dev/null)
rmdir gone
run sbx-ctl start g
check without_its_working_directory_a_sandbox_cannot_start has_status 125
check the_error_names_the_removed_working_directory err_has "'$work/gone', does not exist any more"
check the_error_about_it_shows_the_fix err_has 'fix: create that directory again'
check it_can_be_started_later state_is g CREATING
mkdir gone
run sbx-ctl start g
check with_its_working_directory_a_sandbox_starts has_status 0

# Two starts at once: the first is still being checked when the second comes.
sbx-ctl create --id two -- echo said >/dev/null
mv "$work/bin/sbx-spawn" "$work/bin/kept"
cat >"$work/bin/sbx-spawn" <<END
#!/bin/sh
[ "\$1" = --print-plan ] && mv "$work/hold" "$work/held" 2>/dev/null && until [ -e "$work/go" ]; do sleep 0.01; done
exec "$work/bin/kept" "\$@"
END
chmod +x "$work/bin/sbx-spawn"
: >hold
sbx-ctl start two &
first=$!
until_true test -e held
run sbx-ctl start two
check a_second_start_at_the_same_time_is_refused has_status 1
check the_error_says_that_another_start_is_going_on err_has 'it is being started'
run sbx-ctl remove --force two
check what_is_being_started_is_not_removed has_status 1
check the_error_of_remove_says_that_a_start_is_going_on err_has 'it is being started'
: >go
run wait "$first"
check the_first_start_succeeds has_status 0
run sbx-ctl wait two
check the_log_has_the_output_of_the_command_alone logs_are two said
mv "$work/bin/kept" "$work/bin/sbx-spawn"

for verb in start stop remove 'remove --force'; do
	read -ra words <<<"$verb"
	run sbx-ctl "${words[@]}" nobody
	check "an_unknown_sandbox_is_an_error: $verb" has_status 1
	check "every_verb_says_the_same_of_it: $verb" err_has "sbx-ctl: there is no sandbox 'nobody'"
done
mkdir "$sandboxes/bare"
run sbx-ctl start bare
check an_entry_without_a_command_cannot_be_started has_status 1
check how_to_create_is_said err_has 'sbx-ctl create'
finish
