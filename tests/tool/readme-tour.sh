#!/bin/bash
# SPDX-License-Identifier: MIT
# The commands of the README's two-minute tour print the shown output. Its other commands need root, a network or
# systemd.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

tour() { sed -n '/^## Two minutes$/,/^## /s/^    //p' "$SBX_SOURCE/README.md"; }
tour >"$work/expected"
# The policies are not installed yet, so use those of the source tree.
tour | sed -n "s,^\\\$ ,,p" | sed "s,/usr/share/sbx/policies/,$SBX_SOURCE/policies/," >"$work/commands"
cat >"$work/walk" <<'END'
while IFS= read -r -u 3 command; do
	printf '$ %s\n' "$command"
	eval "$command"
done 3<"$1" 2>&1
END
chmod 755 "$work/walk" "$work/commands"
walk() { (cd "$project" && as user bash "$work/walk" "$work/commands" </dev/null); }

# shellcheck disable=SC2034 # for places
who=user
places
chmod 777 "$work"
# The README's first command, "./dev run", leaves a record, too.
(cd "$project" && as user sbx-spawn -q -- true)
walk >"$work/walked" 2>&1
sed -i "s,$SBX_SOURCE/policies/,/usr/share/sbx/policies/," "$work/walked"
check the_tour_has_commands test "$(wc -l <"$work/commands")" -ge 8
check the_tour_prints_the_output_of_the_readme diff "$work/expected" "$work/walked"
finish
