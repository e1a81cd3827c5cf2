#!/bin/bash
# SPDX-License-Identifier: MIT
# sbx-policy check exits with 4 exactly if sbx-spawn refuses to start under the policy, and both name the same line.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

system='{name: system, match: {op: [fs.read, fs.list, fs.exists, exec], path: [/usr, /bin, /lib, /lib64]}, action: allow}'
digest=a123456789012345678901234567890123456789012345678901234567890123
name64=$(printf 'a%.0s' {1..64})
ports32=$(seq -s, 4001 4032)

# NAME<TAB>LINE<TAB>POLICY: LINE is 0 if sbx-spawn starts; '|' stands for a newline.
cases() {
	cat <<END
a_path	0	capabilities:| - $system
a_directory_with_its_contents	0	capabilities:| - $system| - {name: r, match: {op: fs.*, path_glob: src/**}, action: allow}
a_glob_that_excludes_paths	0	capabilities:| - $system| - {name: r, match: {op: fs.read, path_glob: [src/**, '!src/a/']}, action: allow}
a_glob	3	capabilities:| - $system| - {name: r, match: {op: fs.read, path_glob: '**/*.c'}, action: allow}
a_name_anywhere	3	capabilities:| - $system| - {name: r, match: {op: fs.read, path_glob: Makefile}, action: deny}
a_program_by_its_name	3	capabilities:| - $system| - {name: r, match: {op: exec, path: cc}, action: deny}
a_glob_in_an_exception	6	capabilities:| - $system| - name: r|   match: {op: fs.*, path: ./}|   action: allow|   except: [{path_glob: '**/*.key'}]
an_exception_with_a_path	0	capabilities:| - $system| - name: r|   match: {op: fs.*, path: ./src}|   action: allow|   except: [{path: ./src/a}]
a_glob_for_which_nothing_is_left	0	capabilities:| - $system| - name: r|   match: {op: fs.read, path_glob: '*.c'}|   action: allow|   except: [{op: fs.*}]
a_glob_that_wants_a_caller	0	capabilities:| - $system| - {name: r, match: {op: fs.read, path_glob: '*.c', caller: me}, action: allow}
a_denied_glob_that_wants_a_caller	3	capabilities:| - $system| - {name: r, match: {op: fs.read, path_glob: '*.c', caller: me}, action: deny}
a_glob_of_a_file_that_has_a_host	0	capabilities:| - $system| - {name: r, match: {op: fs.read, path_glob: '*.c', host: a.example}, action: deny}
a_warning_about_files	3	capabilities:| - $system| - {name: r, match: {op: fs.write, path: ./src}, action: warn}
a_review_of_programs	3	capabilities:| - $system| - {name: r, match: {op: exec, path: /usr/bin/id, caller: me}, action: require_review}
a_rule_that_says_nothing	0	capabilities:| - $system| - {name: r, match: {op: fs.read, path_glob: '*.c'}, action: pass}
a_digest	0	capabilities:| - $system| - {name: r, match: {op: exec, path: /usr/bin/id}, action: allow, constraints: {sha256: $digest}}
a_token	0	capabilities:| - $system| - {name: r, match: {op: fs.write, path: ./src}, action: allow, constraints: {require_capability_token: true}}
operations_of_tools	0	capabilities:| - $system| - {name: r, match: {op: [git.commit, shell.run]}, action: require_review}
a_default_that_warns	1	defaults: {fs: warn}|capabilities:| - $system
a_default_that_asks	1	defaults: {exec: require_review}|capabilities:| - $system
no_network	0	net: {mode: none}|network_whitelist: [a.example]|capabilities:| - $system
the_hosts_network	0	net: {mode: host}|capabilities:| - $system
the_hosts_network_as_a_whole	0	net: {mode: host}|capabilities:| - $system| - {name: r, match: {op: net.*}, action: allow}
the_hosts_network_with_a_rule	4	net: {mode: host}|capabilities:| - $system| - {name: r, match: {op: net.connect, cidr: 10.0.0.0/8}, action: deny}
the_hosts_network_with_a_rule_for_a_caller	4	net: {mode: host}|capabilities:| - $system| - {name: r, match: {op: '*', caller: me}, action: allow}
the_mode_proxy	0	capabilities:| - $system|net: {mode: proxy}
a_denied_port_of_the_loopback_with_a_proxy	3	capabilities:| - $system| - {name: r, match: {op: net.bind, ports: 80}, action: deny}|net: {mode: proxy}
the_mode_veth	1	net: {mode: veth}|capabilities:| - $system
the_mode_transparent	1	net: {mode: transparent}|capabilities:| - $system
a_template_with_a_proxy	0	isolation: {template: ai-provider}|capabilities:| - $system
hosts_without_a_mode	0	network_whitelist:| - a.example|capabilities:| - $system
a_default_of_the_network_without_a_mode	0	defaults: {net: allow}|capabilities:| - $system
denied_networks_without_a_mode	0	capabilities:| - $system| - {name: r, match: {op: net.*, cidr: 10.0.0.0/8}, action: deny}
all_operations_with_a_caller	0	capabilities:| - $system| - {name: r, match: {op: '*', caller: me}, action: allow}
all_operations	0	capabilities:| - {name: s, match: {op: '*'}, action: allow}
a_mount_at_the_root	3	capabilities:| - $system|mounts: [{target: /, mode: tmpfs}]
a_mount_from_the_root	3	capabilities:| - $system|mounts: [{target: /mnt, source: /, mode: ro}]
a_mount_of_the_hosts_processes	3	capabilities:| - $system|mounts: [{target: /mnt, source: /proc/none, mode: rw}]
a_mount_of_its_own_processes	3	capabilities:| - $system|mounts: [{target: /proc, source: /proc}]
an_overlay_over_processes	3	capabilities:| - $system|mounts: [{target: /mnt, source: /proc/tty, mode: overlay}]
a_mount_of_a_device	3	capabilities:| - $system|mounts: [{target: /dev/null}]
a_mount_of_something_else_at_a_device	0	capabilities:| - $system|mounts: [{target: /dev/sbx-test, source: /usr, mode: ro}]
a_tmpfs_among_processes	0	capabilities:| - $system|mounts: [{target: /proc/tty, mode: tmpfs}]
a_secret_with_a_denied_copy	4	capabilities:| - $system| - {name: r, match: {op: fs.read, path: /run/secrets}, action: deny}|env: {secrets: {T: /etc/hostname}}
a_secret_with_another_denied_copy	0	capabilities:| - $system| - {name: r, match: {op: fs.read, path: /run/secrets/U}, action: deny}|env: {secrets: {T: /etc/hostname}}
a_secret_that_must_not_be_written	0	capabilities:| - $system| - {name: r, match: {op: fs.write, path: /run/secrets}, action: deny}|env: {secrets: {T: /etc/hostname}}
a_denied_file_as_a_secret	4	capabilities:| - $system| - {name: r, match: {op: fs.read, path: /etc/hostname}, action: deny}|env: {secrets: {T: /etc/hostname}}
a_secret_that_must_not_be_listed	0	capabilities:| - $system| - {name: r, match: {op: fs.list, path: [/run/secrets, /etc]}, action: deny}|env: {secrets: {T: /etc/hostname}}
nested_sandboxes_with_landlock	2	capabilities: [{name: all, match: {op: '*'}, action: allow}]|isolation: {nested: true, landlock: true}
nested_sandboxes_without_landlock	0	capabilities: [{name: all, match: {op: [fs.read, fs.list, exec]}, action: allow}]|isolation: {nested: true, landlock: false}
nested_sandboxes_with_the_plugin	3	version: 1|capabilities: [{name: all, match: {op: '*'}, action: allow}]|plugins: {landlock: true}|isolation: {nested: true}
two_mounts_at_one_target	5	capabilities:| - $system|mounts:| - {target: /mnt, source: /usr, mode: ro}| - {target: /mnt, source: /etc, mode: ro}
a_mount_of_another_directory	0	capabilities:| - $system|mounts: [{target: /mnt, source: /usr, mode: ro}]
a_mount_on_a_denied_target	4	capabilities:| - $system| - {name: r, match: {op: fs.read, path: /mnt}, action: deny}|mounts: [{target: /mnt, source: /usr, mode: ro}]
a_mount_of_which_a_part_is_denied	0	capabilities:| - $system| - {name: r, match: {op: fs.read, path: /mnt/bin}, action: deny}|mounts: [{target: /mnt, source: /usr, mode: ro}]
a_mount_with_a_denied_source	4	capabilities:| - $system| - {name: r, match: {op: fs.read, path: /usr}, action: deny}|mounts: [{target: /mnt, source: /usr, mode: ro}]
a_tmpfs_with_denied_contents	4	capabilities:| - $system| - {name: r, match: {op: fs.read, path_glob: /mnt/**}, action: deny}|mounts: [{target: /mnt, mode: tmpfs}]
a_mount_below_a_denied_directory	5	capabilities:| - $system| - {name: r, match: {op: fs.list, path: /mnt}, action: deny}|mounts:| - {target: /mnt/a, mode: tmpfs}
a_read_only_mount_on_a_write_protected_target	0	capabilities:| - $system| - {name: r, match: {op: fs.write, path: /mnt}, action: deny}|mounts: [{target: /mnt, source: /usr, mode: ro}]
a_tmpfs_that_must_not_be_written	4	capabilities:| - $system| - {name: r, match: {op: fs.write, path: /mnt, caller: me}, action: deny}|mounts: [{target: /mnt, mode: tmpfs}]
a_mount_of_which_a_source_is_denied	4	capabilities:| - $system| - {name: r, match: {op: fs.read, path: ./src}, action: deny}|mounts: [{target: ./src, mode: rw}]
a_mount_that_an_exception_takes_out	0	capabilities:| - $system| - {name: r, match: {op: fs.read, path: /mnt}, action: deny, except: [{path: /mnt/a}]}|mounts: [{target: /mnt/a, mode: tmpfs}]
a_mask_on_a_denied_target	0	capabilities:| - $system| - {name: r, match: {op: fs.read, path: /usr/share}, action: deny}|mounts: [{target: /usr/share, mode: mask}]
a_mount_in_proc_self	3	capabilities:| - $system|mounts: [{target: /proc/self/environ, mode: mask}]
a_denial_of_proc_self	3	capabilities:| - $system| - {name: r, match: {op: fs.read, path: /proc/self/environ}, action: deny}
a_denial_of_paths_below_proc_self	3	capabilities:| - $system| - {name: r, match: {op: fs.*, path_glob: /proc/thread-self/**}, action: deny}
a_denial_of_proc_self_that_never_applies	0	capabilities:| - $system| - {name: r, match: {op: fs.read, path: /proc/self/environ}, action: deny, except: [{op: fs.*}]}
a_denial_of_proc	0	capabilities:| - $system| - {name: r, match: {op: fs.read, path: /proc}, action: deny}
a_denial_of_a_file_of_proc	0	capabilities:| - $system| - {name: r, match: {op: fs.read, path: /proc/cpuinfo}, action: deny}
an_allowance_of_proc_self	0	capabilities:| - $system| - {name: r, match: {op: fs.read, path: /proc/self/status}, action: allow}
a_denial_of_names_alone	3	capabilities:| - $system| - {name: r, match: {op: fs.exists, path: /usr/share}, action: deny}
a_denial_that_leaves_names_alone	4	capabilities:| - $system| -|   name: r|   match: {op: fs.*, path: /usr/share}|   action: deny|   except: [{op: [fs.read, fs.list, fs.write]}]
a_denial_of_names_and_content	0	capabilities:| - $system| - {name: r, match: {op: fs.*, path: /usr/share}, action: deny}
a_name_of_64_bytes	0	capabilities:| - $system|hostname: $name64
a_name_of_65_bytes	3	capabilities:| - $system|hostname: a$name64
ports_32	0	capabilities:| - $system|net: {loopback: {connect: [$ports32]}}
ports_32_and_one_twice	0	capabilities:| - $system|net: {loopback: {connect: [$ports32, 4001]}}
ports_33	3	capabilities:| - $system|net: {loopback: {connect: [$ports32, 4033]}}
a_port_that_a_rule_denies	4	capabilities:| - $system| - {name: r, match: {op: net.*}, action: deny}|net: {loopback: {connect: [4000]}}
a_port_that_a_rule_denies_on_the_hosts_network	3	capabilities:| - $system| - {name: r, match: {op: net.connect, ports: 4000}, action: deny}|net: {mode: host, loopback: {connect: [4000]}}
a_port_that_a_rule_denies_by_name	4	capabilities:| - $system| - {name: r, match: {op: net.connect, host: localhost, ports: 7777}, action: deny}|net: {loopback: {connect: [7777]}}
a_port_that_a_rule_denies_by_address	4	capabilities:| - $system| - {name: r, match: {op: net.*, cidr: 127.0.0.0/8}, action: deny}|net: {loopback: {bind: [7777]}}
a_port_to_listen_on_that_a_rule_denies_connecting_to	0	capabilities:| - $system| - {name: r, match: {op: net.connect}, action: deny}|net: {loopback: {bind: [4000]}}
ports_33_on_the_hosts_network	0	capabilities:| - $system|net: {mode: host, loopback: {connect: [$ports32, 4033]}}
ports_33_to_listen_on	0	capabilities:| - $system|net: {loopback: {bind: [$ports32, 4033]}}
ports_32_beside_a_proxy	1	net: {mode: proxy, loopback: {connect: [$ports32]}}|capabilities:| - $system
ports_30_beside_a_proxy	0	net: {mode: proxy, loopback: {connect: [${ports32%,4031,4032}]}}|capabilities:| - $system
the_port_of_the_proxy	1	net: {mode: proxy, loopback: {bind: [8080]}}|capabilities:| - $system
the_port_of_no_proxy	0	net: {loopback: {connect: [8080]}}|capabilities:| - $system
a_port_for_both	5	capabilities:| - $system|net:|  loopback: {connect: [4000],|   bind: [4001, 4000]}
a_manifest_with_the_network	0	{"sandbox": {"config": {"allowNetworkAccess": true}}}
END
}

names_place() { err_has "p.yaml:$1: " || err_has "p.yaml:$1 'mounts" || err_has "p.yaml:$1 'net.loopback" || err_has "p.yaml:$1 'env.secrets" || err_has "p.yaml:$1 'isolation.landlock'" || err_has "p.yaml:$1 'plugins.landlock'"; }

mkdir "$project/src" "$project/src/a"
places
while IFS=$'\t' read -r case line text; do
	tr '|' '\n' <<<"$text" >"$work/p.yaml"
	chmod 644 "$work/p.yaml"
	run sbx-policy check "$work/p.yaml"
	check_status=$status
	check "check_ends_as_it_should_under_$case" test "$status" -eq "$((line > 0 ? 4 : 0))"
	check "check_names_the_line_of_$case" test "$line" -eq 0 -o "$(grep -c "p.yaml:$line:[0-9]*: refused W" "$work/out")" -eq 1
	run begin_spawn --policy "$work/p.yaml" --print-plan -- true
	check "spawn_agrees_with_check_on_$case" test "$((status != 0))" -eq "$((check_status == 4))"
	if [ "$line" -gt 0 ]; then
		check "spawn_names_the_line_of_$case" names_place "$line"
		check "spawn_shows_the_fix_for_$case" err_has 'fix: '
	fi
done < <(cases)

# Random policies; a failure prints the seed.
cd "$project" || exit 1
seed=${SEED:-${CI:+1}}
run python3 "$SBX_SOURCE/tests/tool/policy-random.py" "${seed:-$RANDOM}" 150
check check_and_spawn_agree_on_random_policies has_status 0
cd "$work" || exit 1

# A policy that is refused starts after the proposed fix was applied.
printf 'network_whitelist: [a.example]\ncapabilities:\n - %s\n' "$system" >"$work/p.yaml"
run spawn --policy "$work/p.yaml" --net none -- /usr/bin/true
check rules_for_hosts_start_without_a_network_where_that_is_typed has_status 0

# A mask hides the content, but not the name; eval and explain say so.
printf 'capabilities:\n - %s\n - {name: r, match: {op: fs.*, path: ./src}, action: allow}\n' "$system" >"$work/p.yaml"
printf ' - {name: d, match: {op: fs.*, path: ./src/a}, action: deny}\n' >>"$work/p.yaml"
run spawn --policy "$work/p.yaml" -- ls src
check a_denied_name_stays_visible out_has a
run spawn --policy "$work/p.yaml" -- ls src/a
check the_content_of_a_denied_name_is_hidden test "$status" -ne 0
cd "$project" || exit 1
run sbx-policy eval "$work/p.yaml" fs.exists src/a
check eval_says_that_the_name_stays_visible out_has 'but: in a sandbox the name stays visible'
run sbx-policy eval "$work/p.yaml" fs.read src/a
check eval_does_not_say_so_of_reading test "${out#*stays visible}" = "$out"
run sbx-policy explain "$work/p.yaml" fs.exists src/a
check explain_says_that_the_name_stays_visible out_has 'Landlock; the name stays visible where its directory is shown'
cd "$work" || exit 1

# Where the sandbox permits less or more than eval says, for all paths and addresses, a note says so.
printf 'isolation: {template: policy-sandbox}\ncapabilities:\n - %s\n - {name: r, match: {op: fs.*, path: ./src}, action: allow}\n' "$system" >"$work/p.yaml"
run spawn --policy "$work/p.yaml" --print-plan -v -- true
check a_grant_of_writing_under_the_profile_strict_is_noted out_has "'r' grants writing, but no file can be written"
sed -i '/name: r/d' "$work/p.yaml"
run spawn --policy "$work/p.yaml" --print-plan -v -- true
check without_such_a_grant_there_is_no_note test "${out#*no file can be written}" = "$out"
printf 'net: {mode: none, loopback: {connect: [7777]}}\ncapabilities:\n - %s\n' "$system" >"$work/p.yaml"
run spawn --policy "$work/p.yaml" --print-plan -v -- true
check udp_on_the_loopback_of_a_forwarded_port_is_noted out_has 'UDP sockets can be used on the private loopback'

printf 'version: 1\nfs: {rules: [{action: allow, path: %s, perms: [write_file]}]}\n' "$project" >"$work/p.yaml"
cd "$project" || exit 1
run spawn --policy "$work/p.yaml" --print-plan -v -- true
check a_project_that_is_named_by_its_absolute_path_is_noted out_has 'eval allows more in the working directory than the sandbox'
sed -i "s|$project|./|" "$work/p.yaml"
run spawn --policy "$work/p.yaml" --print-plan -v -- true
check one_that_is_named_as_it_should_be_is_not test "${out#*allows more in the working directory}" = "$out"
cd "$work" || exit 1

# /proc/self refers to sbx-spawn when the planner looks at it.
run spawn --deny /proc/self/environ -- true
check a_denial_of_proc_self_says_why_it_cannot_be err_has "'/proc/self' means the process that reads it: here sbx-spawn"
check the_refusal_of_proc_self_shows_the_fix err_has "fix: name '/proc'"

# The sandbox has its own /proc, so that it does not matter that root's probe does not follow /proc/self.
printf 'capabilities:\n - %s\n - {name: r, match: {op: fs.read, path: /proc/self/status}, action: allow}\n' "$system" >"$work/p.yaml"
for who in $starters; do
	run spawn --policy "$work/p.yaml" -- true
	check "an_allowance_of_proc_self_starts_by_$who" has_status 0
done
who=user

# A program that may be executed but not read cannot be executed.
cp /usr/bin/true "$project/src/tool"
chmod 755 "$project/src/tool"
printf 'capabilities:\n - %s\n - {name: r, match: {op: exec, path: ./src/tool}, action: allow}\n' "$system" >"$work/p.yaml"
run sbx-policy check "$work/p.yaml"
check a_program_that_cannot_be_read_is_warned_of out_has 'p.yaml:3:38: warning W19: '
check a_warning_alone_is_no_refusal has_status 0
run spawn --policy "$work/p.yaml" -- src/tool
check a_program_that_cannot_be_read_is_not_executed has_status 126
sed -i 's/op: exec, path: .\/src/op: [exec, fs.read], path: .\/src/' "$work/p.yaml"
run sbx-policy check "$work/p.yaml"
check a_program_that_can_be_read_is_not_warned_of test -z "$out"
run spawn --policy "$work/p.yaml" -- src/tool
check a_program_that_can_be_read_is_executed has_status 0
printf 'capabilities:\n - %s\n - %s\n - %s\n - %s\n' "$system" '{name: p, match: {op: fs.read, path: ./}, action: allow}' \
	'{name: r, match: {op: exec, path: ./src/tool}, action: allow}' '{name: d, match: {op: fs.read, path: ./src}, action: deny}' >"$work/p.yaml"
run sbx-policy check "$work/p.yaml"
check a_program_whose_reading_is_denied_is_warned_of out_has 'p.yaml:4:38: warning W19: '
check the_warning_names_the_rule_that_denies_it out_has "rule 'd' ($work/p.yaml:5) denies fs.read"
run spawn --policy "$work/p.yaml" -- src/tool
check a_program_whose_reading_is_denied_is_not_executed has_status 126
finish
