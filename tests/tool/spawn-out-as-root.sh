#!/bin/bash
# SPDX-License-Identifier: MIT
# --out as root with directories of other users: new files belong to root, as their target directory does.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

if [ "$(id -u)" -ne 0 ]; then
	skip root_gathers_changes_of_any_directory 'only root works in the folders of others'
	finish
	exit
fi
who=root
places
mkdir "$work/theirs" "$work/open" "$work/closed" "$work/users"
echo old >"$work/theirs/file"
chown -R "$user:$user" "$work/theirs" "$work/users"
chmod 700 "$work/theirs" "$work/closed" "$work/users"

change() { # TARGET OPTION... : relative to the directory in which it runs
	local target=$1
	shift
	rm -rf "${target:?}"
	run sh -c 'cd "$1" && shift && sbx-spawn -q "$@" -- sh -c "echo new >file && mkdir sub && echo more >sub/added && cat file"' \
		sh "$folder" --out "$target" "$@"
}

is_roots() { # DIR
	[ "$status" -eq 0 ] && [ "$out" = new ] && [ "$(cat "$1/file" "$1/sub/added")" = "$(printf 'new\nmore')" ] &&
		[ -z "$(find "$1" ! -user 0)" ]
}

is_archive() { # FILE
	[ "$status" -eq 0 ] && [ "$(tar -xOf "$1" file sub/added)" = "$(printf 'new\nmore')" ] &&
		! tar --numeric-owner -tvf "$1" | grep -qv ' 0/0 '
}

for folder in "$project" "$work/theirs"; do
	of=$(basename "$folder")
	for parent in open closed users; do
		change "$work/$parent/out"
		check "changes_of_${of}_land_in_$parent" is_roots "$work/$parent/out"
		change "$work/$parent/out.tar"
		check "changes_of_${of}_are_archived_in_$parent" is_archive "$work/$parent/out.tar"
	done
	change "$work/open/out" --uid 12345
	check "any_user_may_change_$of" is_roots "$work/open/out"
done
change "$work/open/out" --uid "$user"
check its_owner_may_change_it is_roots "$work/open/out"
check the_directory_is_unchanged test "$(cat "$work/theirs/file")" = old -a "$(stat -c %u "$work/theirs/file")" = "$user" -a ! -e "$work/theirs/sub"
finish
