#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

# Rules about single files need the broker, which this release does not have.
needs_broker() { [ "$1" = workspace ]; }
names_only_rules_about_files() {
	[ "$(grep -c '^[^ ]' "$work/out")" -eq "$(grep -c ': refused W08: ' "$work/out")" ] &&
		out_has "rule 'sensitive-files' says 'require_review' about files"
}

cd "$SBX_SOURCE/policies" || exit 1
for policy in *.yaml; do
	stem=$(basename "$policy" .yaml)
	wanted=0
	run sbx-policy check --strict "$policy"
	if needs_broker "$stem"; then
		wanted=4
		check "${stem}_is_refused_for_its_rules_about_files_alone" names_only_rules_about_files
	else
		check "${stem}_is_passed_in_silence" test -z "$out$err"
	fi
	check "${stem}_is_without_mistakes_and_warnings" has_status "$wanted"

	run sbx-policy print "$policy"
	printf '%s\n' "$out" >"$work/$stem.yaml"
	run sbx-policy check "$work/$stem.yaml"
	check "${stem}_loads_again_as_it_is_printed" has_status "$wanted"

	run sbx-policy compile "$policy" -o "$work/$stem.bin"
	check "${stem}_compiles" has_status 0

	run sbx-policy merge default.yaml "$policy"
	check "${stem}_stands_over_default" has_status 0
	run sbx-policy merge "$policy" anti-escape.yaml
	check "${stem}_stands_under_anti_escape" has_status 0
done

sed 's/action: deny/action: allow/' default.yaml >"$work/opened.yaml"
run sbx-policy eval "$work/opened.yaml" fs.read /etc/shadow
check a_copy_that_allows_the_keys_does_allow_them has_status 0
sed 's,fs.read /etc/shadow-,fs.read /etc/shadow,' default.yaml >"$work/wrong.yaml"
run sbx-policy check "$work/wrong.yaml"
check an_example_that_is_wrong_is_found has_status 2
check the_example_is_named_with_its_line out_has "wrong.yaml:$(grep -n not_match "$work/wrong.yaml" | head -n 1 | cut -d: -f1)"
finish
