#!/bin/bash
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1

cat >system.yaml <<'END'
version: 1
capabilities:
  - { name: no-ssh, match: { syscall: fs.read, path: /home/me/.ssh }, action: deny }
END
cat >user.yaml <<'END'
version: 1
capabilities:
  - { name: home, match: { syscall: fs.read, path: /home/me }, action: allow }
END
cat >project.yaml <<'END'
version: 1
capabilities:
  - { name: more, match: { syscall: fs.read, path: /etc }, action: allow }
  - { name: less, match: { syscall: fs.read, path: /home/me/mail }, action: deny }
END

run sbx-policy eval user.yaml fs.read /home/me/.ssh/id
check alone_the_file_allows_it has_status 0
run sbx-policy eval -l system.yaml user.yaml fs.read /home/me/.ssh/id
check a_layer_above_denies_it has_status 1
check the_layer_is_named out_has 'system.yaml:3'
run sbx-policy eval --project-file project.yaml user.yaml fs.read /etc/passwd
check a_projects_file_cannot_allow_more has_status 1
check the_fix_goes_into_a_file_that_can out_has 'fix: add to user.yaml'
run sbx-policy eval --project-file project.yaml user.yaml fs.read /home/me/mail/1
check a_projects_file_can_deny has_status 1
run sbx-policy eval --project-file project.yaml user.yaml fs.read /home/me/a
check an_operation_that_neither_file_denies_stays_allowed has_status 0
# A review of a project's file opens nothing, its permission keeps a warning, and its text does not replace the denial's.
cat >base.yaml <<'END'
version: 1
defaults: { tool: warn }
capabilities:
  - { name: src, match: { syscall: fs.write, path: /src }, action: allow }
  - { name: sized, match: { syscall: fs.write, path: /out }, action: allow, constraints: { max_file_size: 1KiB } }
END
cat >project.yaml <<'END'
version: 1
capabilities:
  - { name: ask, reason: please approve, match: { syscall: [fs.write, exec], path: [/etc, /src, /out, ./] }, action: require_review }
  - { name: git, match: { syscall: [git.commit, container.run] }, action: allow }
  - { name: rest, match: { syscall: fs.write, path: /out }, action: allow }
END
while read -r alone with request; do
	read -ra words <<<"$request"
	run sbx-policy eval base.yaml "${words[@]}"
	check "without_the_project: $request" has_status "$alone"
	run sbx-policy eval --project-file project.yaml base.yaml "${words[@]}"
	check "with_the_project: $request" has_status "$with"
done <<'END'
1 1 fs.write /etc/passwd
1 1 exec /etc/x
0 3 fs.write /src/a
0 3 fs.write /out/a size=1KiB
1 1 fs.write /out/a size=2KiB
0 0 git.commit
3 3 container.run mode=debug
END
run sbx-policy eval --project-file project.yaml base.yaml fs.write /etc/passwd
check the_projects_text_does_not_replace_the_denials test "$(grep -c 'please approve' "$work/out")" -eq 0
run sbx-policy eval --project-file project.yaml base.yaml git.commit
check a_warning_stays out_has 'allowed, with a warning: git.commit'
check the_warning_is_explained out_has 'which a file that may not widen the others cannot lift'
# What a project's file removes may be why a request has to name the project or a port: it still has to.
while IFS='|' read -r what base project request; do
	printf '%b\n' "$base" >base.yaml
	printf '%b\n' "$project" >project.yaml
	for file in '' --project-file=project.yaml; do
		run sbx-policy eval ${file:+"$file"} base.yaml <<<"$request"
		check "refused_without_$what $file" out_has '"verdict":"deny","cause":"bad_request"'
	done
done <<'END'
the_project_of_the_view|version: 1\nfs: {rules: [{action: allow, path: /s}]}|capabilities: [{name: p, match: {op: fs.read, path: /p}, action: deny}]|{"op":"fs.write","path":"/s/a"}
the_project_of_a_mount|capabilities: [{name: s, match: {op: fs.*, path: /s}, action: allow}]\nmounts: [{target: ./out, mode: rw}]|mounts: [{target: ./out, mode: ro}]|{"op":"fs.write","path":"/s/a"}
the_port_of_a_setting|version: 1\ncapabilities: [{name: s, match: {op: net.connect, host: localhost}, action: allow}]\nnet: {loopback: {connect: [80]}}|net: {loopback: {connect: []}}|{"op":"net.connect","host":"localhost"}
END
run sbx-policy eval -l nowhere.yaml user.yaml fs.read /home/me/a
check a_missing_layer_is_no_empty_layer has_status 2
finish
