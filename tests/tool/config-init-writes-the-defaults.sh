#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

unset SBX_COLOR SBX_PROGRESS SBX_LOG_LEVEL
export HOME="$work/home" XDG_CONFIG_HOME="$work/config"
mkdir -p "$work/project"
cd "$work/project" || exit 1
file=$work/config/sbx/config.yaml

run sbx-config list
defaults=$out
run sbx-config init
check init_makes_the_file_and_its_directory test -f "$file"
check init_prints_the_path out_is "$file"
for line in '# colour output on a terminal: auto, always, never' '#color: auto' '#progress: auto' '#log_level: notice'; do
	check "the_file_has_the_line_${line}" grep -Fqx "$line" "$file"
done
run sbx-config list
check the_file_changes_no_value out_is "$defaults"

sed 's/^#\([a-z_]*:\)/\1/' "$file" >"$work/all" && cp "$work/all" "$file"
run sbx-config get color
check every_key_of_it_can_be_used has_status 0
run sbx-config list
check a_key_without_its_comment_sign_counts out_has "$file:5"

run sbx-config init
check an_existing_file_ends_with_1 has_status 1
check an_existing_file_is_not_changed cmp -s "$work/all" "$file"
check an_existing_file_is_told_how_to_change_it err_has "fix: change it with 'sbx-config set KEY VALUE'"

run sbx-config init -q --where=project
check where_project_makes_the_projects_file test -f .sbx/config.yaml
check quiet_prints_nothing out_is ''
run sbx-config set --where=project color never
check the_new_file_can_be_changed grep -Fqx 'color: never' .sbx/config.yaml
rm -r .sbx && mkdir .sbx && ln -s "$work/elsewhere" .sbx/config.yaml
run sbx-config init --where=project
check a_link_in_the_place_of_the_file_is_not_followed test ! -e "$work/elsewhere"
rm -r .sbx && mkdir "$work/outside" && ln -s "$work/outside" .sbx
run sbx-config init --where=project
check a_link_in_the_place_of_the_directory_ends_with_125 has_status 125
check a_link_in_the_place_of_the_directory_is_not_followed test ! -e "$work/outside/config.yaml"
rm .sbx

for key in ai_provider model container_runtime; do
	run sbx-config set --where=project "$key" x
	check "${key}_is_refused" has_status 2
	check "${key}_is_not_taken_for_a_typing_mistake" err_has 'it belongs to sbx-tool, which this version does not have'
done
run sbx-config set --where=project theme x
check theme_belongs_to_another_tool err_has 'it belongs to sbx-view, which this version does not have'
finish
