#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/serve.sh"

# A token belongs to the connected process, so the client asks for its own token first.
cat >holder.py <<'END'
import json, os, sys
sys.path.insert(0, os.environ["SBX_SOURCE"] + "/tests/tool")
import seqpacket
main, work = seqpacket.connect("s"), seqpacket.connect(sys.argv[1])
terms = {"do": "token.issue", "pid": os.getpid(), "op": "fs.write", "glob": "/srv/p/src/**", "uses": 2}
token = seqpacket.talk(main, json.dumps(terms | json.loads(sys.argv[2])).encode())["token"]
for path in sys.argv[3:]:
    if path == "reload":
        os.rename("next.yaml", "p.yaml")
        seqpacket.talk(main, b'{"do":"reload"}')
        continue
    request = {"op": "fs.write", "path": path, "token": token}
    answer = seqpacket.talk(work, json.dumps(request).encode())
    print(answer["verdict"], answer["token"], end="; ")
print()
END
{ echo capabilities:; rule src '/srv/p/src/**' require_review; } >p.yaml
cp p.yaml review
{ cat review; rule secret '/srv/p/src/secret/**' deny; } >next.yaml
cp next.yaml denying
export XDG_CONFIG_HOME=/srv/p/src
serve --sandbox=box1="$work/box1" --sandbox=box2="$work/box2" p.yaml

run python3 holder.py s '{}' /srv/p/src/a /srv/p/src/b /srv/p/src/c
check a_token_opens_the_way_as_often_as_it_says out_is 'allow valid; allow valid; require_review exhausted; '
run python3 holder.py s '{}' /srv/p/doc/a /srv/p/src/sbx/a /srv/p/src/a
check it_opens_no_other_and_nothing_built_in out_is 'deny wrong_argument; deny valid; allow valid; '
run python3 holder.py box1 '{"sandbox_id":"box1"}' /srv/p/src/a
check a_sandbox_has_its_own out_is 'allow valid; '
run python3 holder.py box2 '{"sandbox_id":"box1"}' /srv/p/src/a
check another_sandbox_cannot_use_it out_is 'require_review wrong_sandbox; '
run python3 holder.py box1 '{"pid":1,"sandbox_id":"box1"}' /srv/p/src/a
check another_process_cannot_use_it out_is 'require_review wrong_process; '
run python3 holder.py s '{}' /srv/p/src/secret/a reload /srv/p/src/secret/a /srv/p/src/a
check a_reload_that_denies_some_of_it_ends_it out_is 'allow valid; deny unknown; require_review unknown; '
{ echo capabilities:; rule src '/srv/p/src/**' deny; } >next.yaml
cp review p.yaml
ask '{"do":"reload"}' >/dev/null
run python3 holder.py s '{}' /srv/p/src/a reload /srv/p/src/a
check it_ends_with_a_policy_that_denies_it out_is 'allow valid; deny unknown; '
cp denying p.yaml
ask '{"do":"reload"}' >/dev/null
run sbx-policy token --socket "$work/s" issue fs.write --pid $$ --glob '/srv/**'
check none_is_issued_for_more_than_a_rule_denies err_has "the policy denies a part of its scope: rule 'secret' (p.yaml:3)"
finish
