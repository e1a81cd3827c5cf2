#!/bin/sh
# SPDX-License-Identifier: MIT
# lint.sh PREFIX [--slow]: static analysis of all sources. Builds in PREFIX-clang and PREFIX-analyzer.
#
# All tools run, even after findings; the last line counts the tools with findings. Each suppressed warning is here
# (or in .clang-tidy) with its reason.
set -u

top=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
prefix=${1:?'usage: lint.sh PREFIX'}
jobs=$(nproc)
# How far clang's analyzer follows a function. Its default takes four times as long. Of about 30 random mistakes in lib
# and tools that it found, this misses one, which the compiler finds.
nodes=20000
[ "${2:-}" != --slow ] || nodes=225000
export SBX_SOURCE="$top" SBX_BUILD="$prefix-clang" PYTHONPATH="$top/tests/check" LC_ALL=C.UTF-8
cd "$top" || exit 125

n_found=0
lint() { # NAME COMMAND...
	name=$1
	began=$(date +%s)
	echo "lint: $name ..." >&2
	shift
	if "$@"; then
		echo "lint: $name: clean ($(($(date +%s) - began)) s)" >&2
	else
		n_found=$((n_found + 1))
		echo "lint: $name: FOUND SOMETHING ($(($(date +%s) - began)) s)" >&2
	fi
}

files() { # PATTERN...
	python3 -B -c 'import sys, tap; print(*tap.files(*sys.argv[1:]), sep="\n")' "$@"
}

scripts() { # files whose first line names a shell, and sourced files
	files | while read -r name; do
		case $name in
		tests/fuzz/corpus/*) continue ;;
		*.sh) echo "$name" ;;
		*) head -c 80 "$name" 2>/dev/null | head -n 1 | grep -Eqa '^#!/bin/(ba|da)?sh' && echo "$name" ;;
		esac
	done
}

format() {
	files '*.c' '*.h' '*.cc' | xargs clang-format --dry-run -Werror --style=file
}

# Silent unless it fails. An existing directory is reconfigured with the current options.
configure() { # DIRECTORY MESON-OPTION...
	directory=$1
	shift
	again=
	[ ! -e "$directory/build.ninja" ] || again=--reconfigure
	# shellcheck disable=SC2086 # nothing, or one word
	meson setup $again "$directory" "$top" "$@" >"$directory.log" 2>&1 || {
		cat "$directory.log"
		return 1
	}
}

# Files that several targets compile are checked once. clang-tidy needs clang's own flags, so it uses a directory that
# is configured for clang; generated files are not there. A start takes a tenth of the time of a file, so each checks
# several files. Its count of suppressed warnings for each file would hide the findings.
tidy() {
	CC=clang configure "$prefix-clang" || return 1
	mkdir -p "$prefix-clang/once"
	python3 -B - "$prefix-clang" >"$prefix-clang/once/files" <<-'EOF' || return 1
		import json, os, sys
		commands = json.load(open(sys.argv[1] + "/compile_commands.json"))
		once = {os.path.normpath(os.path.join(c["directory"], c["file"])): c for c in commands}
		json.dump(list(once.values()), open(sys.argv[1] + "/once/compile_commands.json", "w"))
		print(*sorted(name for name in once if name.endswith(".c") and os.path.exists(name)), sep="\n")
	EOF
	[ -s "$prefix-clang/once/files" ] || return 1
	# shellcheck disable=SC2016 # for the shells that xargs starts
	NODES=$nodes xargs -P "$jobs" -n 8 sh -c '
		said=$(clang-tidy --quiet -p "$0" --extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang \
			--extra-arg="max-nodes=$NODES" "$@" 2>&1)
		status=$?
		printf "%s\n" "$said" | grep -Ev "^([0-9]+ warnings? generated\.)?$" >&2
		exit "$status"' "$prefix-clang/once" <"$prefix-clang/once/files"
}

# Without "information" and "style": the first is about cppcheck itself, clang-tidy and clang-format cover the second.
# memleak, resourceLeak: cppcheck does not know __attribute__((cleanup)). nullPointerRedundantCheck: a test continues
# after a failed expectation, so an expectation proves nothing for the lines after it.
check_c() {
	files 'lib/*/*.c' 'tools/*.c' 'tests/*/*.c' | grep -v '\.bpf\.c$' |
		xargs cppcheck --quiet --error-exitcode=1 --inline-suppr -j "$jobs" \
			--enable=warning,performance,portability --std=c11 --platform=unix64 \
			--suppress=memleak --suppress=resourceLeak '--suppress=nullPointerRedundantCheck:tests/*' \
			-D_GNU_SOURCE -D__linux__ -I lib -I lib/include -I tests/unit \
			--template='{file}:{line}: {severity}: {message} [{id}]'
}

