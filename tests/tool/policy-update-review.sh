#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/serve.sh"

update() { sbx-policy update p.yaml --from "$@" --audit-fd 9 9>>records </dev/null; }
digest() { sha256sum "$1" | cut -c1-64; }
in_force() { cmp -s p.yaml "$1"; }
seq 8 | while read -r i; do echo "{\"input\":{\"op\":\"fs.write\",\"path\":\"/srv/p/src/$i\"}}"; done >six

# In a directory without sbx-audit it cannot read a log of this host.
mkdir alone
cp "$(command -v sbx-policy)" alone/
cp a p.yaml
run alone/sbx-policy update p.yaml --from b </dev/null
check without_a_log_it_says_that_nothing_was_tried err_has 'no recorded requests were tried'
run alone/sbx-policy update p.yaml --from b --json </dev/null
check json_says_that_nothing_was_tried out_has '"change":"counts","tried":false'
lines_are_json() { printf '%s\n' "$out" | python3 -c 'import json, sys; [json.loads(line) for line in sys.stdin]'; }
check every_line_of_json_is_an_object lines_are_json
check one_has_the_digest out_has "{\"change\":\"digest\",\"what\":\"sha256 $(digest b)\"}"
run update b
check without_a_person_it_needs_a_review has_status 3
check update_shows_the_changed_rules out_has "rule 'doc'"
run update b --yes
check yes_alone_approves_nothing has_status 2
run update b --yes --expect-digest "$(digest a)"
check another_digest_approves_nothing has_status 1
for digest in '' 12 "$(digest b)0" "$(digest b | tr a-f A-F)"; do
	run update b --yes --expect-digest "$digest"
	check "what_is_no_digest_is_a_usage_error: '$digest'" eval 'has_status 2 && err_has "is not a SHA-256"'
done
check nothing_has_changed_so_far in_force a
check and_nothing_lies_beside_it test ! -e p.yaml.previous -a ! -e p.yaml.meta.json
check and_no_record_says_so sh -c '! grep -q policy_update records'

run update b --yes --expect-digest "$(digest b)"
check the_digest_of_the_reviewed_policy_approves has_status 0
check then_it_is_in_force in_force b
check the_old_one_is_kept cmp -s p.yaml.previous a
check the_metadata_names_both_digests grep -q "\"digest\":\"$(digest b)\",\"previous\":\"$(digest a)\",\"source\":\"apply\"" p.yaml.meta.json
check it_counts_rules grep -q '"keys":\["capabilities"\],"count":1,.*"allow":1' p.yaml.meta.json
check it_is_recorded test "$(records 'policy_update",.*"stage":"approved')" -eq 1 -a "$(records 'policy_update",.*"stage":"installed')" -eq 1
run update b --yes --expect-digest "$(digest b)"
check the_same_again_is_done_already out_has 'in force already'

cp a p.yaml
run update b --json --yes --expect-digest "$(digest b)"
check an_update_in_json_is_done has_status 0
check all_its_lines_are_json lines_are_json
check its_last_line_says_so out_has '"change":"installed"'
run update b --json --yes --expect-digest "$(digest b)"
check nothing_to_do_is_json_too lines_are_json

cp a p.yaml
run update b --yes --expect-digest "$(digest b)" --replay six
check many_breaking_changes_need_the_phrase has_status 3
check it_says_which err_has "--confirm='apply 8 breaking'"
run update b --yes --expect-digest "$(digest b)" --replay six --confirm 'apply 7 breaking'
check another_number_is_another_phrase has_status 3
check still_nothing_has_changed in_force a
run update b --yes --expect-digest "$(digest b)" --replay six --confirm 'apply 8 breaking'
check the_phrase_applies_them in_force b

# A warning, and a pattern that sbx-spawn refuses.
cat >doubtful <<'END'
capabilities:
  - { name: none, match: { syscall: fs.read, path: [] }, action: allow }
  - { name: sources, match: { syscall: fs.write, path_glob: ["src/**/*.c"] }, action: allow }
END
run sbx-policy check doubtful
check check_refuses_the_doubtful_one has_status 4
found=$out
run update doubtful
check update_prints_what_check_finds out_has "$found"

echo 'capabilities: nonsense' >bad
run update bad --yes --expect-digest "$(digest bad)"
check a_broken_policy_is_bad_input has_status 2
check its_place_is_said err_has 'bad:1:'
run sbx-policy compile a -o compiled
run update compiled --yes --expect-digest "$(digest compiled)"
check update_refuses_a_compiled_policy has_status 2
run update missing
check a_missing_file_is_bad_input has_status 2
run sbx-policy update - --from b --yes --expect-digest "$(digest b)"
check standard_input_is_not_replaced eval 'has_status 2 && [ ! -e ./- ]'
run sbx-policy update p.yaml
check the_new_file_must_be_named err_has '--from=NEW'
run sbx-policy update p.yaml --from a --yes --expect-digest "$(digest a)" --audit-fd 9 9>/dev/full
check update_without_a_record_is_refused in_force b
run sbx-policy update p.yaml --from a --yes --expect-digest "$(digest a)" --audit-fd 0 0>/dev/full
check update_without_a_record_on_fd_0_is_refused in_force b

mkdir real
cp a real/policy
ln -sf real/policy p.yaml
rm -f p.yaml.*
run update b --yes --expect-digest "$(digest b)"
check a_link_leads_to_the_policy_that_is_replaced cmp -s real/policy b
check and_the_link_stays_one test -L p.yaml
check the_previous_policy_is_kept_beside_the_links_target test -e real/policy.previous -a -e real/policy.meta.json -a ! -e p.yaml.previous
ln -sf nowhere p.yaml
run update b --yes --expect-digest "$(digest b)"
check a_link_to_nothing_is_bad_input has_status 2
check and_it_is_named err_has "cannot follow the link 'p.yaml'"

rm -f p.yaml*
run update b --yes --expect-digest "$(digest b)"
check no_backup_is_named_where_there_is_none out_has 'there was no policy before'
check all_rules_of_the_first_policy_are_shown out_has "+ rule 'doc' (b:"
check the_first_policy_of_all_goes_the_same_way in_force b
check it_has_no_previous_one grep -q '"previous":null' p.yaml.meta.json
echo 'capabilities: nonsense' >p.yaml
run update a --yes --expect-digest "$(digest a)"
check a_broken_one_can_be_replaced in_force a
check all_rules_of_what_replaces_it_are_shown out_has "+ rule 'src' (a:"
check every_member_of_the_record_is_documented documented records policy_update
finish
