#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

export HOME="$work/home" XDG_CONFIG_HOME="$work/config"
mkdir -p "$work/project/.sbx"
cd "$work/project" || exit 1

for key in policy session_mode limits net no_sandbox; do
	run sbx-config set --where=project "$key" x
	check "set_refuses_$key" has_status 2
	check "set_says_where_${key}_belongs" err_has policy
	check "set_of_${key}_wrote_nothing" test ! -e .sbx/config.yaml

	echo "$key: x" >.sbx/config.yaml
	run sbx-config list
	check "a_projects_file_with_${key}_is_refused" has_status 2
	rm .sbx/config.yaml
done

run env SBX_SESSION_MODE=explore sbx-config list
check a_variable_cannot_set_one_either has_status 2
check the_variable_is_named err_has 'fix: unset SBX_SESSION_MODE'
finish
