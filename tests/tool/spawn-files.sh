#!/bin/bash
# SPDX-License-Identifier: MIT
# The options that show, hide and protect files.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

make_files() {
	rm -rf "${work:?}/data" "${project:?}"/*
	mkdir -p "$work/data/sub" "$project/out" "$project/keep"
	echo one >"$work/data/one"
	echo two >"$work/data/sub/two"
	echo kept >"$project/keep/file"
	[ "$who" = user ] && [ "$(id -u)" -eq 0 ] && chown -R "$user:$user" "$work/data"
	return 0
}
owner() { stat -c %u "$1"; }
starter() { if [ "$who" = user ] && [ "$(id -u)" -eq 0 ]; then echo "$user"; else id -u; fi; }

for who in $starters; do
	make_files
	run spawn --read "$work/data" -- cat "$work/data/one" "$work/data/sub/two"
	check "read_shows_a_directory_by_$who" out_is "$(printf 'one\ntwo')"
	run spawn --read "$work/data" -- sh -c "echo x >'$work/data/one'"
	check "read_does_not_let_write_by_$who" test "$(cat "$work/data/one")" = one
	run spawn --read "$work/data/one" -- sh -c "cat '$work/data/one'; ls '$work/data'"
	check "read_of_a_file_shows_only_it_by_$who" out_is "$(printf 'one\none')"
	run spawn --write out -- sh -c 'echo made >out/made && mkdir out/d && mv out/made out/d/made && cat out/d/made'
	check "write_lets_write_by_$who" out_is made
	check "a_written_file_is_there_outside_by_$who" test "$(cat "$project/out/d/made")" = made
	check "a_written_file_belongs_to_the_starter_by_$who" test "$(owner "$project/out/d/made")" = "$(starter)"
	run spawn --write . -- sh -c 'echo changed >keep/file && rm -r out'
	check "write_of_the_directory_itself_by_$who" test "$(cat "$project/keep/file")" = changed -a ! -e "$project/out"
	make_files
	mkdir -m 2777 "$project/shared"
	run spawn --write . -- sh -c 'for mode in 2755 4755; do chmod $mode keep && echo set; chmod $mode keep/file && echo set; done'
	check "write_sets_no_set_id_bits_by_$who" out_is ''
	run spawn --write . -- sh -c 'mkdir shared/in && stat -c %a shared/in && chmod g-s shared/in && stat -c %a shared/in'
	check "an_inherited_set_group_id_bit_can_be_cleared_by_$who" out_is "$(printf '2755\n755')"
	make_files
	run spawn --write . --deny-write keep -- sh -c 'echo x >keep/file || rm keep/file || mv keep elsewhere || echo x >keep/new'
	check "deny_write_protects_by_$who" test "$(cat "$project/keep/file")" = kept -a ! -e "$project/keep/new"
	run spawn --write . --deny keep -- sh -c 'cat keep/file; ls keep'
	check "deny_hides_a_directory_by_$who" out_is ''
	run spawn --read "$work/data" --deny "$work/data/one" -- sh -c "cat '$work/data/one'; cat '$work/data/sub/two'"
	check "deny_hides_a_file_by_$who" out_is two
	# For the kernel "way/../one" is in data, by its text in the project.
	ln -s "$work/data/sub" "$project/way"
	for option in --read --deny --write; do
		run spawn "$option" way/../one -- true
		check "${option}_refuses_what_leaves_a_link_by_$who" eval "has_status 125 && err_has \"'..' after a symbolic link\""
	done
	rm "$project/way"
	run spawn --read keep/../keep/./../keep//file -- cat keep/file
	check "other_spellings_are_made_normal_by_$who" out_is kept
	run spawn --bind "$work/data:/srv/data" -- cat /srv/data/one
	check "bind_shows_it_elsewhere_by_$who" out_is one
	run spawn --bind "$work/data:/srv/data" -- sh -c 'echo x >/srv/data/one'
	check "bind_is_read_only_by_$who" test "$(cat "$work/data/one")" = one
	run spawn --bind "$work/data:/srv/data:rw" -- sh -c 'echo x >/srv/data/one'
	check "bind_is_writable_where_it_says_so_by_$who" test "$(cat "$work/data/one")" = x
	run spawn --tmpfs /srv/empty -- sh -c 'echo x >/srv/empty/a && cat /srv/empty/a'
	check "tmpfs_is_an_empty_directory_by_$who" out_is x
	run spawn --optional-read /nonexistent/x -- true
	check "an_optional_path_may_be_missing_by_$who" has_status 0
	run spawn --read /nonexistent/x -- true
	check "a_path_that_is_not_optional_must_exist_by_$who" has_status 125
	check "the_error_names_the_missing_path_by_$who" err_has /nonexistent/x
	[ "$(id -u)" -eq 0 ] || continue
	mkdir -p "$work/links"
	ln -sfn "$work/data" "$work/links/link"
	chown -h 12345 "$work/links/link"
	run spawn --write "$work/links/link" -- true
	check "a_strangers_link_is_not_followed_by_$who" has_status 125
	check "a_strangers_link_is_named_by_$who" err_has "$work/links/link"
done

# Files of root belong to another user than its command.
who=user
make_files
places
streams() { (cd "$project" && as "$who" sh -c "sbx-spawn -q -- sh -c '$1' <keep/file >>out/file 2>out/errors"); }
streams 'cat /dev/stdin; echo more >>/dev/stdout; echo no >/dev/stdin'
check a_stream_is_opened_again_by_its_name test "$(cat "$project/out/file")" = "$(printf 'kept\nmore')"
check a_stream_is_opened_only_as_it_is_open test "$(cat "$project/keep/file")" = kept
check a_refused_stream_is_told grep -q 'dev/stdin: Permission denied' "$project/out/errors"
for who in $starters; do
	places
	run_on_terminal=$(cd "$project" && as "$who" script -qec "sbx-spawn -q -- sh -c 'echo shown >/dev/stderr'" /dev/null </dev/null)
	check "a_terminal_is_opened_as_stderr_by_$who" test "${run_on_terminal%$'\r'}" = shown
done
finish
