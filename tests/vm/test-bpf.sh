#!/bin/sh
# SPDX-License-Identifier: MIT
# BPF objects that were built with kernel-types.h load and work on this kernel.
. "$(dirname "$0")/tap.sh"
pins=/sys/fs/bpf/sbx-vm

loads_every_object()
{
	for object in "$SBX_VM"/bpf/*.bpf.o; do
		[ -e "$object" ] || fail 'the build made no object'
		mkdir -p "$pins"
		bpftool prog loadall "$object" "$pins/programs"
		rm -r "$pins"
	done
}

# Their own loaders will attach them; this test checks that programs and maps were created.
loads_programs_and_maps_as_they_were_written()
{
	mkdir -p "$pins"
	bpftool prog loadall "$SBX_VM/bpf/count-forks.bpf.o" "$pins/programs" pinmaps "$pins/maps"
	bpftool prog show pinned "$pins/programs/count_forks" | grep 'tracing  *name count_forks'
	bpftool map show pinned "$pins/maps/counts" | grep ': array '
	bpftool map show pinned "$pins/maps/generations" | grep ': task_storage '
	rm -r "$pins"
}

refuses_what_is_no_object()
{
	mkdir -p "$pins"
	head -c 512 "$SBX_VM/bpf/count-forks.bpf.o" >/tmp/broken.bpf.o
	! bpftool prog loadall /tmp/broken.bpf.o "$pins/programs" || fail 'it was loaded'
	rm -r "$pins"
}

run_tests \
	loads_every_object \
	loads_programs_and_maps_as_they_were_written \
	refuses_what_is_no_object
