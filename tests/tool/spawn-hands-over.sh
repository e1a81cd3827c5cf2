#!/bin/bash
# SPDX-License-Identifier: MIT
# A start that needs a module continues in spawn-with-modules; only a debugger can see the difference.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

if readelf -l "$SBX_BUILD/tools/sbx-spawn" | grep -q INTERP; then
	skip a_start_that_needs_a_module_goes_on 'sbx-spawn has a loader of its own here'
	finish
	exit
fi

# A script that prints its arguments.
words=$project/words
# shellcheck disable=SC2016 # the script's
printf '#!/bin/sh\nfor word; do printf "<%%s>" "$word"; done\n' >"$words"
chmod 755 "$words"
policy=$project/policy.yaml
cat >"$policy" <<'END'
version: 1
denySyscalls: [getpriority]
capabilities:
  - {name: system, match: {op: [fs.read, fs.list, fs.exists], path: [/usr, /bin, /lib, /lib64, /etc]}, action: allow}
  - {name: words, match: {op: fs.read, path: ./words}, action: allow}
  - {name: programs, match: {op: exec, path: [/usr/bin, /usr/lib, /bin, ./words]}, action: allow}
END
newline=$'a\nb'

# A filter that has to be compiled: root's cache may contain it, that of an ordinary user is removed.
anew() { rm -rf "$work/$who/run/sbx/filters" && places && spawn "$@"; }
from_a_pipe() {
	places
	# shellcheck disable=SC2016 # the other shell's
	(cd "$project" && as "$who" sh -c 'cat policy.yaml | sbx-spawn --policy /dev/stdin "$@"' sh "$@")
}
read_again() { anew -q --policy "$policy" -- /bin/cat <<<'not a byte is lost'; }

for who in $starters; do
	run anew -q --policy "$policy" -- "$words" '' 'a b' "$newline" '*' -- -q
	check "every_word_arrives_as_it_was_by_$who" out_is "<><a b><$newline><*><--><-q>"
	run anew -q --policy "$policy" -- /bin/sh -c 'exit 7'
	check "the_status_is_the_commands_by_$who" has_status 7
	run read_again
	check "stdin_of_the_command_is_left_to_it_by_$who" out_is 'not a byte is lost'
	run from_a_pipe -q -- /bin/echo through
	check "a_policy_that_can_be_read_once_is_read_once_by_$who" out_is through
done

# A filter that an earlier command left in the cache must not weaken a policy.
who=user
kept=$work/user/run/sbx/filters
run anew -q --policy "$policy" -- /bin/true
check a_filter_is_kept_for_the_next_start test -n "$(ls "$kept")"
for folder in "$work/user/run" "$work/user"; do
	run spawn -q --write "$folder" -- sh -c "for file in '$kept'/*; do : >\"\$file\" && echo emptied; done; : >'$kept/other' && echo made"
	check "no_sandbox_changes_it_from_${folder##*/}" test -z "$out" -a -s "$(ls "$kept"/*)"
done
rm -rf "$kept"
run spawn -q --write "$work/user/run" -- mkdir "$kept"
check no_sandbox_creates_the_cache_directory test ! -e "$kept"

# sbx-spawn copied without the other program, and without the filter in the cache.
who=user
mkdir -p "$work/alone/tools"
cp "$SBX_BUILD/tools/sbx-spawn" "$work/alone/tools/"
chmod -R a+rX "$work/alone"
alone() { rm -rf "$work/$who/run/sbx/filters" && places && (cd "$project" && as "$who" "$work/alone/tools/sbx-spawn" "$@"); }
run alone -q --policy "$policy" -- /bin/true
check without_its_other_half_nothing_starts has_status 125
check the_error_names_the_missing_program err_has 'install all of sbx'
run alone -q -- /bin/true
check a_start_without_modules_needs_no_other_program has_status 0

# --out goes on in the other half, which waits here until the thread that has started sbx-spawn, or its process, has ended.
passing=$work/passing
mkdir -p "$passing/tools" "$passing/lib"
cp "$SBX_BUILD/tools/sbx-spawn" "$passing/tools/"
cat >"$passing/tools/spawn-with-modules" <<END
#!/bin/sh
echo >'$work/passed'
read -r _ <'$work/go'
exec '$SBX_BUILD/tools/spawn-with-modules' "\$@"
END
cat >"$passing/start.py" <<'END'
import os, subprocess, sys, threading
started = []
def start():
    started.append(subprocess.Popen(sys.argv[3:]))
    open(sys.argv[1]).close()
thread = threading.Thread(target=start)
thread.start()
thread.join()
while len(os.listdir("/proc/self/task")) > 1:
    pass
os.write(os.open(sys.argv[2], os.O_RDWR), b"\n")
sys.exit(started[0].wait())
END
chmod -R a+rX "$passing"
chmod 755 "$passing/tools/spawn-with-modules"
mkfifo "$work/passed" "$work/go" "$work/said"
touch "$work/parent"
chmod 666 "$work/passed" "$work/go" "$work/parent"
in_project() { places && (cd "$project" && as "$who" "$@"); }
for who in $starters; do
	# shellcheck disable=SC2016 # the command's
	run in_project python3 "$passing/start.py" "$work/passed" "$work/go" "$passing/tools/sbx-spawn" -q --die-with-parent \
		--out "$work/$who/changes.tar" -- /bin/sh -c 'test -z "${SBX_SPAWN_PARENT-}" && exit 7'
	check "a_thread_that_ends_then_does_not_end_the_sandbox_by_$who" has_status 7

	# shellcheck disable=SC2016 # the parent's
	in_project bash -c 'echo $$ >"$0"; "$@"; true' "$work/parent" "$passing/tools/sbx-spawn" -q --die-with-parent \
		--out "$work/$who/changes.tar" -- /bin/echo begun >"$work/said" 2>&1 &
	exec 6<"$work/said" 7<>"$work/go"
	read -r _ <"$work/passed"
	kill -KILL "$(cat "$work/parent")"
	wait "$!" 2>/dev/null
	echo >&7
	run cat <&6
	exec 6<&- 7<&-
	check "a_parent_that_ends_then_has_no_sandbox_by_$who" out_has 'it has ended already'
	check "so_nothing_runs_by_$who" test -z "$(grep begun <<<"$out")"
done
finish
