#!/bin/bash
# SPDX-License-Identifier: MIT
# A proof verifies with the first key of the log, across epochs; a changed proof does not.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/audit.sh"

setup
append 1 20
sbx-audit key change -l "$log" >/dev/null
append 21 40
proof=$work/proof
sbx-audit prove -l "$log" 7 >"$proof"
run sbx-audit verify-proof --json -k "$key" "$proof"
check a_proof_that_holds_is_told_in_json python3 -c 'import json, sys; sys.exit("size" not in json.loads(sys.argv[1]))' "$out"
run sbx-audit verify-proof -k "$key" "$proof"
check a_proof_holds has_status 0
check it_says_of_which_record out_has 'record 7 is in the log of'
sbx-audit prove -l "$log" 30 >"$proof"
run sbx-audit verify-proof -k "$key" "$proof"
check a_proof_of_a_later_epoch_holds_with_the_first_key has_status 0
run sbx-audit verify-proof -k "$(sbx-audit key -l "$log")" "$proof"
check the_key_of_a_later_epoch_is_not_the_first has_status 1
check the_key_to_pass_is_named err_has "fix: get the proof again with 'sbx-audit prove', and pass the key that 'sbx-audit setup' printed"

changed() { # NAME SED
	sed "$2" "$proof" >"$work/changed"
	cmp -s "$proof" "$work/changed" && echo "# $1 changes nothing"
	run sbx-audit verify-proof -k "$key" "$work/changed"
	check "$1_is_found" test "$status" -eq 1 -o "$status" -eq 5
	check "$1_has_a_cause_and_a_fix" eval "err_has 'fix: ' && ! err_has 'why: Bad message'"
}
changed another_record 's/"r29\\"/"r28\\"/; s/r29/r28/'
changed another_number 's/"seq":30/"seq":31/'
changed another_size 's/"size":41/"size":40/; s/"size":42/"size":41/'
changed a_hash_less 's/"path":\["[^"]*",/"path":[/'
changed an_epoch_less 's/"epochs":\[".*"\],"checkpoint"/"epochs":[],"checkpoint"/'
# A validly signed checkpoint of the right row that is not the last one of its epoch.
python3 - "$proof" >"$work/changed" <<'END'
import json, sys
proof = json.load(open(sys.argv[1]))
proof["epochs"].append(proof["checkpoint"])
print(json.dumps(proof, separators=(",", ":"), ensure_ascii=False))
END
run sbx-audit verify-proof -k "$key" "$work/changed"
check an_entry_that_has_ended_no_epoch_is_refused has_status 1
check and_that_is_said err_has "a checkpoint in 'epochs' does not end an epoch"
changed no_json 's/^{//'
changed a_member_twice 's/"seq":30/"seq":30,"seq":30/'
run sbx-audit verify-proof "$proof"
check without_a_key_it_proves_nothing has_status 2
run sbx-audit verify-proof -k nonsense "$proof"
check a_key_that_is_none_is_refused has_status 2
check where_the_first_key_was_printed_is_said err_has "fix: copy the whole line that 'sbx-audit setup' printed"
run sbx-audit prove -l "$log" 1000
check a_missing_record_cannot_be_proved has_status 1
run sbx-audit prove -l "$log" x
check a_record_number_must_be_a_number has_status 2
run sbx-audit consistency -l "$log" 5 40
check the_log_only_grew out_has '"new_root"'
run sbx-audit consistency -l "$log" 40 5
check it_does_not_shrink has_status 2

# An independent verifier in twenty lines of Python.
cat >"$work/again.py" <<'END'
import base64, hashlib, json, sys

def root(leaves):
    if len(leaves) == 1:
        return hashlib.sha256(b"\0" + leaves[0]).digest()
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + root(leaves[:half]) + root(leaves[half:])).digest()

chain, last, checkpoints = [], bytes(32), 0
for line in sys.stdin:
    row = json.loads(line)
    if "record" in row:
        body = row["record"].encode()
        last = hashlib.sha256(b"sbx-audit/1" + row["seq"].to_bytes(8, "big") + last + len(body).to_bytes(4, "big") + body).digest()
        assert row["seq"] == len(chain) and base64.b64decode(row["hash"]) == last, row["seq"]
        chain.append(last)
    else:
        lines = row["checkpoint"].split("\n")
        assert int(lines[1]) == row["size"] and base64.b64decode(lines[2]) == root(chain[:row["size"]]), row["size"]
        checkpoints += 1
print(len(chain), checkpoints > 1)
END
sbx-audit export -l "$log" >"$work/exported"
run python3 "$work/again.py" <"$work/exported"
check an_independent_program_verifies_the_export out_is "$(grep -c '"record"' "$work/exported") True"
sed -i '5s/r4\\"/r5\\"/' "$work/exported" # of the text, not of a hash
run python3 "$work/again.py" <"$work/exported"
check the_independent_program_finds_a_changed_record test "$status" -ne 0
finish
