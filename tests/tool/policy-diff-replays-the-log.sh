#!/bin/bash
# SPDX-License-Identifier: MIT
# sbx-policy diff evaluates the requests in the log of sbx-audit under the new policy.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

cd "$work" || exit 1
cat >old.yaml <<'END'
version: 1
capabilities:
  - { name: a, match: { op: fs.read, path: /a }, action: allow }
END
cat >new.yaml <<'END'
version: 1
capabilities:
  - { name: b, match: { op: fs.read, path: /b }, action: allow }
END
decide() { # N PATH
	local i
	for ((i = 0; i < $1; i++)); do
		printf '{"time":"2026-01-02T03:04:05Z","event":"policy_decision","verdict":"allow",'
		printf '"input":{"op":"fs.read","path":"%s"},"policy":"00"}\n' "$2"
	done
}

run sbx-policy diff old.yaml new.yaml --replay "$log"
check a_log_that_is_not_there_is_refused has_status 2
mkdir "$work/nothing"
run sbx-policy diff old.yaml new.yaml --replay "$work/nothing"
check the_reason_is_that_of_sbx_audit err_is "sbx-policy: cannot replay the log
  why: sbx-audit: cannot read the log '$work/nothing': there is no log
  fix: create it: sbx-audit setup --log $work/nothing"
setup
run sbx-policy diff old.yaml new.yaml --replay "$log"
check an_empty_log_changes_no_answer out_has 'replayed 0: 0 changed'
{
	decide 150 /b
	decide 30 /a
	echo '{"time":"2026-01-02T03:04:05Z","event":"syscall","op":"fs.read"}'
	decide 1 /token=ghp_a1B2c3D4e5F6g7H8
} | sbx-audit append -q -l "$log"

run sbx-policy diff old.yaml new.yaml --replay "$log"
check the_last_decisions_of_a_log_are_replayed \
	out_has 'replayed 99: 99 changed, 30 breaking, 69 widening; 1 could not be replayed'
run sbx-policy diff old.yaml new.yaml --replay "$log" --last=all
check all_of_them_when_asked \
	out_has 'replayed 180: 180 changed, 30 breaking, 150 widening; 1 could not be replayed'
run sbx-policy diff old.yaml new.yaml --replay "$log" --last=11
check only_decisions_count_as_the_last out_has 'replayed 10: 10 changed, 10 breaking'

cp old.yaml p.yaml
run sbx-policy update p.yaml --from new.yaml --yes --expect-digest "$(sha256sum new.yaml | cut -d' ' -f1)" --replay "$log"
check an_update_is_tried_on_the_log_too err_has 'apply 30 breaking'
check and_is_not_made_then cmp -s old.yaml p.yaml

# If the end of the log cannot be read, nothing is reported, not even the first part.
segment=$(echo "$log"/*.db)
size=$(stat -c %s "$segment")
head -c $((size - 20480)) "$segment" >shorter && cat shorter >"$segment"
run sbx-policy diff old.yaml new.yaml --replay "$log" --last=all
check a_broken_log_is_a_failure has_status 2
check a_broken_log_is_named err_has 'why: sbx-audit: cannot open the segment'

# Root's log has a fixed path: use a private mount namespace.
with_own_log() {
	if [ "$(id -u)" -eq 0 ]; then
		unshare --mount --propagation private bash -c 'mount -t tmpfs tmpfs /var/lib && mkdir /var/lib/sbx && "$@"' - "$@"
	else
		rm -rf "$XDG_STATE_HOME/sbx" && mkdir -p "$XDG_STATE_HOME/sbx" && "$@"
	fi
}
decide 3 /a >three
run with_own_log bash -c 'sbx-audit setup >key && sbx-audit append <three && sbx-policy diff old.yaml new.yaml --replay log'
check log_is_the_users_own out_has 'replayed 3: 3 changed, 3 breaking'

decide 6 /a >six
digest=$(sha256sum new.yaml | cut -d' ' -f1)
run with_own_log bash -c "sbx-audit setup >key && sbx-audit append <six && sbx-policy update p.yaml --from new.yaml --yes --expect-digest $digest"
check an_update_is_tried_on_the_users_own_log_unasked err_has 'apply 6 breaking'
check and_waits_for_the_phrase cmp -s old.yaml p.yaml

# More messages than fit into one read: the error is the last one, and none of the others is lost.
mkdir loud
cp "$(command -v sbx-policy)" loud/
cat >loud/sbx-audit <<'END'
#!/bin/sh
for i in $(seq 1000); do echo "{\"level\":\"warning\",\"what\":\"message $i of many\"}" >&2; done
[ ! -e fails ] || echo '{"what":"the disk is gone","why":"it was removed","fix":"put it back"}' >&2
[ ! -e fails ]
exit $(($? * 125))
END
chmod 755 loud/sbx-audit
run loud/sbx-policy diff old.yaml new.yaml --replay .
check every_message_of_sbx_audit_is_passed_on test "$(grep -c ' of many' "$work/err")" -eq 1000
: >fails
run loud/sbx-policy diff old.yaml new.yaml --replay .
check its_error_is_found_behind_many_messages err_is "sbx-policy: cannot replay the log
  why: sbx-audit: the disk is gone: it was removed
  fix: put it back"

mkdir alone
cp "$(command -v sbx-policy)" alone/
run alone/sbx-policy diff old.yaml new.yaml --replay .
check without_sbx_audit_it_says_so err_has 'sbx-audit is not beside sbx-policy'
finish
