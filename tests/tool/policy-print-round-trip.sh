#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1

cat >p.yaml <<'END'
version: 1
capabilities:
  - { name: src, match: { syscall: [fs.write, fs.read], path_glob: [src/**, "!src/gen"] }, action: allow,
      constraints: { max_file_size: 100KiB, require_sandbox: L2 } }
  - { name: ci, match: { syscall: fs.write, path: ./.ci }, action: deny, reason: "a: b # c",
      except: [ { caller_tag: [x, z] } ] }
  - { name: web, match: { syscall: net.connect, cidr: [10.0.0.0/8, "::1"], ports: "80,8000-9000" }, action: warn,
      constraints: { tls: any } }
defaults: { exec: require_review }
fs: { rules: [ { action: deny, path: /etc/shadow, perms: [read_file] } ] }
limits: { memory: 1GiB, time: 30s, cpu: 0.5 }
END

run sbx-policy print p.yaml
check a_policy_can_be_printed has_status 0
cp "$work/out" once.yaml
run sbx-policy print once.yaml
check printing_it_again_gives_the_same cmp -s "$work/out" once.yaml
run sbx-policy diff once.yaml once.yaml
check it_means_the_same_as_itself has_status 0
sbx-policy print --json p.yaml >p.json
run sbx-policy print p.json
check json_means_the_same cmp -s "$work/out" once.yaml
for request in 'fs.write src/a sandbox=L2 size=1' 'fs.write src/gen' 'fs.write .ci/x' 'fs.write .ci/x tag=z' \
	'net.connect 10.1.2.3:8080' 'net.connect 11.1.2.3:80' 'exec /bin/x' 'fs.read /etc/shadow'; do
	# shellcheck disable=SC2086
	run sbx-policy eval p.yaml $request project=/srv/p
	before=$status
	# shellcheck disable=SC2086
	run sbx-policy eval once.yaml $request project=/srv/p
	check "the_printed_policy_answers_alike: $request" has_status "$before"
done

cat >sections.yaml <<'END'
version: 1
fs: { rules: [ { action: deny, path: /etc/secret } ] }
exec: { rules: [ { action: allow, path: /usr } ] }
END
printf '%s\n' 'version: 1' 'exec: { rules: [ { action: deny, path: /usr/bin/su } ] }' >more.yaml
run sbx-policy print sections.yaml
cp "$work/out" printed.yaml
run sbx-policy merge sections.yaml more.yaml
cp "$work/out" merged.yaml
for policy in printed merged; do
	for request in 'fs.read /usr/x' 'fs.write ./a' 'fs.write /tmp/x'; do
		# shellcheck disable=SC2086
		run sbx-policy eval $policy.yaml $request
		check "the_implicit_view_is_in_what_is_$policy: $request" has_status 0
	done
done
run sbx-policy diff sections.yaml printed.yaml
check it_is_no_difference_that_it_is_written has_status 0
sed 's/^view: .*/view: none/' printed.yaml >none.yaml
run sbx-policy diff sections.yaml none.yaml
check a_view_that_is_lost_is_a_difference has_status 1
check and_is_told out_is "~ setting 'view' changed: project -> none"
printf '%s\n' 'version: 1' 'limits: { pids: 5 }' >limits.yaml
run sbx-policy print limits.yaml
cp "$work/out" printed.yaml
run sbx-policy eval printed.yaml fs.write ./a
check printing_adds_no_view has_status 1
run sbx-policy schema
check the_schema_is_json python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$work/out"
finish
