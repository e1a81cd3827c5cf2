#!/bin/sh
# SPDX-License-Identifier: MIT
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

cd "$work" || exit 1

cat >vote <<'END'
#!/bin/sh
while read -r line; do
	n=${line#*\"n\":}
	n=${n%%,*}
	case $line in
	*bad*) echo "{\"n\":$n,\"action\":\"deny\",\"reason\":\"bad name\"}" ;;
	*) echo "{\"n\":$n,\"action\":\"pass\"}" ;;
	esac
done
END
chmod +x vote
cat >p.yaml <<END
version: 1
capabilities:
  - { name: all, match: { syscall: fs.read }, action: allow }
extensions: [ { name: names, command: [$work/vote] } ]
END
printf 'version: 1\ncapabilities:\n  - { name: all, match: { syscall: fs.read }, action: allow }\n' >gone.yaml
printf 'extensions: [ { name: names, command: [/nonexistent/vote] } ]\n' >>gone.yaml

# Asks again if the extension was late on a slow host, which is another deny.
patiently() {
	tries=0
	run "$@"
	while out_has 'took longer than' && [ $((tries += 1)) -lt 300 ]; do run "$@"; done
}
patiently sbx-policy eval p.yaml fs.read /srv/good
check the_rules_decide_if_an_extension_passes has_status 0
patiently sbx-policy eval p.yaml fs.read /srv/bad
check the_denial_of_an_extension_is_final has_status 1
check the_extension_is_named out_has "why: extension 'names' denies it: bad name"
run sbx-policy eval gone.yaml fs.read /srv/good
check a_program_that_is_missing_denies has_status 1
finish
