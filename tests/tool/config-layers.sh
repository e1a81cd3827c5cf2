#!/bin/sh
# SPDX-License-Identifier: MIT
. "$SBX_SOURCE/tests/tool/tap.sh"

unset SBX_COLOR SBX_PROGRESS SBX_LOG_LEVEL
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
finish
