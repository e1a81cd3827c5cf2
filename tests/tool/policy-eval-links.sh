#!/bin/bash
# SPDX-License-Identifier: MIT
# A decision is about a path as a text, but the kernel follows links: a note says where a sandbox does not find an allowed path.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

places
mkdir "$project/shown" "$project/hidden" "$project/shown/d"
echo text | tee "$project/shown/file" >"$project/hidden/file"
ln -s file "$project/shown/straight"
ln -s ../hidden/file "$project/shown/out"
ln -s ../hidden/back "$project/shown/around"
ln -s ../shown/file "$project/hidden/back"
ln -s ../../hidden "$project/shown/d/directory"
ln -s loop "$project/shown/loop"
ln -s /dev/null "$project/shown/device"
chmod -R a+rX "$project"
policy() { # PATH, PATHS of the system
	cat >"$work/p.yaml" <<-END
		version: 1
		capabilities:
		  - {name: system, match: {op: [fs.read, fs.list, fs.exists, exec], path: ${2:-[/usr, /bin, /lib, /lib64]}}, action: allow}
		  - {name: shown, match: {op: [fs.read, fs.list], path: $1}, action: allow}
	END
	chmod 644 "$work/p.yaml"
}
# Does eval promise what the sandbox does?
agrees() { # PATH
	inside=no
	begin_spawn -q --policy "$work/p.yaml" -- sh -c '[ ! -e "$1" ] || cat "$1"' sh "$project/$1" >"$work/inside" 2>/dev/null || true
	[ ! -s "$work/inside" ] || inside=yes
	run sbx-policy eval "$work/p.yaml" fs.read "$project/$1" "project=$project"
	promised=no
	has_status 0 && ! out_has 'note: on this host' && promised=yes
	[ "$inside" = "$promised" ]
}

policy "$project/shown"
for name in file straight out around d/directory/file; do
	check "eval_and_the_sandbox_agree_about_$name" agrees "shown/$name"
done
run sbx-policy eval "$work/p.yaml" fs.read "$project/shown/around"
check a_hidden_link_is_named out_has "it leads through the link '$project/hidden/back', which no rule shows"
check the_decision_stays_the_same has_status 0
run sbx-policy explain "$work/p.yaml" fs.read "$project/shown/d/directory/file"
check explain_names_what_it_leads_to out_has "it leads to '$project/hidden/file', for which this is not allowed"
run sbx-policy --json eval "$work/p.yaml" fs.read "$project/shown/out"
check json_has_it_too out_has '"note":"on this host it leads to'
for name in loop missing device; do
	run sbx-policy eval "$work/p.yaml" fs.read "$project/shown/$name"
	check "there_is_no_note_about_$name" eval 'has_status 0 && ! out_has note'
done

# A rule may name a link that only root can change.
link=$(find /usr/bin -type l -lname '/etc/alternatives/*' -print -quit)
if [ -n "$link" ]; then
	policy "$link" "[/lib, /lib64, /usr/bin/cat, /usr/lib]"
	run sbx-policy eval "$work/p.yaml" fs.read "$link"
	check a_rule_that_names_a_link_is_about_all_of_it eval 'has_status 0 && ! out_has note'
	run begin_spawn -q --policy "$work/p.yaml" -- cat "$link"
	check so_it_is_inside has_status 0
	policy "$project/shown"
	run sbx-policy eval "$work/p.yaml" fs.read "$link"
	check a_rule_for_its_directory_is_not out_has "leads through the link '/etc/alternatives/"
else
	skip a_rule_that_names_a_link_is_about_all_of_it 'no link of /usr/bin leads through /etc/alternatives'
fi
finish
