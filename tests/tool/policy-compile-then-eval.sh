#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1

cat >p.yaml <<'END'
version: 1
capabilities:
  - { name: src, match: { syscall: fs.write, path_glob: src/** }, action: allow }
  - { name: ci, match: { syscall: fs.write, path_glob: .ci/** }, action: deny, reason: people only }
END

run sbx-policy compile p.yaml -o p.sbx
check a_policy_can_be_compiled has_status 0
for request in 'fs.write src/a' 'fs.write .ci/a' 'fs.write doc/a' 'exec /bin/true'; do
	# shellcheck disable=SC2086
	run sbx-policy eval --json p.yaml $request project=/srv/p
	text=$out
	# shellcheck disable=SC2086
	run sbx-policy eval --json p.sbx $request project=/srv/p
	check "the_compiled_form_answers_alike: $request" out_is "$text"
done
run sbx-policy explain p.sbx fs.write doc/a project=/srv/p
check the_compiled_form_can_be_explained out_has "allow rule 'src' (p.yaml:3) does not apply"
# Names of all lengths around those at which the hash function begins another step.
{
	echo 'capabilities:'
	for length in $(seq 1 55); do
		name=$(printf "%0${length}d" "$length")
		echo " - {name: host-$length, match: {op: net.connect, host: $name.example, ports: $((length * 7))}, action: allow}"
		echo " - {name: net-$length, match: {op: net.connect, cidr: 10.$length.0.0/16, caller: of-$length}, action: deny}"
	done
} >many.yaml
sbx-policy compile many.yaml -o many.sbx
run python3 "$SBX_SOURCE/tests/tool/policy-artefact-hashes.py" many.sbx
check every_key_is_found_as_the_page_of_the_format_says eval 'has_status 0 && out_is "110 110"'
sbx-policy compile p.yaml >again.sbx
check the_same_policy_gives_the_same_bytes cmp -s p.sbx again.sbx
run sbx-policy check p.sbx
check a_whole_compiled_form_passes has_status 0

python3 - <<'END'
data = bytearray(open("p.sbx", "rb").read())
data[len(data) // 2] ^= 1
open("hurt.sbx", "wb").write(data)
open("short.sbx", "wb").write(data[:100])
END
run sbx-policy eval hurt.sbx fs.write src/a project=/srv/p
check a_changed_byte_is_refused has_status 2
run sbx-policy eval short.sbx fs.write src/a project=/srv/p
check half_a_file_is_refused has_status 2
run sbx-policy print p.sbx
check its_text_cannot_be_printed err_has 'the text of its rules is not in it'
run sbx-policy eval -l p.yaml p.sbx fs.write src/a project=/srv/p
check layers_are_not_added_to_it has_status 2
run env HOME="$work" XDG_RUNTIME_DIR="$work" sbx-spawn -p p.sbx -- true
check a_sandbox_is_not_made_from_it has_status 125
check spawn_names_the_settings_that_an_artefact_lacks err_has 'it contains the rules, but not the settings: mounts, limits'
check the_file_to_name_is_said err_has 'fix: name the file that it was compiled from'

run python3 -B "$SBX_SOURCE/tests/tool/ctl-supervisor.py" terminal sbx-policy compile p.yaml
check it_is_not_written_to_a_terminal out_has 'cannot write a compiled policy to a terminal'
cp p.sbx before.sbx
printf 'version: 1\ncapabilities: [ { nam: x } ]\n' >bad.yaml
run sbx-policy compile bad.yaml -o p.sbx
check a_wrong_policy_ends_with_2 has_status 2
check a_wrong_policy_leaves_the_old_file cmp -s p.sbx before.sbx
printf 'version: 1\nextensions: [ { name: x, command: [/bin/true] } ]\n' >extension.yaml
run sbx-policy compile extension.yaml -o extension.sbx
check an_extension_is_not_lost_in_silence err_has "its extension 'x' would be lost"
finish
