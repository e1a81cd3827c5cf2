#!/bin/bash
# SPDX-License-Identifier: MIT
# --out: no set-user-ID files, and complete, including files that the command has made inaccessible.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

# shellcheck disable=SC2016 # for the shell inside
make_closed='echo closed >file && ln file other && chmod 0 file && echo open >open && chmod 604 open &&
	mkdir -p folder/below && echo deep >folder/below/file && chmod 0 folder/below folder . && exit 7'

listed() { # FILE.tar: mode and name
	tar -tvf "$1" | awk '{ print $1, $6 }'
}

for who in $starters; do
	rm -rf "${project:?}"/*
	places
	run spawn -q --out "$work/$who/programs" -- sh -c 'cp /bin/true program; chmod 4755 program; chmod 2755 program; mkdir folder; chmod g+s folder'
	check "a_command_can_set_no_set_id_bits_by_$who" test "$status" -ne 0 -a "$status" -ne 125 -a -z "$(find "$work/$who/programs" -perm /6000)"
	: >"$project/owned" && chmod 4755 "$project/owned"
	run spawn -q --out "$work/$who/copied.tar" -- touch owned
	check "an_archive_has_none_that_were_there_by_$who" test "$(listed "$work/$who/copied.tar")" = '-rwxr-xr-x owned'
	rm -f "$project/owned"

	run spawn -q --out "$work/$who/closed.tar" -- sh -c "$make_closed"
	check "closed_files_are_archived_with_the_commands_status_by_$who" has_status 7
	check "the_archive_has_the_modes_of_the_command_by_$who" test "$(listed "$work/$who/closed.tar" | xargs)" = \
		'---------- file d--------- folder/ d--------- folder/below/ -rw-r--r-- folder/below/file -rw----r-- open h--------- other'
	check "the_archive_has_the_closed_files_by_$who" test "$(tar -xOf "$work/$who/closed.tar" file folder/below/file)" = "$(printf 'closed\ndeep')"
	check "nothing_hidden_is_left_of_it_by_$who" test -z "$(find "$work/$who" -maxdepth 1 -name '.*')"
	run spawn -q --out "$work/$who/closed" -- sh -c "$make_closed"
	check "a_closed_directory_stays_closed_by_$who" test "$status" -eq 7 -a "$(stat -c %a "$work/$who/closed")" = 0
	chmod 700 "$work/$who/closed"
	run spawn -q --out "$work/$who/kept.tar" -- \
		sh -c 'mkdir folder && touch folder/file && chmod 0 folder/file folder && for level in $(seq 520); do mkdir d && cd d; done'
	kept=$(echo "$work/$who"/.kept.tar.sbx-layer-*)
	check "where_there_is_no_archive_the_layer_is_as_it_was_by_$who" test "$status" -eq 125 -a "$(stat -c %a "$kept/folder")" = 0
	chmod -R u+rwX "$work/$who" # for cleanup
done
finish
