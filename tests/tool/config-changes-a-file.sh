#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

unset SBX_COLOR SBX_PROGRESS SBX_LOG_LEVEL
export HOME="$work/home" XDG_CONFIG_HOME="$work/config"
mkdir -p "$work/project"
cd "$work/project" || exit 1
file=$work/config/sbx/config.yaml

run sbx-config set color never
check set_creates_the_file_and_its_directory test -f "$file"
run sbx-config get color
check get_returns_the_value_that_was_set out_is never

printf '# a comment\ncolor: auto # why\n\nprogress: never\n' >"$file"
run sbx-config set color always
check comments_and_other_lines_stay test "$(grep -c -e '# a comment' -e '# why' -e 'progress: never' "$file")" -eq 3
run sbx-config get color
check the_changed_line_counts out_is always

before=$(cat "$file")
run sbx-config set color sometimes
check a_wrong_value_ends_with_2 has_status 2
check a_wrong_value_changes_nothing test "$(cat "$file")" = "$before"

run sbx-config set --where=project log_level debug
check where_project_writes_the_projects_file test -f .sbx/config.yaml
run sbx-config -v set log_level info
check verbose_prints_the_written_line out_has "$file: log_level: info"

run env -u HOME -u XDG_CONFIG_HOME sbx-config set color never
check without_a_home_the_error_shows_the_fix err_has 'set HOME, or write --where=project'
run env HOME=/proc/nowhere XDG_CONFIG_HOME=/proc/nowhere sbx-config set color never
check a_directory_that_cannot_be_created_ends_with_125 has_status 125

printf '# mine\ncolor: no # not at all\nprogress: [a,\n  b]\nlog_level: loud\n' >"$file"
run sbx-config get color
check a_value_that_is_none_stops_get has_status 2
for key in color progress; do
	run sbx-config set "$key" never
	check "set_replaces_a_value_that_is_none_of_$key" has_status 0
done
run sbx-config set log_level info
check set_replaces_a_word_that_is_no_choice has_status 0
check the_file_is_repaired_and_its_comments_stay test "$(cat "$file")" = '# mine
color: never # not at all
progress: never
log_level: info'

printf 'color: [auto] # mine\n' >"$file"
run sbx-config set color never
check a_layout_that_cannot_be_edited_ends_with_2 has_status 2
check the_error_shows_the_line_to_write_by_hand err_has 'write it by hand: color: never'

umask 022
printf 'color: auto\n' >"$work/dotfile" && chmod 640 "$work/dotfile"
ln -sf "$work/dotfile" "$file"
run sbx-config set color never
check a_link_of_the_users_own_stays_one test -L "$file"
check its_target_is_changed grep -q 'color: never' "$work/dotfile"
check its_target_keeps_its_mode test "$(stat -c %a "$work/dotfile")" = 640
rm "$file" .sbx/config.yaml

mkfifo .sbx/config.yaml
run timeout 60 sbx-config set --where=project color never
check a_pipe_is_not_waited_for has_status 125
check a_pipe_is_refused err_has 'it is a named pipe, not a file'
check a_pipe_is_not_replaced test -p .sbx/config.yaml

rm -f .sbx/config.yaml && rmdir .sbx && mkdir "$work/elsewhere" && ln -s "$work/elsewhere" .sbx
run sbx-config set --where=project color never
check a_projects_link_is_refused has_status 125
check nothing_is_written_behind_it test ! -e "$work/elsewhere/config.yaml"
rm .sbx && mkdir .sbx

rm -f .sbx/config.yaml && mkdir .sbx/config.yaml
run sbx-config set --where=project color never
check a_directory_in_the_files_place_is_refused test "$status" -ne 0
finish
