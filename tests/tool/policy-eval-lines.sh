#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1

cat >p.yaml <<'END'
version: 1
capabilities:
  - { name: src, match: { syscall: fs.write, path: /srv/src }, action: allow }
END
cat >lines <<'END'
{"op":"fs.write","path":"/srv/src/a","id":1}
{"op":"fs.write","path":"/srv/doc/a","id":"two"}
not json
{"op":"fs.write","path":"/srv/src/b","id":3,"pth":"x"}

{"op":"fs.write","path":"/srv/src/c","id":4}
END

sbx-policy eval p.yaml <lines >answers
check malformed_input_ends_with_2 test $? -eq 2
check every_line_has_one_answer test "$(wc -l <answers)" -eq 6
check answers_come_in_order_with_their_ids python3 -c 'import json,sys
answers = [json.loads(line) for line in open(sys.argv[1])]
assert [a.get("id") for a in answers] == [1, "two", None, None, None, 4], answers
assert [a["verdict"] for a in answers] == ["allow", "deny", "deny", "deny", "deny", "allow"], answers
assert [a.get("line") for a in answers] == [None, None, 3, 4, 5, None], answers
assert "did you mean" in answers[3]["fix"]
assert answers[0]["rules"] == [{"name": "src", "action": "allow", "file": "p.yaml", "line": 3, "column": 5}]' answers

python3 - <<'END'
open("long", "wb").write(b'{"op":"fs.write","path":"/' + b"a" * 200000 + b'"}\n{"op":"fs.write","path":"/srv/src/a"}')
END
sbx-policy eval p.yaml <long >answers
check a_line_that_is_too_long_is_answered_and_passed_over python3 -c 'import json
answers = [json.loads(line) for line in open("answers")]
assert len(answers) == 2 and "too long" in answers[0]["what"] and answers[1]["verdict"] == "allow", answers'

sbx-policy eval p.yaml </dev/null >answers
check no_requests_are_no_mistake test $? -eq 0 -a ! -s answers
finish
