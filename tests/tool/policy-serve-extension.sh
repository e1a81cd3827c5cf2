#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/serve.sh"

cat >vote <<'END'
#!/bin/sh
while read -r line; do
	n=${line#*:}
	n=${n%%,*}
	case $line in
	*crash*) exit 1 ;;
	*slow*) read -r nothing <"$1" ;;
	*bad*) echo "{\"n\":$n,\"action\":\"deny\",\"reason\":\"bad name\"}" ;;
	*) echo "{\"n\":$n,\"action\":\"pass\"}" ;;
	esac
done
END
chmod +x vote
mkfifo fifo
{ cat a; echo "extensions: [ { name: names, command: [$work/vote, $work/fifo] } ]"; } >p.yaml
serve p.yaml
# Asks again if a vote was late on a slow host, which is a deny of its own.
patiently() {
	tries=0
	run ask "$1"
	while out_has 'took longer than' && [ $((tries += 1)) -lt 2000 ]; do run ask "$1"; done
}
patiently "$src"
check an_extension_that_abstains_leaves_it_to_the_rules out_has '"verdict":"allow"'
patiently '{"op":"fs.write","path":"/srv/p/src/bad"}'
check its_deny_counts out_has '"extension":"names"'
check its_reason_is_in_the_answer out_has '"bad name"'
run ask '{"op":"fs.write","path":"/srv/p/src/slow"}'
check without_its_vote_in_time_the_answer_is_deny out_has '100 ms'
tries=0
until answers allow "$src" || [ $((tries += 1)) -gt 2000 ]; do :; done
check it_is_started_again answers allow "$src"
check a_crash_is_denied answers deny '{"op":"fs.write","path":"/srv/p/src/crash"}'
tries=0
until answers allow "$src" || [ $((tries += 1)) -gt 2000 ]; do :; done
check and_it_is_started_again answers allow "$src"
pid=$(cat pid)
children=$(cat "/proc/$pid/task/$pid/children")
check there_is_one_process_of_it test "$(echo "$children" | wc -w)" -eq 1
stop
check none_is_left_behind test ! -e "/proc/${children% }"
finish
