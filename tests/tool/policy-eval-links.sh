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

# Under a denial: what a sandbox permits.
rules() { # LINE...
	printf '%s\n' 'version: 1' 'capabilities:' \
		'  - {name: system, match: {op: [fs.read, fs.list, fs.exists, exec], path: [/usr, /bin, /lib, /lib64]}, action: allow}' "$@" >"$work/p.yaml"
}
rules "  - {name: shown, match: {op: fs.list, path: $project/shown}, action: allow}" \
	"  - {name: file, match: {op: fs.read, path: $project/hidden/file}, action: allow}"
run sbx-policy eval "$work/p.yaml" fs.read "$project/shown/out" "project=$project"
check a_denied_link_to_an_allowed_file_is_noted out_has "note: on this host it leads to '$project/hidden/file', for which this is allowed: a sandbox permits it"
check the_denial_stays has_status 1
run begin_spawn -q --policy "$work/p.yaml" -- cat "$project/shown/out"
check a_sandbox_permits_it out_is text
run sbx-policy eval "$work/p.yaml" fs.exists "$project/shown/file"
check what_is_listed_exists out_has 'note: a sandbox shows that it exists'
ln -s /usr/bin/env "$project/shown/env"
rules 'view: project'
run sbx-policy eval "$work/p.yaml" exec "$project/shown/env" "project=$project"
check a_link_in_a_project_in_tmp_is_noted out_has "note: on this host it leads to '/usr/bin/env', for which this is allowed: a sandbox permits it"
run begin_spawn -q --policy "$work/p.yaml" -- "$project/shown/env" echo text
check a_sandbox_executes_it out_is text

# Links in relative paths depend on the project, and a compiled policy has no texts.
policy ./shown/straight
run sbx-policy eval "$work/p.yaml" fs.read "$project/shown/file" "project=$project"
check a_relative_path_of_a_rule_is_followed_below_the_project has_status 0
run sbx-policy eval "$work/p.yaml" fs.read "$project/shown/file" "project=$project/shown"
check and_not_below_another_one has_status 1
policy "$project/shown"
run sbx-policy compile -o "$work/p.bin" "$work/p.yaml"
run sbx-policy eval "$work/p.bin" fs.read "$project/shown/out"
check a_compiled_policy_says_that_it_cannot_know out_has "through a symbolic link to '$project/hidden/file', and a compiled policy does not say which links"
run sbx-policy eval "$work/p.bin" fs.read "$project/shown/file"
check it_has_no_note_without_a_link eval 'has_status 0 && ! out_has note'

# A mount shows files under other names, with their links.
echo "mounts: [{source: $project/shown, target: /m, mode: ro}]" >>"$work/p.yaml"
for name in file straight out; do
	run sbx-policy eval "$work/p.yaml" fs.read "/m/$name" "project=$project"
	promised=no
	has_status 0 && ! out_has 'note:' && promised=yes
	run begin_spawn -q --policy "$work/p.yaml" -- cat "/m/$name"
	check "eval_and_the_sandbox_agree_about_${name}_in_a_mount" test "$promised" = "$(has_status 0 && echo yes || echo no)"
done
check a_link_out_of_a_mount_leads_nowhere test "$promised" = no
policy "$project/shown"
echo "mounts: [{source: $project/hidden, target: ., mode: ro}]" >>"$work/p.yaml"
for target in . ./; do
	sed -i "s|target: [./]*,|target: $target,|" "$work/p.yaml"
	run sbx-policy eval "$work/p.yaml" fs.read "$project/back" "project=$project"
	check "a_link_in_a_mount_at_${target}_is_followed" out_has "note: on this host it leads to '${project%/*}/shown/file'"
	run sbx-policy eval "$work/p.yaml" fs.read "$project/file" "project=$project"
	check "a_file_in_a_mount_at_${target}_is_known" eval 'has_status 0 && ! out_has note'
done
run begin_spawn -q --policy "$work/p.yaml" -- cat "$project/file"
check it_is_inside out_is text
run begin_spawn -q --policy "$work/p.yaml" -- cat "$project/back"
check the_link_leads_nowhere has_status 1
run sbx-policy compile -o "$work/p.bin" "$work/p.yaml"
run sbx-policy eval "$work/p.bin" fs.read /m/file
check a_compiled_policy_does_not_know_its_mounts out_has 'does not say which files its mounts show'

# A glob that names a directory alone, a hidden file, a missing one.
mkdir "$project/both"
echo text >"$project/both/file"
chmod 777 "$project/both" "$project/hidden"
chmod 666 "$project/both/file"
rules "  - {name: alone, match: {op: fs.list, path_glob: $project/shown}, action: allow}" \
	"  - {name: made, match: {op: fs.write, path: $project/hidden/new}, action: allow}" \
	"  - {name: all, match: {op: fs.*, path: $project/both}, action: allow}" \
	"  - {name: unread, match: {op: fs.read, path: $project/both/file}, action: deny}"
run sbx-policy eval "$work/p.yaml" fs.list "$project/shown"
check a_directory_without_what_is_below_it_is_noted out_has 'is a directory, and this is not allowed for what is below it'
run sbx-policy eval "$work/p.yaml" fs.write "$project/both/file"
check a_hidden_file_is_noted out_has "a sandbox hides '$project/both/file' as a whole, because fs.read is allowed beside it"
run sbx-policy eval "$work/p.yaml" fs.write "$project/hidden/new"
check a_missing_file_is_noted out_has 'does not exist on this host'
run begin_spawn -q --policy "$work/p.yaml" -- sh -c "ls '$project/shown' || echo x >'$project/both/file' || echo x >'$project/hidden/new'"
check the_sandbox_refuses_all_three eval '! has_status 0 && ! has_status 125'

# An exception of a denial shows nothing, not even to make a new file.
mkdir "$project/both/sub"
chmod 777 "$project/both/sub"
rules "  - {name: all, match: {op: fs.write, path: $project/both}, action: allow}" \
	"  - {name: none, match: {op: fs.*, path: $project/both}, except: [{path: $project/both/sub}], action: deny}"
run sbx-policy eval "$work/p.yaml" fs.write "$project/both/sub/new"
check a_new_file_in_a_directory_that_is_not_shown_is_noted out_has "a sandbox does not show '$project/both/sub/new', because no rule names it"
run begin_spawn -q --policy "$work/p.yaml" -- sh -c "echo x >'$project/both/sub/new'"
check no_sandbox_makes_it eval '! has_status 0 && ! has_status 125'

# A link in a project in /tmp, where a rule also allows all of the private /tmp.
ln -s file "$project/both/link"
rules "  - {name: tmp, match: {op: fs.*, path: /tmp}, action: allow}" \
	"  - {name: all, match: {op: fs.*, path: $project/both}, action: allow}" \
	"  - {name: unread, match: {op: fs.read, path: $project/both/file}, action: deny}"
run sbx-policy eval "$work/p.yaml" fs.read "$project/both/link"
check a_link_in_tmp_to_a_denied_file_is_noted out_has "note: on this host it leads to '$project/both/file', for which this is not allowed"
run begin_spawn -q --policy "$work/p.yaml" -- cat "$project/both/link"
check and_the_sandbox_refuses_it has_status 1

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
