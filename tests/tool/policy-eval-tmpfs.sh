#!/bin/bash
# SPDX-License-Identifier: MIT
# A tmpfs grants its own files: what a rule of the policy shows below it has the rights of that rule, for eval and inside.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

places
folder=$project/d
mkdir "$folder"
cp /usr/bin/true "$folder/tool"
chmod -R a+rwX "$folder"
chmod a+rwx "$folder/tool"
policy() { # the name in the rule, then LINE...
	cat >"$work/p.yaml" <<-END
		version: 1
		capabilities:
		  - {name: system, match: {op: [fs.read, fs.list, fs.exists, exec], path: [/usr, /bin, /lib, /lib64]}, action: allow}
		  - {name: shown, match: {op: fs.read, path: $1}, action: allow}
	END
	printf '%s\n' "${@:2}" >>"$work/p.yaml"
	chmod 644 "$work/p.yaml"
}
inside() { # OPTION...: "t", "w" and "n" for what the command can: execute the tool, write to it, write a new file
	run begin_spawn --policy "$work/p.yaml" "$@" -- sh -c \
		"'$folder/tool' && echo t; echo >>'$folder/tool' && echo w; echo >'$folder/new' && echo n"
}

policy "$folder/tool"
inside
check without_a_tmpfs_the_program_is_only_read out_is ''
inside --tmpfs "$folder"
check it_is_only_read_below_--tmpfs out_is n
for name in "$folder/tool" ./d/tool; do
	policy "$name" "mounts: [{mode: tmpfs, target: $folder}]"
	inside
	check "it_is_only_read_below_a_mount_of_the_policy_as_${name##"$project"/}" out_is n
done
policy "$folder/tool" "mounts: [{mode: tmpfs, target: $folder}]"
for operation in fs.read fs.write exec; do
	run sbx-policy eval "$work/p.yaml" "$operation" "$folder/tool"
	check "eval_says_so_of_$operation" has_status "$([ "$operation" = fs.read ]; echo $?)"
done
run sbx-policy eval "$work/p.yaml" fs.write "$folder/new"
check eval_allows_a_file_of_the_tmpfs has_status 0
policy "$folder" "mounts: [{mode: tmpfs, target: $folder}]"
run sbx-policy eval "$work/p.yaml" fs.write "$folder/tool"
check a_rule_about_the_tmpfs_itself_takes_nothing has_status 0
inside
check nor_does_it_inside out_has n
finish
