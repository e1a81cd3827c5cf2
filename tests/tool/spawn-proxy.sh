# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# For tests of the network mode proxy: a tree like that of a build, in which sbx-proxy is proxy-fake.py. proxied starts
# sbx-spawn of it as $who, proxied_with sets what the fake does.

# shellcheck disable=SC2154 # of tap.sh and spawn.sh
tree=$work/tree
fake=$tree/tools/sbx-proxy
mkdir -p "$tree/tools" "$tree/lib"
cp "$SBX_BUILD/tools/sbx-spawn" "$tree/tools"
[ -e "$SBX_BUILD/tools/spawn-with-modules" ] && cp "$SBX_BUILD/tools/spawn-with-modules" "$tree/tools"
ln -s "$SBX_BUILD"/lib/* "$tree/lib"
cp "$SBX_SOURCE/tests/tool/proxy-fake.py" "$fake"
chmod 755 "$fake"

proxied_with() { # FAKE ARGUMENT...
	local how=$1
	shift
	places
	rm -f "$XDG_RUNTIME_DIR/fake.log"
	(cd "$project" && FAKE=$how as "$who" "$tree/tools/sbx-spawn" "$@")
}
proxied() { proxied_with '' "$@"; }
logged() { grep -q -- "$1" "$XDG_RUNTIME_DIR/fake.log"; }
no_fake_is_left() { ! grep -qsz "^$fake\$" /proc/[0-9]*/cmdline; }
