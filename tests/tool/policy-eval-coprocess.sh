#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1

cat >p.yaml <<'END'
version: 1
capabilities:
  - { name: src, match: { syscall: fs.write, path: /srv/src }, action: allow }
END
# Sends a request, waits for the answer, sends the next: without a flush after each answer this would hang.
cat >talk.py <<'END'
import json, subprocess
program = subprocess.Popen(["sbx-policy", "eval", "p.yaml"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for i in range(100):
    path = "/srv/src/a" if i % 2 else "/srv/doc/a"
    program.stdin.write(json.dumps({"op": "fs.write", "path": path, "id": i}).encode() + b"\n")
    program.stdin.flush()
    answer = json.loads(program.stdout.readline())
    assert answer["id"] == i and answer["verdict"] == ("allow" if i % 2 else "deny"), answer
program.stdin.close()
assert program.wait() == 1
END
check every_answer_comes_before_the_next_question timeout 60 python3 talk.py
finish
