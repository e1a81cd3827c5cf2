#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/serve.sh"

# The child on the terminal finds the records there.
typed() {
	text=$1
	shift
	seqpacket type "$text" sh -c 'exec "$@" 9>>records' sh sbx-policy "$@" --audit-fd 9
}
in_force() { cmp -s p.yaml "$1"; }
seq 8 | while read -r i; do echo "{\"op\":\"fs.write\",\"path\":\"/srv/p/src/$i\"}"; done >eight

cp a p.yaml
run typed no update p.yaml --from b
check no_is_no has_status 1
run typed y update p.yaml --from b
check half_a_yes_is_no in_force a
run typed yes update p.yaml --from b
check yes_is_yes has_status 0
check and_then_it_is_in_force in_force b

cp a p.yaml
run typed yes update p.yaml --from b --replay eight
check yes_is_not_enough_for_many_breaking_changes in_force a
check the_phrase_is_asked_for out_has "Type 'apply 8 breaking'"
run typed 'apply 8 breaking' update p.yaml --from b --replay eight
check the_phrase_is in_force b

escape=$(printf 'p\033[31m.yaml')
cp a "$escape"
ln -s "$escape" link.yaml
run typed no update link.yaml --from b
check the_question_shows_the_path_escaped out_has 'p\x1b[31m.yaml'"'? Type"

mkdir tmp
export TMPDIR="$work/tmp" VISUAL="sed -i s/doc/src/g"
run typed yes edit p.yaml
check edit_goes_the_same_way in_force a
check edit_leaves_no_draft rmdir tmp
mkdir tmp
run typed yes edit p.yaml
check without_a_change_nothing_happens out_has 'nothing was changed'

export VISUAL="sed -i -e s/allow/dney/ -e s/dney.*dney/deny/"
run typed no edit p.yaml
check a_mistake_is_shown out_has "cannot be 'dney'"
check and_one_may_go_on out_has 'Edit it again?'
check declining_to_edit_again_keeps_the_old_policy in_force a
draft=$(echo "$out" | sed -n "s/.*the draft is kept in '\(.*\)'.*/\1/p")
check the_rejected_draft_is_kept grep -q dney "$draft"

cat >twice <<'END'
#!/bin/sh
if grep -q allow "$1"; then sed -i s/allow/dney/ "$1"; else sed -i s/dney/deny/ "$1"; fi
END
chmod +x twice
export VISUAL="$work/twice"
run typed 'yes\nyes' edit p.yaml
check editing_again_can_correct_the_mistake grep -q 'action: deny' p.yaml
export VISUAL=false
run typed yes edit p.yaml
check an_editor_that_fails_changes_nothing out_has "the editor 'false' failed"

export VISUAL=true
run typed yes edit missing.yaml
check edit_refuses_a_path_without_a_policy has_status 2
check and_names_it out_has "cannot edit 'missing.yaml'"
check and_writes_none test ! -e missing.yaml
export VISUAL="sed -i s/deny/allow/"
run sbx-policy edit p.yaml </dev/null
check edit_advises_no_option_that_it_does_not_have eval 'has_status 3 && ! err_has --yes'
finish
