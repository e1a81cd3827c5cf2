#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1

cat >system.yaml <<'END'
version: 1
capabilities:
  - { name: no-ssh, match: { syscall: fs.read, path: /home/me/.ssh }, action: deny }
limits: { memory: 1GiB }
END
cat >user.yaml <<'END'
version: 1
capabilities:
  - { name: home, match: { syscall: fs.read, path: /home/me }, action: allow }
limits: { memory: 512MiB }
END
sed 's/512MiB/2GiB/' user.yaml >greedy.yaml

run sbx-policy merge system.yaml user.yaml
check two_files_become_one has_status 0
check the_origins_are_named out_has '# from system.yaml, sha256 '
cp "$work/out" merged.yaml
run sbx-policy check merged.yaml
check the_merged_policy_can_be_loaded has_status 0
run sbx-policy eval merged.yaml fs.read /home/me/.ssh/id
check the_denial_of_one_holds has_status 1
run sbx-policy eval merged.yaml fs.read /home/me/a
check the_permission_of_the_other_holds has_status 0
check the_narrower_limit_holds grep -q 512MiB merged.yaml

run sbx-policy merge system.yaml greedy.yaml
check a_file_that_widens_a_limit_is_refused has_status 2
check both_places_are_named err_has greedy.yaml
check nothing_is_printed_then test -z "$out"

echo 'net: {mode: none}' >closed.yaml
echo 'net: {loopback: {connect: [5432]}}' >opening.yaml
run sbx-policy merge closed.yaml opening.yaml
check a_port_that_a_mode_closes_is_not_opened has_status 2
check the_port_is_named err_has "opening.yaml:1:27: 'net.loopback.connect' widens what the files before it allow"
check the_mode_is_named err_has "why: net.mode is 'none' at closed.yaml:1:13, and no file before it has 'net.loopback.connect'"
check the_file_to_change_is_named err_has 'fix: remove it here, or write it in closed.yaml'
run sbx-policy eval -l closed.yaml opening.yaml net.connect 127.0.0.1:5432
check a_layer_does_not_open_it_either has_status 2
run sbx-policy eval closed.yaml net.connect 127.0.0.1:5432
check the_mode_denies_it has_status 1
echo 'net: {unix: [/run/docker.sock]}' >opening.yaml
run sbx-policy merge closed.yaml opening.yaml
check a_unix_socket_is_not_added_to_a_mode has_status 2
echo 'devices: [kvm]' >adding.yaml
run sbx-policy merge closed.yaml adding.yaml
check a_setting_that_no_file_before_has_is_added out_has kvm

cat >covered.yaml <<'END'
capabilities:
  - { name: all, match: { syscall: fs.read, path: /srv }, action: allow }
mounts: [{ target: /srv/secret, mode: mask }]
END
echo 'mounts: []' >uncovering.yaml
run sbx-policy eval covered.yaml fs.read /srv/secret/a
check a_mount_denies_what_it_covers has_status 1
for more in '-l covered.yaml uncovering.yaml' 'covered.yaml --project-file uncovering.yaml'; do
	# shellcheck disable=SC2086 # options
	run sbx-policy eval $more fs.read /srv/secret/a
	check "a_later_file_cannot_leave_it_out: $more" has_status 2
	check "the_target_is_named: $more" err_has "no mount at '/srv/secret'"
done

for old in no-userns landlock-only; do
	echo "isolation: {tier: $old}" >old.yaml
	for order in 'old.yaml reduced.yaml' 'reduced.yaml old.yaml'; do
		echo 'isolation: {tier: reduced}' >reduced.yaml
		# shellcheck disable=SC2086 # two files
		run sbx-policy merge $order
		check "${old}_is_reduced_in_$order" has_status 0
	done
	echo 'isolation: {tier: full}' >full.yaml
	run sbx-policy merge full.yaml old.yaml
	check "${old}_widens_full" err_has "'isolation.tier' widens"
	run sbx-policy merge old.yaml full.yaml
	check "full_narrows_$old" has_status 0
done

cat >project.yaml <<'END'
version: 1
capabilities:
  - { name: own, match: { syscall: fs.read, path: /home/me/p }, action: allow }
END
for verb in merge print; do
	run sbx-policy "$verb" user.yaml --project-file project.yaml
	check "a_narrowing_file_cannot_be_merged_into_one_file: $verb" has_status 2
	check "its_rule_is_named: $verb" err_has "project.yaml:3:5: rule 'own'"
	check "the_refusal_shows_the_fix: $verb" err_has 'eval --project-file project.yaml'
	check "no_part_of_it_is_printed: $verb" out_is ''
done
sed -i s/allow/deny/ project.yaml
run sbx-policy merge user.yaml --project-file project.yaml
check a_projects_denial_can_be_printed out_has 'name: "own"'
finish
