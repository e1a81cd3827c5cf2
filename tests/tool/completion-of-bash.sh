#!/bin/bash
# SPDX-License-Identifier: MIT
# Calls the completion functions as bash does: with the words of the line and the index of the last one.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

eval "$(sbx-spawn --completion=bash)"
eval "$(sbx-config --completion=bash)"
eval "$(sbx-policy --completion=bash)"
eval "$(sbx-ring --completion=bash)"
eval "$(sbx-ctl --completion=bash)"
eval "$(sbx-audit --completion=bash)"
sbx-ring() { [ "$*" != 'ls -q' ] || printf '%s\n' one two; }
compopt() { :; } # the builtin works only during a completion of bash
sbx-ctl() { [ "$*" != 'list -q' ] || printf '%s\n' box; }
cd "$work" || exit 1
: >here.txt

# complete_line WORD...: $out has the offered words, one in each line; $offset is where another command begins
complete_line() {
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=() offset=''
	"_${1//-/_}"
	out=$(printf '%s\n' "${COMPREPLY[@]}")
}
offers() { printf '%s\n' "$out" | grep -Fqx -e "$1"; }
offers_no() { ! offers "$1"; }

complete_line sbx-spawn --
check options_are_offered offers --policy
complete_line sbx-spawn --completion = f
check a_value_behind_an_equals_sign_is_offered offers fish
complete_line sbx-spawn -p h
check a_file_is_offered_where_an_option_wants_one offers here.txt
for option in --read --write --exec --deny --unix --allow-read; do
	complete_line sbx-spawn "$option" h
	check "a_file_is_offered_to_$option" offers here.txt
done
complete_line sbx-spawn --device kv
check a_device_is_offered offers kvm
complete_line sbx-spawn ec
check a_command_is_offered offers echo
complete_line sbx-spawn -- -
check behind_two_dashes_there_are_no_options offers_no --policy

# Words after the command belong to the command.
complete_line sbx-spawn echo he
check without_bash_completion_the_command_gets_files offers here.txt
complete_line sbx-spawn python3 --
check our_options_are_not_offered_to_the_command offers_no --policy
_command_offset() { offset=$1; }
complete_line sbx-spawn python3 --
check the_command_completes_its_own_words test "$offset" = 1
complete_line sbx-spawn -q -p here.txt git --policy ''
check a_value_of_an_option_is_not_the_command test "$offset" = 4
complete_line sbx-spawn --policy = here.txt -- git ''
check nor_is_one_behind_an_equals_sign test "$offset" = 5
complete_line sbx-spawn -p here.txt ec
check the_command_itself_is_ours test -z "$offset"
check the_command_itself_is_offered offers echo

complete_line sbx-config s
check a_verb_is_offered offers set
complete_line sbx-config --completion bash s
check a_value_of_an_option_is_not_the_verb offers set
complete_line sbx-config -q set --
check the_options_of_the_verb_are_offered offers --where
complete_line sbx-config list --
check the_options_of_another_verb_are_not offers_no --where
complete_line sbx-config set --where = pr
check a_choice_of_the_verbs_option_is_offered offers project

for verb in send recv call inspect stat; do
	complete_line sbx-ring "$verb" o
	check "the_name_of_a_channel_is_offered_to_$verb" offers one
	check "one_that_begins_otherwise_is_not_to_$verb" offers_no two
done
complete_line sbx-ring recv --endpoint t
check a_name_is_offered_to_endpoint offers two
complete_line sbx-ring recv --endpoint = t
check so_it_is_behind_its_equals_sign offers two
complete_line sbx-ring call ech
check a_command_is_offered_to_call_too offers echo
complete_line sbx-ring recv --transport t
check transports_are_offered offers tcp

complete_line sbx-spawn --require p
check a_layer_is_offered_to_require test "$out" = pid
complete_line sbx-spawn --require ''
while read -r layer; do
	check "the_layer_${layer}_of_the_page_is_offered" offers "$layer"
done <<<"$(grep -A 3 '^\*--require\*' "$SBX_SOURCE/man/sbx-spawn.1.scd" | grep -o '_[a-z-]*_' | tr -d _)"
for verb in query tail stats; do
	complete_line sbx-audit "$verb" --event log_c
	check "an_event_is_offered_to_$verb" offers log_created
	complete_line sbx-audit "$verb" -e = sandbox_
	check "so_it_is_behind_its_letter_to_$verb" offers sandbox_failed
done

complete_line sbx-policy update --from h
check a_file_is_offered_although_another_verb_has_an_option_of_that_name offers here.txt
complete_line sbx-policy token --from h
check the_other_verbs_option_takes_no_file offers_no here.txt
complete_line sbx-policy eval here.txt --layer h
check a_list_of_files_is_completed offers here.txt
complete_line sbx-policy eval here.txt --layer = h
check so_it_is_behind_an_equals_sign offers here.txt
complete_line sbx-policy print -l h
check so_it_is_behind_its_letter offers here.txt

# Words that are operands.
for verb in start inspect stop kill pause resume exec logs wait remove ping; do
	complete_line sbx-ctl "$verb" b
	check "the_name_of_a_sandbox_is_offered_to_$verb" offers box
done
complete_line sbx-ctl volume ''
check what_can_be_done_with_a_volume_is_offered test "$(printf "%s" "$out" | tr "\n" " ")" = 'create list remove'
complete_line sbx-policy token ''
check what_can_be_done_with_a_token_is_offered test "$(printf "%s" "$out" | tr "\n" " ")" = 'issue check revoke list'
complete_line sbx-audit key c
check the_change_of_a_key_is_offered offers change
for verb in get set; do
	complete_line sbx-config "$verb" ''
	check "every_key_is_offered_to_$verb" test "$out" = "$(sbx-config list | cut -d ' ' -f 1)"
done
complete_line sbx-config set --where user ''
check a_key_is_offered_behind_an_option offers color
complete_line sbx-config set --where = user ''
check so_it_is_behind_one_with_an_equals_sign offers color

# Only an operand that can be repeated is offered again.
while read -r -a words; do
	complete_line "${words[@]}" ''
	check "nothing_is_offered_behind_the_operand: ${words[*]}" test -z "$out"
done <<'END'
sbx-config set color
sbx-config set --where user color
sbx-policy token issue
sbx-audit key change
sbx-ctl volume create
sbx-ctl logs box
sbx-ring send one
END
for verb in start inspect stop remove ping; do
	complete_line sbx-ctl "$verb" box ''
	check "another_sandbox_is_offered_to_$verb" offers box
done
complete_line sbx-ctl exec box ech
check a_command_is_offered_behind_the_sandbox offers echo
finish
