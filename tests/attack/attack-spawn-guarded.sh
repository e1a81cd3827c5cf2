#!/bin/bash
# SPDX-License-Identifier: MIT
# A command tries to rewrite the policy that confines it, and to use sbx's services through their visible directory.
# Each attempt is also made outside, where it must succeed.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

policy() {
	printf '%s\n' 'version: 1' 'capabilities:' \
		'  - {name: p, match: {syscall: "fs.*", path: "./"}, action: allow}' \
		'  - {name: s, match: {syscall: [fs.read, fs.list, exec], path: [/usr, /bin, /lib, /lib64, /etc]}, action: allow}'
}

# All ways to put another policy under the name: write, truncate, link, rename the file or a parent directory.
cat >"$work/rewrite" <<'END'
p=$1
d=${p%/*}
echo '# mine' >>"$p"
truncate -s 0 "$p"
chmod 777 "$p"
echo '# mine' >new
mv -f new "$p"
rm -f "$p"
echo '# mine' >new
ln -f new "$p"
ln -sf new "$p"
[ "$d" = "$p" ] || { mv "$d" other && mkdir "$d" && cp new "$p"; }
for beside in "$p.previous" "$p.meta.json"; do
	echo '# mine' >"$beside"
done
true
END
fresh() {
	rm -rf "$project"
	mkdir -p "$project/conf"
	policy >"$project/conf/p.yaml"
	cp "$project/conf/p.yaml" "$project/conf/p.yaml.previous"
	echo '{}' >"$project/conf/p.yaml.meta.json"
	cp "$work/rewrite" "$project/rewrite"
	places
}
unchanged() {
	policy | cmp -s - "$project/conf/p.yaml" && policy | cmp -s - "$project/conf/p.yaml.previous" &&
		[ "$(cat "$project/conf/p.yaml.meta.json")" = '{}' ] &&
		[ "$(stat -c %a "$project/conf/p.yaml")" = 644 ]
}
changed() { grep -qs mine "$project/conf/p.yaml"; }

for who in $starters; do
	fresh
	(cd "$project" && as "$who" sh rewrite conf/p.yaml) >/dev/null 2>&1
	check "outside_a_policy_is_rewritten_by_$who" changed

	fresh
	run spawn --policy conf/p.yaml --write . -- sh rewrite conf/p.yaml
	check "a_command_does_not_rewrite_its_policy_of_$who" unchanged
	check "the_command_ran_for_$who" has_status 0
	fresh
	run spawn --policy "$project/conf/../conf/p.yaml" --write . -- sh rewrite conf/p.yaml
	check "nor_by_another_name_of_$who" unchanged
	fresh
	run eval 'spawn --policy-fd 8 --write . -- sh rewrite conf/p.yaml 8<"$project/conf/p.yaml"'
	check "nor_where_it_came_by_an_open_file_of_$who" unchanged
	fresh
	run spawn --policy conf/p.yaml --bind "$project:/mnt:rw" -- sh -c 'cd /mnt && sh rewrite conf/p.yaml'
	check "nor_where_a_bind_shows_it_of_$who" unchanged

	# A replaced link names another policy.
	fresh
	ln -s conf/p.yaml "$project/link.yaml"
	chown -h "$(stat -c %u:%g "$project")" "$project/link.yaml"
	run spawn --policy link.yaml --write . -- sh -c 'echo mine >new && ln -sf new link.yaml'
	check "a_link_to_the_policy_leads_where_it_led_for_$who" test "$(readlink "$project/link.yaml")" = conf/p.yaml

	fresh
	(cd "$project" && as "$who" sbx-ctl create --id "guarded-$$-$who" --policy conf/p.yaml --write . -- sh rewrite conf/p.yaml) >/dev/null
	(cd / && as "$who" sbx-ctl start "guarded-$$-$who" && as "$who" sbx-ctl wait "guarded-$$-$who") >"$work/out" 2>&1
	status=$? out=$(cat "$work/out")
	check "nor_where_sbx_ctl_starts_it_for_$who" unchanged
	check "which_it_did_for_$who" has_status 0
	(as "$who" sbx-ctl remove "guarded-$$-$who") >/dev/null 2>&1
done

# In a fresh account sbx creates the paths that it would read, before the command could.
for who in $starters; do
	fresh
	owner=$(stat -c %u "$project")
	bare() { (cd "$project" && as "$who" env -u XDG_STATE_HOME -u XDG_CONFIG_HOME HOME="$project" sbx-spawn "$@"); }
	run bare --write . --print-plan -- true
	check "a_plan_that_is_shown_makes_nothing_for_$who" test ! -e "$project/.config"
	run bare --write . -- sh -c 'touch a .config/sbx/a .local/state/sbx/a; mv .config b; mkdir .config/sbx; touch .config/c'
	check "a_fresh_home_is_writable_for_$who" test -e "$project/a" -a -e "$project/.config/c"
	check "but_not_where_sbx_reads_for_$who" test -z "$(ls -A "$project/.config/sbx")" -a ! -e "$project/.local/state/sbx/a"
	check "which_is_the_owners_alone_for_$who" test "$(stat -c %a:%u "$project/.config/sbx")" = "700:$owner"
done

# The user's service, in the runtime directory; a command that can connect asks for a token and a reload.
who=user
fresh
talk='import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
try:
    s.connect(sys.argv[1])
except OSError as e:
    sys.exit("refused: " + str(e))
s.send(b"{\"do\":\"reload\"}")
print(s.recv(65536).decode())'
as user mkdir -p "$work/user/run/sbx"
(cd "$project" && as user /usr/bin/python3 "$SBX_SOURCE/tests/tool/seqpacket.py" start "$work/user/pid" \
	sbx-policy serve conf/p.yaml) >"$work/serve" 2>&1
trap 'as user /usr/bin/python3 "$SBX_SOURCE/tests/tool/seqpacket.py" stop "$work/user/pid"; rm -rf "$work"' EXIT
socket=$XDG_RUNTIME_DIR/sbx/policy.sock
run as user /usr/bin/python3 -c "$talk" "$socket"
check outside_the_service_answers has_status 0
for shown in "--read $XDG_RUNTIME_DIR" "--write $XDG_RUNTIME_DIR" "--bind $XDG_RUNTIME_DIR:/mnt" "--write $work/user" \
	"--unix $socket"; do
	at=$socket
	[ "${shown#--bind}" = "$shown" ] || at=/mnt/sbx/policy.sock
	# shellcheck disable=SC2086 # an option and its value
	run begin_spawn $shown -- /usr/bin/python3 -c "$talk" "$at"
	check "no_command_reaches_it_with_${shown%% *}" test "$status" -ne 0
done
run begin_spawn --read "$XDG_RUNTIME_DIR" -- sh -c "ls -A $XDG_RUNTIME_DIR/sbx 2>/dev/null | wc -l"
check nothing_of_the_directory_is_seen out_is 0

# A policy that allows writing in a directory, except a name in it: whatever it says about paths below the name, the
# name itself cannot be renamed, removed or created anew.
tree() {
	rm -rf "$work/tree"
	mkdir -p "$work/tree/a/x"
	[ "$who" = root ] || chown -R "$user" "$work/tree"
	places
}
replace="mv '$work/tree/a' '$work/tree/c' && mkdir '$work/tree/a'"
rules() { # EXCEPT-OF-ALLOW [RULE]
	printf '%s\n' 'version: 1' 'capabilities:' \
		'- {name: s, action: allow, match: {op: [fs.read, fs.list, exec], path: [/usr, /bin, /lib, /lib64, /etc]}}' \
		"- {name: t, action: allow, match: {op: [fs.read, fs.list, fs.write], path: '$work/tree'}, except: [$1]}" "${@:2}"
}
for who in $starters; do
	tree
	run as "$who" sh -c "$replace"
	check "outside_the_name_is_replaced_by_$who" has_status 0
	rules "{path_glob: '$work/tree/a'}" >"$work/except.yaml"
	rules '' "- {name: d, action: deny, match: {op: fs.write, path_glob: '$work/tree/a'}}" >"$work/deny.yaml"
	for how in except deny; do
		tree
		run spawn -p "$work/$how.yaml" --cwd /usr -- sh -c "touch '$work/tree/b' && $replace"
		check "a_name_is_not_replaced_with_${how}_by_$who" test -d "$work/tree/a/x" -a ! -e "$work/tree/c"
		check "files_beside_the_guarded_path_are_written_with_${how}_by_$who" test -e "$work/tree/b"
	done
done
finish
