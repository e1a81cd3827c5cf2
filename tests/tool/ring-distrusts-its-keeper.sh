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
pretend honest
run sbx-ring inspect impostor --dump
check files_of_a_channel_are_shown out_has 'from the server, not read yet'
pretend zero
run sbx-ring inspect impostor
check files_that_no_keeper_made_are_not_read eval 'has_status 1 && err_has "the answer of its keeper cannot be read"'
pretend capacity
run sbx-ring inspect impostor --dump --bytes 18446744073709551615
check a_capacity_that_no_channel_has_is_no_size eval 'has_status 1 && err_has "the answer of its keeper cannot be read"'
finish
