#!/bin/bash
# SPDX-License-Identifier: MIT
# A keeper of a channel is another process: what it passes and tells is checked before it is used.
. "${SBX_SOURCE:?}/tests/tool/ring.sh"

# pretend WHAT: an impostor keeps the name "impostor" and passes WHAT.
pretend() {
	[ ! -e keeper.impostor ] || service stop keeper.impostor
	keeper impostor real "$1" keeper.impostor
}

create real --size 128KiB --keep
pretend honest
printf 'hello\n' >line
run sbx-ring send impostor --role client --timeout 60s <line
check a_keeper_that_passes_what_it_should_is_used has_status 0
for what in pipe null file; do
	pretend "$what"
	run sbx-ring send impostor --role client --timeout 60s <line
	check "a_${what}_in_place_of_it_is_refused" refuses 1 "cannot use the channel 'impostor'" \
		'its keeper has passed something else than an eventfd and a unix socket' 'check that both are'
done
finish
