#!/bin/bash
# SPDX-License-Identifier: MIT
# What a fix prints can be copied into a shell, whatever the names of the files are.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1
line() { sed -n "s/^  fix: //p" "$work/err"; }
names=("plain" "a b" "it's" '$(touch evil);&' $'line\nbreak' $'\033[31mred' $'\xff\xfe' '\x41' 'ünï' '*' '"' '~')
for i in "${!names[@]}"; do
	path=$work/$i/${names[i]}
	run sbx-spawn -q --write "$path" -- true
	check "a_missing_directory_is_refused_$i" has_status 125
	command=$(line)
	(cd / && eval "${command#create it: }")
	check "the_fix_creates_it_under_its_name_$i" test -d "$path"
	run sbx-spawn -q --cwd "$path" -- true
	option=$(line)
	option=${option#add }
	eval "run sbx-spawn -q ${option%, or*} --cwd \"\$path\" -- pwd"
	check "the_fix_shows_the_directory_$i" out_is "$path"
	ln -s "${names[i]}" "$work/$i/link"
	run sbx-spawn -q --cwd "$work/$i/link" -- true
	option=$(line)
	eval "run sbx-spawn -q ${option#*: } -- pwd"
	check "the_fix_starts_in_what_a_link_leads_to_$i" out_is "$path"
	printf '#!/bin/sh\r\necho ran\r\n' >"$path/program"
	chmod 755 "$path/program"
	run sbx-spawn -q --read "$work" -- "$path/program"
	command=$(line)
	eval "${command#convert it: }"
	run sbx-spawn -q --read "$work" -- "$path/program"
	check "the_fix_converts_the_lines_$i" out_is ran
	cp /usr/bin/true "$path/program"
	run sbx-spawn -q -- "$path/program"
	option=$(line)
	eval "run sbx-spawn -q ${option#*: } -- \"\$path/program\""
	check "the_fix_shows_the_program_$i" has_status 0
done
check nothing_else_was_run test ! -e "$work/evil" -a ! -e /evil
long=$work/$(printf '%0255d/' 0)$(printf '%0255d' 0)
run sbx-spawn -q --write "$long" -- true
check a_path_that_does_not_fit_is_in_no_command err_has 'fix: create it: mkdir -p PATH'
finish
