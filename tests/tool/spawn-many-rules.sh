#!/bin/bash
# SPDX-License-Identifier: MIT
# A policy with thousands of rules, each for one file: the sandbox starts, and shows those files.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

# More names than a tmpfs of 16 MiB has. Below /tmp they would be names of another tmpfs.
many=4500
place=$(mktemp -d /var/tmp/sbx-test.XXXXXX)
trap 'rm -rf "$work" "$place"' EXIT
chmod 755 "$place"
policy() {
	cat <<-END
		version: 1
		capabilities:
		  - {name: system, match: {op: [fs.read, fs.list, exec], path: [/bin/, /etc/, /lib/, /lib64/, /usr/]}, action: allow}
	END
	for i in $(seq "$many"); do
		echo "  - {name: r$i, match: {op: fs.read, path: $place/f$i}, action: allow}"
	done
}

for i in $(seq $((many + 1))); do echo "text $i" >"$place/f$i"; done
policy >"$work/p.yaml"
chmod 644 "$work/p.yaml"
for who in $starters; do
	run spawn --policy "$work/p.yaml" -- \
		/bin/sh -c 'cat "$1/f1" "$1/f$2"; test -e "$1/f$(($2 + 1))" || echo no more' sh "$place" "$many"
	check "shows_the_files_of_all_rules_and_no_other_by_$who" \
		test "$out" = $'text 1\ntext '"$many"$'\nno more'
done
finish
