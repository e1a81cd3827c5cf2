#!/bin/bash
# SPDX-License-Identifier: MIT
# ./dev with stubs of package managers and compilers that only log their arguments.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"

dev=$SBX_SOURCE/dev
mkdir -p "$work/bin" "$work/build-bench/tools"
: >"$work/build-bench/build.ninja"
stub() { # FILE LINE...
	printf '%s\n' '#!/bin/sh' "${@:2}" >"$1"
	chmod +x "$1"
}
stub "$work/bin/dpkg-query" 'shift 3' "printf '%s\n' \"\$@\" >>'$work/asked'" 'printf "installed %s\n" "$@"'
stub "$work/bin/apt-get" "echo \"\$@\" >>'$work/installed'"
stub "$work/bin/ninja" ':'
stub "$work/build-bench/tools/sbx-bench" 'echo "sbx-bench $*"'
dev() {
	rm -f "$work/asked" "$work/installed"
	run env PATH="$work/bin:$PATH" SBX_BUILD="$work/build" "$dev" "$@"
}
asked() { grep -Fqx "$1" "$work/asked"; }

dev install-deps nonsense
check an_unknown_set_is_refused has_status 125
check an_unknown_set_is_told_the_known_ones err_has toolchain
check an_unknown_set_installs_nothing test ! -e "$work/installed"
dev install-deps lint
check a_known_set_is_a_success has_status 0
check a_known_set_is_looked_up asked clang-tidy
check present_packages_are_not_installed test ! -e "$work/installed"

stub "$work/bin/dpkg-query" 'shift 3' 'printf "installed %s\n" "$@" | grep -v clang-tidy'
[ "$(id -u)" -eq 0 ] || stub "$work/bin/sudo" 'exec "$@"'
dev install-deps lint
check missing_packages_are_installed grep -Eq '^-q install .* clang-tidy$' "$work/installed"
check missing_packages_are_named err_has 'installing clang-tidy'
stub "$work/bin/dpkg-query" 'shift 3' "printf '%s\n' \"\$@\" >>'$work/asked'" 'printf "installed %s\n" "$@"'

dev bench --json 'two words'
check without_peers_there_are_none test "$(grep -c jansson "$work/asked")" -eq 0
for words in '--peers --json' '--json --peers'; do
	# shellcheck disable=SC2086 # two words
	dev bench $words
	check "the_peers_come_with_${words// /_}" asked libjansson4
	check "the_tool_does_not_see_ours_in_${words// /_}" out_is 'sbx-bench --json'
done
finish
