#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

unset SBX_COLOR SBX_PROGRESS SBX_LOG_LEVEL SBX_DEBUG
export HOME="$work/home" XDG_CONFIG_HOME="$work/config"
mkdir -p "$work/project/.sbx" "$work/config/sbx"
cd "$work/project" || exit 1

run sbx-config get color
check the_default_is_built_in out_is auto

echo 'color: always' >"$work/config/sbx/config.yaml"
run sbx-config get color
check the_user_beats_the_default out_is always

printf '# mine\ncolor: never\n' >.sbx/config.yaml
run sbx-config get color
check the_project_beats_the_user out_is never
run sbx-config list
check list_names_the_file_and_the_line out_has '.sbx/config.yaml:2'

run env SBX_COLOR=auto sbx-config get color
check the_environment_beats_the_project out_is auto
run env SBX_COLOR=auto sbx-config --json list
check list_names_the_variable out_has '"key":"color","value":"auto","origin":"environment","place":"SBX_COLOR"'

run sbx-config -q list
check list_names_the_argument out_has 'log_level    error      argument    -q'
run env SBX_LOG_LEVEL=warning sbx-config get -v log_level
check an_argument_beats_the_environment out_is info

echo 'log_level: error' >.sbx/config.yaml
run env SBX_DEBUG=x SBX_LOG_LEVEL=warning sbx-config -q get log_level
check debugging_beats_everything out_is debug
run env SBX_DEBUG=x SBX_LOG_LEVEL=warning sbx-config -q list
check list_names_the_variable_for_debugging out_has 'log_level    debug      environment SBX_DEBUG'
run env SBX_DEBUG= sbx-config get log_level
check an_empty_one_changes_nothing out_is error

for variable in SBX_TOKEN SBX_MODE SBX_ENV SBX_DEFAULT; do
	run env "$variable=x" sbx-config get color
	check "the_variable_${variable}_of_another_program_stops_nothing" has_status 0
done

echo 'color: sometimes' >"$work/config/sbx/config.yaml"
run sbx-config get color
check a_hidden_wrong_value_is_an_error_too has_status 2
check a_wrong_value_is_named_with_its_place err_has "config/sbx/config.yaml:1:8"

rm "$work/config/sbx/config.yaml"
echo '{"color": "never", "color": "auto"}' >.sbx/config.yaml
run sbx-config get color
check a_key_given_twice_is_an_error has_status 2
run sbx-spawn -- true
check a_wrong_configuration_stops_every_tool has_status 125
run sbx-bench --list
check a_verb_that_reads_no_configuration_still_works has_status 0
run sbx-config places
check the_places_are_shown_all_the_same out_has 'project  .sbx/config.yaml'
run sbx-config set --where=project color never
check a_key_that_stands_twice_is_not_guessed has_status 2

echo 'color: sometimes' >.sbx/config.yaml
run sbx-config set --where=project color never
check set_repairs_a_wrong_value has_status 0
run sbx-config get color
check the_repaired_value_is_in_force out_is never

rm .sbx/config.yaml && mkfifo .sbx/config.yaml
run timeout 60 sbx-config get color
check a_pipe_in_a_files_place_ends_with_125 has_status 125
check a_pipe_in_a_files_place_is_named err_has "cannot read '.sbx/config.yaml'"
rm .sbx/config.yaml

# Root can read every file, so run as another user.
as_nobody() { if [ "$(id -u)" -eq 0 ]; then setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; else "$@"; fi; }
chmod 711 "$work" "$work/project"
cp "$SBX_BUILD/tools/sbx-config" "$work/sbx-config"
mkdir "$work/closed" && chmod 0 "$work/closed"
run as_nobody env HOME="$work/closed" XDG_CONFIG_HOME= "$work/sbx-config" get color
check a_home_that_cannot_be_searched_stops_nothing out_is auto
in_closed() { cd "$work/closed" && as_nobody "$work/sbx-config" get color; }
if [ "$(id -u)" -eq 0 ]; then
	run in_closed
	check an_unsearchable_directory_is_skipped out_is auto
else
	skip an_unsearchable_directory_is_skipped 'only root can be in such a folder'
fi
mkdir "$work/open" && chmod 755 "$work/open" && mkdir "$work/open/sbx" && chmod 755 "$work/open/sbx"
echo 'color: never' >"$work/open/sbx/config.yaml" && chmod 0 "$work/open/sbx/config.yaml"
run as_nobody env XDG_CONFIG_HOME="$work/open" "$work/sbx-config" get color
check a_file_that_cannot_be_read_ends_with_125 has_status 125
check a_file_that_cannot_be_read_is_named err_has "cannot open '$work/open/sbx/config.yaml'"
chmod 700 "$work/closed"
finish