# The only analyser that understands __attribute__((cleanup)). Without optimisation, so that it follows the code as
# written: with inlining gcc 12 reports null pointers that no caller passes. Nothing is linked. A file that is
# compiled with other definitions counts as another file where the preprocessor makes another text of it.
analyse() {
	CC=gcc configure "$prefix-analyzer" --werror -Doptimization=0 -Ddebug=false -Dc_args=-fanalyzer || return 1
	python3 -B - "$prefix-analyzer" >"$prefix-analyzer/once" <<-'EOF' || return 1
		import collections, json, shlex, subprocess, sys
		commands = json.load(open(sys.argv[1] + "/compile_commands.json"))
		once = {}
		for c in commands:
		    defined = frozenset(word for word in shlex.split(c["command"]) if word.startswith("-D"))
		    once.setdefault((c["file"], defined), c)
		variants = collections.Counter(file for file, _ in once)
		def text(c): # what the compiler reads; a text of its own if it needs a file that is not made yet
		    words = [word for word in shlex.split(c["command"]) if word not in ("-c", "-MD")]
		    for word in ("-o", "-MQ", "-MF"):
		        at = words.index(word)
		        del words[at:at + 2]
		    done = subprocess.run(words + ["-E", "-P"], cwd=c["directory"], capture_output=True)
		    return c["output"] if done.returncode else done.stdout
		outputs = {}
		for c in once.values():
		    outputs.setdefault((c["file"], variants[c["file"]] > 1 and text(c)), c["output"])
		print(*sorted(outputs.values()), sep="\n")
	EOF
	[ -s "$prefix-analyzer/once" ] || return 1
	xargs ninja --quiet -k 0 -C "$prefix-analyzer" <"$prefix-analyzer/once"
}

# SC1090, SC1091: the sourced file is found through $SBX_SOURCE, which shellcheck cannot follow. SC2154: it sets
# status, out and err. Below "warning" most findings are intended single quotes. Two thirds of the time would go into
# files that others source, once for each of them. They are checked once; a script is checked together with what it
# sources if something is found without, such as a variable that only the sourced file uses.
check_shell() {
	set -- shellcheck --severity=warning --exclude=SC1090,SC1091,SC2154
	scripts >"$prefix-scripts"
	[ -s "$prefix-scripts" ] || return 1
	xargs grep -lE -m 1 '^#!' <"$prefix-scripts" >"$prefix-programs"
	xargs "$@" --format=gcc <"$prefix-programs" >"$prefix-suspects" || [ -s "$prefix-suspects" ] || return 1
	{
		grep -Fxv -f "$prefix-programs" "$prefix-scripts"
		sed 's/:.*//' "$prefix-suspects" | sort -u
	} | xargs "$@" --external-sources
}

check_python() {
	files '*.py' | PYTHONPYCACHEPREFIX="$prefix-python" xargs python3 -W error -m py_compile
}

lint clang-format format
lint shellcheck check_shell
lint python check_python
lint cppcheck check_c
lint clang-tidy tidy
lint 'gcc -fanalyzer' analyse

if [ "$n_found" -gt 0 ]; then
	echo "lint: $n_found tools found something" >&2
	exit 1
fi
echo "lint: clean" >&2
