#!/bin/bash
# SPDX-License-Identifier: MIT
# Verifies a log of another program, in the format from which that of sbx-audit developed.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

seed=$work/seed.jsonl
python3 - >"$seed" <<-'END'
	import hashlib, json
	def sha(text): return hashlib.sha256(text.encode()).hexdigest()
	last = sha("genesis:1767323045678")
	for i, event in enumerate(["kernel_start", "tool_execute", "kernel_shutdown"]):
	    time = 1767323045678 + i
	    data = {"id": str(i), "caller": "kernel", "input_summary": "a b"}
	    own = sha(f"{last}{time}{event}" + json.dumps(data, separators=(",", ":")))
	    entry = {"timestamp": time, "prev_hash": last, "hash": own, "event_type": event} | data
	    print(json.dumps(entry, separators=(",", ":")))
	    last = own
END
run sbx-audit verify --seed-format "$seed"
check a_log_with_the_seeds_chain_is_intact has_status 0
check the_verdict_names_its_limits out_has 'nothing in it is signed'
sed 's/a b/a c/' "$seed" >"$work/changed.jsonl"
run sbx-audit verify --seed-format "$work/changed.jsonl"
check a_changed_entry_of_it_is_tampering has_status 1
check the_line_of_the_entry_is_told err_has 'line 1 was changed'
sed 1d "$seed" >"$work/cut.jsonl"
run sbx-audit verify --json --seed-format "$work/cut.jsonl"
check without_its_begin_it_is_incomplete has_status 4
check json_names_the_line out_has '"bad_line":1'
run sbx-audit verify --seed-format "$0"
check a_file_of_another_format_is_unreadable has_status 5
run sbx-audit verify --seed-format
check the_seeds_form_needs_a_file has_status 2
run sbx-audit verify "$seed"
check a_file_needs_the_seeds_form has_status 2
finish
