#!/bin/bash
# SPDX-License-Identifier: MIT
# In a sandbox without Landlock (isolation.nested) a command opens the streams of a visitor of 'sbx-ctl exec' again, with
# another access mode: no file of the host may be among them.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

cat >"$work/p.yaml" <<END
version: 1
isolation: {nested: true}
net: {mode: none}
capabilities:
  - {name: see, action: allow, match: {op: [fs.read, fs.list, fs.exists], path: [/usr, /bin, /lib, /lib64, $work/taker.py]}}
  - {name: programs, action: allow, match: {op: exec}}
  - {name: enter, action: allow, match: {op: container.run, mode: debug}}
END
# Prints a line for each stream of another process that it can open for reading and writing, and writes to it.
cat >"$work/taker.py" <<'END'
import os, stat, sys
print("ready", flush=True)
sys.stdin.readline()
for pid in range(3, os.getpid() + 100):
    for fd in range(3) if pid != os.getpid() else []:
        try:
            again = os.open(f"/proc/{pid}/fd/{fd}", os.O_RDWR | os.O_NONBLOCK)
        except OSError:
            continue
        if stat.S_ISREG(os.fstat(again).st_mode):
            os.write(again, b"taken")
            print("taken", fd, flush=True)
print("tried", flush=True)
END
chmod 644 "$work/p.yaml" "$work/taker.py"

# take OPTION...: a sandbox whose command attacks the visitor "sh <script >written", which waits for it.
take() {
	local id=visited-$$-$who sandbox visit line
	rm -f "$work/go" "$work/ready" "$work/entered"
	mkfifo "$work/go" "$work/ready" "$work/entered"
	echo 'echo entered >&2; exec sleep 1000' >"$project/script"
	echo private >"$project/written"
	chmod 666 "$work/go" "$work/ready" "$project/script" "$project/written" # root's command is another user
	places
	(begin_spawn -q --debug --id "$id" "$@" -- /usr/bin/python3 "$work/taker.py") <"$work/go" >"$work/ready" 2>"$work/err" &
	sandbox=$!
	exec 5>"$work/go" 6<"$work/ready"
	read -r _ <&6
	(as "$who" sbx-ctl exec "$id" -- sh <"$project/script" >>"$project/written" 2>"$work/entered") &
	visit=$!
	# "entered" while the visit lasts, or all lines of an error.
	entered=
	while [ "$entered" != entered ] && read -r line; do entered=$entered$line; done <"$work/entered"
	echo go >&5
	: >"$work/taken"
	while read -r line <&6; do
		echo "$line" >>"$work/taken"
		[ "$line" != tried ] || break
	done
	exec 5>&- 6<&-
	as "$who" sbx-ctl kill "$id" >/dev/null 2>&1 # unless it has ended
	wait "$visit" "$sandbox" 2>/dev/null
}
is_whole() { test "$(cat "$work/taken") $(cat "$project/written")" = 'tried private'; }

# Outside, a process of the same user opens them.
places
echo private >"$project/read"
chmod 666 "$project/read"
run as user /usr/bin/python3 -c '
import os, subprocess, sys
victim = subprocess.Popen(["sleep", "1000"], stdin=open(sys.argv[1]))
os.write(os.open(f"/proc/{victim.pid}/fd/0", os.O_RDWR), b"taken")
victim.kill()' "$project/read"
check outside_a_file_that_is_stdin_is_written grep -q '^taken' "$project/read"

for who in $starters; do
	take --policy "$work/p.yaml"
	check "without_landlock_no_file_of_a_visitor_is_opened_by_$who" is_whole
	check "the_visit_is_refused_by_$who" grep -q 'no Landlock' <<<"$entered"
	take --read "$work/taker.py"
	check "with_landlock_a_visitor_may_have_files_by_$who" test "$entered" = entered
	check "no_file_of_a_visitor_is_opened_by_$who" is_whole
done

# Pipes lead to no file.
who=user
places
mkfifo "$work/begun"
(begin_spawn -q --debug --id "piped-$$" --policy "$work/p.yaml" -- sh -c 'echo begun; exec sleep 1000') >"$work/begun" 2>&1 &
sandbox=$!
exec 6<"$work/begun"
read -r _ <&6
run eval "echo 'echo visited' | as user sbx-ctl exec 'piped-$$' -- sh 2>&1 | cat"
check without_landlock_a_visitor_may_have_pipes out_is visited
exec 6<&-
as user sbx-ctl kill "piped-$$" >/dev/null
wait "$sandbox" 2>/dev/null
finish
