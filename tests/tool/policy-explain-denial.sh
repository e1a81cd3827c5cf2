#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1

cat >p.yaml <<'END'
version: 1
capabilities:
  - { name: src, match: { syscall: fs.write, path_glob: [src/**, "!src/gen/**"] }, action: allow }
  - { name: ci, match: { syscall: fs.write, path_glob: .ci/** }, action: deny, reason: people only }
  - { name: read, match: { syscall: fs.read, path_glob: "**" }, action: allow }
  - { name: bots, match: { syscall: fs.write, path_glob: doc/**, caller_tag: bot, state: idle }, action: allow }
  - name: review
    match: { syscall: fs.write, path_glob: top/** }
    action: require_review
    except:
      - { caller: boss }
      - { state: idle }
END

run sbx-policy explain p.yaml fs.write doc/a project=/srv/p tag=human
check a_denial_ends_with_1 has_status 1
check a_glob_says_where_it_is_anchored out_has "its path_glob 'src/**' does not match 'doc/a': it is anchored at the project /srv/p"
check the_explanation_shows_the_callers_tag out_has "its caller_tag 'bot' does not match: the caller has 'human'"
check another_operation_is_named out_has 'it is not about fs.write but about fs.read'
check yaml_to_paste_is_shown out_has 'match: { syscall: fs.write, path: "./doc/a" }'

run sbx-policy explain p.yaml fs.write src/gen/a project=/srv/p
check an_exclusion_is_named out_has "its path is taken out by '!src/gen/**'"
run sbx-policy explain p.yaml fs.write top/a project=/srv/p state=idle
check an_exception_is_named_with_its_line out_has 'its match applies, but its exception 2 (line 12) takes that back'
run sbx-policy explain p.yaml fs.write /etc/x project=/srv/p
check a_path_outside_the_project_is_said_to_be out_has 'and the path is not in there'
run sbx-policy explain p.yaml fs.write .ci/a project=/srv/p
check the_deciding_rule_says_so out_has "deny rule 'ci' (p.yaml:4) applies and decides"
check its_reason_is_shown out_has '  reason: people only'

run sbx-policy explain --json p.yaml fs.write doc/a project=/srv/p
check json_has_every_near_rule python3 -c 'import json,sys
whole = json.load(open(sys.argv[1]))
assert whole["decision"]["verdict"] == "deny"
near = {rule["name"]: rule for rule in whole["near"]}
assert near["src"]["near"] == "key" and near["src"]["key"] == "path", near
assert near["ci"]["line"] == 4 and not near["ci"]["decides"]
assert near["bots"]["key"] == "caller_tag" and near["bots"]["why"]' "$work/out"

cat >mixed.yaml <<'END'
version: 1
capabilities:
  - { name: run, match: { syscall: exec, path: [/usr/bin/python3, ./.venv] }, action: allow }
END
run sbx-policy explain mixed.yaml exec /usr/bin/ls project=/srv/p
check an_absolute_path_is_not_said_to_be_anchored out_has "what does not begin with '/' is anchored at the project /srv/p"

printf '%s\n' 'version: 1' 'fs: { rules: [ { action: deny, path: /etc/shadow } ] }' >view.yaml
run sbx-policy explain view.yaml fs.write /etc/x
check the_view_is_told_once test "$(grep -c "^allow rule 'the implicit view'" "$work/out")" -eq 1
cat >mounts.yaml <<'END'
version: 1
capabilities:
  - { name: pass, match: { syscall: fs.read, path: /srv/pass }, action: pass }
  - { name: all, match: { syscall: "fs.*", path: /srv/m }, action: allow }
mounts:
  - { target: /srv/hidden, mode: mask }
  - { source: /srv/n, target: /srv/m, mode: ro }
END
run sbx-policy explain mounts.yaml fs.read /srv/pass
check a_rule_that_passes_decides_nothing out_has "pass rule 'pass' (mounts.yaml:3) applies, and decides nothing"
run sbx-policy eval mounts.yaml fs.read /srv/hidden/a
check the_fix_for_a_mask_is_its_entry out_has "fix: change the entry of 'mounts' (mounts.yaml:6)"
run sbx-policy eval mounts.yaml fs.write /srv/m/a
check the_fix_for_a_read_only_mount_is_its_entry out_has "fix: change the entry of 'mounts' (mounts.yaml:7)"

# A rule of the file can have any name; what can be changed about it does not depend on that.
cat >names.yaml <<'END'
capabilities:
  - { name: mounts, match: { syscall: fs.read, path: /srv/a }, action: deny }
  - { name: net.mode, match: { syscall: net.connect, host: a.example }, action: deny, reason: net.mode is none }
  - { name: "list[0]", match: { syscall: fs.read, path: /srv/b }, action: deny }
END
sbx-policy compile names.yaml -o names.bin
for file in names.yaml names.bin; do
	run sbx-policy eval "$file" fs.read /srv/a
	check "a_rule_with_the_name_of_mounts_gets_an_exception_in_$file" out_has "fix: add to rule 'mounts' (names.yaml:2)"
	run sbx-policy eval "$file" net.connect a.example:443
	check "so_does_one_with_that_of_a_mode_in_$file" out_has "fix: add to rule 'net.mode' (names.yaml:3)"
	run sbx-policy eval "$file" fs.read /srv/b
	check "so_does_one_with_that_of_a_section_in_$file" out_has "fix: add to rule 'list[0]' (names.yaml:4)"
done
finish
