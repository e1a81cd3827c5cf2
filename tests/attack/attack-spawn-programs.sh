#!/bin/bash
# SPDX-License-Identifier: MIT
# A command leaves a program in --out that would give the rights of the caller, or capabilities, to whoever executes it.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

if ! /usr/bin/python3 -c 'import ctypes' 2>/dev/null; then
	skip nothing_is_left 'python3 is not here'
	finish
	exit
fi
# write(2) would clear the bits and the capabilities of a file that it changes.
cat >"$work/change" <<'END'
import mmap, os, sys
for name in sys.argv[1:]:
    fd = os.open(name, os.O_RDWR)
    with mmap.mmap(fd, os.fstat(fd).st_size) as content:
        content[0:4] = b"evil"
END
# openat2(2) has its mode in memory, which a seccomp filter cannot read.
cat >"$work/make" <<'END'
import ctypes, os, struct, sys
how = struct.pack("QQQ", os.O_CREAT | os.O_RDWR, 0o6755, 0)
sys.exit(ctypes.CDLL(None).syscall(437, -100, b"made", how, len(how)) < 0)
END
programs() { # of the project: two with bits, and for root one with a capability; chown(2), as in spawn, would clear them
	rm -rf "${project:?}"/*
	mkdir -p "$project/sub"
	for file in program sub/group; do
		echo good >"$project/$file"
	done
	places
	chmod 4755 "$project/program"
	chmod 2755 "$project/sub/group"
	changed=(program sub/group)
	if [ "$who" = root ] && echo good >"$project/capable" && setcap cap_setuid+ep "$project/capable" 2>/dev/null; then
		changed+=(capable)
	fi
}
has_privileges() { # DIR
	[ -n "$(find "$1" -type f -perm /6000)" ] || getcap -r "$1" 2>/dev/null | grep -q .
}
changed_all() { # DIR
	for file in "${changed[@]}"; do [ "$(head -c 4 "$1/$file")" = evil ] || return 1; done
}
has_none() { [ "$status" -eq 0 ] && changed_all "$1" && ! has_privileges "$1"; }

for who in $starters; do
	programs
	run as "$who" sh -c 'cd "$1" && shift && /usr/bin/python3 "$@"' sh "$project" "$work/change" "${changed[@]}"
	check "outside_a_changed_program_keeps_its_rights_by_$who" test -u "$project/program" -a -g "$project/sub/group"
	check "it_is_changed_by_$who" changed_all "$project"
	programs
	run begin_spawn -q --read "$work/change" --out "$work/$who/changed" -- /usr/bin/python3 "$work/change" "${changed[@]}"
	check "one_in_out_has_none_by_$who" has_none "$work/$who/changed"
	check "other_modes_stay_by_$who" test "$(stat -c %a "$work/$who/changed/program")" = 755
	run begin_spawn -q --read "$work/change" --out "$work/$who/hidden" -- sh -c '/usr/bin/python3 "$@" && chmod 0 sub .' sh "$work/change" "${changed[@]}"
	check "a_closed_directory_stays_closed_by_$who" test "$status" -eq 0 -a "$(stat -c %a "$work/$who/hidden")" = 0
	chmod 700 "$work/$who/hidden" "$work/$who/hidden/sub"
	check "and_has_none_by_$who" has_none "$work/$who/hidden"
	run begin_spawn -q --read "$work/change" --out "$work/$who/failed.tar" -- \
		sh -c '/usr/bin/python3 "$@" && chmod 755 . && for level in $(seq 520); do mkdir d && cd d; done' sh "$work/change" "${changed[@]}"
	kept=$(echo "$work/$who"/.failed.tar.sbx-layer-*)
	check "changes_that_were_not_archived_are_kept_by_$who" test "$status" -eq 125 -a -f "$kept/program"
	check "there_is_none_in_them_by_$who" sh -c '! find "$1" -type f -perm /6000 | grep .' sh "$kept"

	cat >"$work/nested.yaml" <<-END
		version: 1
		isolation: {nested: true}
		capabilities:
		  - {name: system, match: {op: [fs.read, fs.list, fs.exists], path: [/usr, /bin, /lib, /lib64, /etc, $work/make]}, action: allow}
		  - {name: project, match: {op: fs.*, path: $project}, action: allow}
		  - {name: programs, match: {op: exec}, action: allow}
	END
	chmod 644 "$work/nested.yaml"
	run begin_spawn -q --policy "$work/nested.yaml" --out "$work/$who/nested" -- sh -c "/usr/bin/python3 '$work/make' && stat -c %a made"
	if [ "$status" -eq 0 ]; then
		check "a_nested_sandbox_can_make_one_by_$who" out_is 6755
		check "but_it_is_none_any_more_in_out_by_$who" test "$(stat -c %a "$work/$who/nested/made")" = 755
		# In a user namespace the command has CAP_SETFCAP.
		run begin_spawn -q --policy "$work/nested.yaml" --out "$work/$who/capable" -- \
			unshare -Ur sh -c 'PATH=$PATH:/usr/sbin; cp /bin/true capable && setcap cap_setuid+ep capable && getcap capable | grep -o cap_setuid=ep'
		if [ "$out" = cap_setuid=ep ]; then
			check "there_is_none_with_capabilities_either_by_$who" test "$(PATH=$PATH:/usr/sbin getcap "$work/$who/capable/capable")" = ''
		else
			skip "there_is_none_with_capabilities_either_by_$who" 'setcap does not work here'
		fi
	else
		skip "a_nested_sandbox_makes_none_by_$who" 'no nested sandboxes here'
	fi
	chmod -R u+rwX "$work/$who"
done
finish
