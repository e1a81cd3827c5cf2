#!/bin/bash
# SPDX-License-Identifier: MIT
# Real work: a node script with a JIT compiler, threads, timers, child processes and files.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"

if [ ! -x /usr/bin/node ]; then
	skip node_runs_a_script 'node is not installed'
	finish
	exit
fi

cat >"$project/work.js" <<'END'
const { execFileSync } = require('child_process');
const { Worker } = require('worker_threads');
const crypto = require('crypto');
const fs = require('fs');

let hot = 0;
for (let i = 0; i < 3e6; i++) hot = (hot + i * 7) % 1000003;
fs.writeFileSync('/tmp/made', crypto.createHash('sha256').update('abc').digest('hex'));
const child = execFileSync('/bin/echo', ['child']).toString().trim();
const worker = new Worker('require("worker_threads").parentPort.postMessage(6 * 7)', { eval: true });
worker.on('message', (answer) => setTimeout(() => {
	console.log(hot, child, answer, fs.readFileSync('/tmp/made', 'utf8').slice(0, 8));
}, 1));
END
cat >"$project/reach.js" <<'END'
const socket = require('net').connect(9, '127.0.0.1');
socket.on('connect', () => console.log('connected'));
socket.on('error', (error) => console.log('refused'));
END
for who in $starters; do
	expected=$(cd "$project" && as "$who" /usr/bin/node work.js)
	run spawn -q -- /usr/bin/node work.js
	check "node_runs_a_script_by_$who" test "$status" -eq 0 -a -n "$out" -a "$out" = "$expected"
	run spawn -q -- /usr/bin/node -e 'require("fs").writeFileSync("made", "x")'
	check "node_writes_nothing_into_the_project_by_$who" test "$status" -ne 0 -a "$status" -ne 125 -a ! -e "$project/made"
	run spawn -q -- /usr/bin/node reach.js
	check "node_reaches_no_host_by_$who" out_is refused
	run spawn -q -- /usr/bin/node -e 'process.exit(9)'
	check "the_status_of_node_is_ours_by_$who" has_status 9
done
finish
