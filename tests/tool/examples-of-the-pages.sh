#!/bin/bash
# SPDX-License-Identifier: MIT
# The commands in examples of man pages print the shown output. The examples of a page run one after the other in a
# temporary directory, with the files that the page mentions.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

for name in $(env | sed -n 's/^\(SBX_[A-Z_]*\)=.*/\1/p'); do
	case $name in SBX_SOURCE | SBX_BUILD) ;; *) unset "$name" ;; esac
done
export HOME="$work/home" XDG_CONFIG_HOME="$work/home/config"

stage() { # PAGE: what the page takes for granted
	mkdir -p "$work/stage/$1" && cd "$work/stage/$1" || exit 1
	printf '%s\n' 'version: 1' 'capabilities:' \
		'  - { name: read, match: { syscall: fs.read, path: "**" }, action: allow }' >team.yaml
	printf '%s\n' 'version: 1' 'capabilities:' \
		'  - { name: docs, match: { syscall: net.connect, host: docs.example.com, ports: 443 }, action: allow }' >web.yaml
	printf '%s\n' 'version: 1' 'capabilities:' \
		'  - {name: docs, match: {op: fs.read, path_glob: docs/}, action: allow}' \
		'  - {name: tools, match: {op: exec, path_glob: "**"}, action: allow}' >globs.yaml
}

# Writes $work/blocks/N.wanted, a block with its output, and N.got, what its commands print now.
run_blocks() { # PAGE
	rm -rf "$work/blocks"
	mkdir "$work/blocks"
	awk -v folder="$work/blocks" '
		/^```/ { n += !inside; inside = !inside; next }
		inside { print > (folder "/" n) }' "$1"
	local block line
	for block in "$work"/blocks/*; do
		# A block is an example if it begins with a command and has lines of output.
		if ! head -n 1 "$block" | grep -q '^\$ ' || ! grep -qv '^\$ ' "$block"; then
			continue
		fi
		while IFS= read -r line <&9; do
			case $line in '$ '*) ;; *) continue ;; esac
			printf '%s\n' "$line"
			# The project of the pages is /srv/p.
			bash -c "${line#??}" 2>&1 </dev/null | sed "s,$PWD,/srv/p,g"
		done 9<"$block" >"$block.got"
	done
}

same() { diff -u "$1" "$1.got" >"$work/diff" || { sed 's/^/# /' "$work/diff" && false; }; }

shopt -s nullglob
n_blocks=0
for page in "$SBX_SOURCE"/man/*.1.scd "$SBX_SOURCE"/man/sbx-policy.5.scd; do
	tool=$(basename "${page%.scd}" .1)
	stage "$tool"
	run_blocks "$page"
	for got in "$work"/blocks/*.got; do
		block=${got%.got}
		n_blocks=$((n_blocks + 1))
		check "example_${block##*/}_of_${tool}_prints_the_output_of_the_page" same "$block"
	done
done
check the_pages_have_examples test "$n_blocks" -ge 3
finish
