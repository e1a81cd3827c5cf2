#!/bin/bash
# SPDX-License-Identifier: MIT
# Real programs print the same and exit with the same status outside and inside of a sandbox, for an ordinary user and
# for root. Programs of the set "test" in "dependencies" always run, those of the set "workloads" with --slow.
# workloads/functions.sh has the commands.
. "${SBX_SOURCE:?}/tests/tool/tap.sh"
. "${SBX_SOURCE:?}/tests/tool/spawn.sh"
. "${SBX_SOURCE:?}/tests/tool/workloads/functions.sh"

slow=${TEST_SLOW:-0}
n_files=500 n_out=500
[ "$slow" = 1 ] && n_files=30000 n_out=10000
limit=1200 # seconds for one workload on a busy host
path=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
sbx_spawn=$(command -v sbx-spawn)

# WHEN: quick always runs, slow with --slow. BY: the user of the run outside with which root's run inside is compared:
# the same, or an ordinary user if root must not run the program outside. NEEDS: programs, paths, functions. The rest
# are options of sbx-spawn.
table() {
	cat <<-'END'
		quick same processes    python3
		quick same sockets      python3
		quick same sqlite_wal   python3
		quick same c_build      make,cc
		quick same git_work     git
		quick same git_transport git
		quick same job_server   make
		quick same node_work    node
		quick same redirections bash
		quick same shell_jobs   xargs,timeout,flock
		quick same tar_tree     tar
		quick same strace_work  strace                                     --ptrace
		quick same gdb_work     gdb,cc                                     --ptrace
		quick same terminal     python3                                    --pty
		slow  same venv         has_ensurepip
		slow  same cmake_build  cmake,ctest,make,cc
		slow  same java_work    java,javac
		slow  same go_work      go
		slow  same tmux_work    tmux
		slow  same gpg_work     gpg,gpgconf
		slow  same ssh_work     ssh-keygen
		slow  same nginx_work   nginx
		slow  same redis_work   redis-server,redis-cli,redis-benchmark
		slow  user postgres     /usr/lib/postgresql/15/bin/initdb
		slow  same web_page     chromium
		slow  same npm_mocha    npm,has_npm_registry                       --net host --env npm_config_registry=$registry
		slow  user redis_tests  redis-server,redis-benchmark,tclsh,has_redis_source --read $redis_source
	END
}

has_ensurepip() { PATH=$path python3 -c "import ensurepip" 2>/dev/null; }

# shellcheck disable=SC2034 # the table names it
has_npm_registry() {
	registry=$(npm config get registry 2>/dev/null) && timeout 60 npm view mocha@10.8.2 version >"$work/registry" 2>&1
}

# The source of redis, for its tests: from REDIS_SOURCE, or downloaded from the archive that apt is configured for.
redis_source=${REDIS_SOURCE:-}
has_redis_source() {
	[ -z "$redis_source" ] || return 0
	mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
	local release apt
	release=$(. /etc/os-release && echo "$VERSION_CODENAME")
	apt-get indextargets --format "deb-src \$(REPO_URI) $release main" 'Created-By: Packages' "Codename: $release" |
		sort -u >"$work/apt/sources.list"
	apt=(timeout 300 apt-get -q -o Dir::Etc::SourceList="$work/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o Dir::State::Lists="$work/apt/lists" -o Dir::Cache="$work/apt/cache" -o Acquire::Retries=2)
	(cd "$work/apt" && "${apt[@]}" update && "${apt[@]}" source --download-only redis && tar -xf redis_*.orig.tar.*) \
		>"$work/apt/log" 2>&1 || return
	redis_source=$(echo "$work"/apt/redis-*/)
	redis_source=${redis_source%/}
}

programs=$work/programs
cp -r "$SBX_SOURCE/tests/tool/workloads" "$programs"
chmod -R a+rX,go-w "$programs"

# The reason to skip a workload: what it lacks.
find_reason() { # NEEDS
	local need
	reason=''
	for need in ${1//,/ }; do
		case $need in
		has_*) "$need" || reason="there is no $(echo "${need#has_}" | tr _ ' ')" ;;
		*) PATH=$path command -v "$need" >/dev/null || reason="$need is not installed" ;;
		esac
	done
}

# The script for a fresh bash.
program_of() { # WORKLOAD
	printf '%s=%q\n' programs "$programs" n_files "$n_files" n_out "$n_out" redis_source "$redis_source" argument "$argument"
	echo "set -eu -o pipefail; umask 022; . \"\$programs/functions.sh\"; $1"
}

# Runs in a new directory of WHO: $work/outside or $work/inside.
start() { # PLACE WHO COMMAND...
	local directory=$work/$1 who=$2 terminal=()
	places
	rm -rf "$directory"
	mkdir "$directory"
	[ "$who,$(id -u)" != user,0 ] || chown "$user:$user" "$directory"
	case " ${options[*]} " in *' --pty '*) terminal=(python3 "$programs/terminal.py") ;; esac
	(cd "$directory" && as "$who" env "${environment[@]}" HOME="$HOME" PATH="$path" LANG=C.UTF-8 TERM=dumb SHELL=/bin/sh \
		python3 "$programs/bounded.py" "$((limit + 120))" "${terminal[@]}" "${@:3}") </dev/null
}

outside() { # WHO WORKLOAD
	local environment=(-i)
	start outside "$1" bash -c "$(program_of "$2")"
}

inside() { # WHO WORKLOAD
	local environment=()
	start inside "$1" "$sbx_spawn" -q --time "${limit}s" --read "$programs" "${writes[@]}" "${options[@]}" -- bash -c "$(program_of "$2")"
}

# Writes the difference to $out and the messages of both to $err.
compare() { # WHO BY WORKLOAD
	began=$SECONDS
	run outside "$([ "$2" = user ] && echo user || echo "$1")" "$3"
	spent="outside $((SECONDS - began)) s"
	mv "$work/out" "$work/expected"
	mv "$work/err" "$work/expected-err"
	local expected=$status
	began=$SECONDS
	run inside "$1" "$3"
	spent+=", inside $((SECONDS - began)) s"
	out=$(diff "$work/expected" "$work/out")
	[ "$status" -eq "$expected" ] || out+=" status $expected outside, $status inside"
	[ "$expected" -eq 0 ] && [ -s "$work/expected" ] || out+=" it does not work outside"
	err=$(tail -n 20 "$work/expected-err" "$work/err")
}

same() { [ -z "$out" ]; }

argument='' options=() writes=(--write .)

try_workloads() {
	local when by workload needs words
	while read -r -u 3 when by workload needs words; do
		name=${workload}_is_the_same_inside_by_$who
		[ "$slow,$when" != 0,slow ] && wanted "$name" || continue
		find_reason "$needs"
		if [ -n "$reason" ]; then
			skip "$name" "$reason"
			continue
		fi
		eval "options=($words)"
		compare "$who" "$by" "$workload"
		check "$name" same
		echo "# $spent"
	done 3< <(table)
	options=()
}

try_differences() {
	wanted "a_difference_is_seen_by_$who" || return 0
	compare "$who" same layers
	check "a_difference_is_seen_by_$who" eval '! same'
}

# Programs whose needs are refused must exit with a status and a message, not by a signal, and not hang.
try_refusals() {
	for argument in 'sudo -n true' 'su -c true' 'mount -t tmpfs none .' 'umount /proc' 'unshare -Ur true' 'unshare -n true' \
		'nsenter -t 1 -m true' 'chroot / true' 'chown 0:0 .' 'mknod node c 1 3'; do
		name="${argument}_is_refused_by_$who"
		wanted "$name" || continue
		if ! PATH=$path command -v "${argument%% *}" >/dev/null; then
			skip "$name" "${argument%% *} is not installed"
			continue
		fi
		run inside "$who" refused
		check "$name" eval '[ "$status" -ge 1 ] && [ "$status" -le 125 ] && [ -n "$err" ] && ! err_has sbx-spawn'
	done
}

# --out DIRECTORY and --out FILE.tar must give the same files.
try_out() {
	wanted "out_has_all_files_by_$who" || return 0
	run outside "$who" files
	local expected form
	expected=$(contents "$work/outside")
	for form in changes changes.tar; do
		writes=(--out "$work/$who/$form")
		run inside "$who" files
		check "nothing_is_in_the_directory_itself_with_${form}_by_$who" test "$status,$(ls -A "$work/inside")" = 0,
	done
	writes=(--write .)
	mkdir "$work/unpacked"
	tar -xf "$work/$who/changes.tar" -C "$work/unpacked"
	check "there_are_many_files_by_$who" test "$(find "$work/outside" -type f | wc -l)" -ge "$n_out"
	check "out_has_all_files_by_$who" test "$(contents "$work/$who/changes")" = "$expected"
	check "out_as_an_archive_has_all_files_by_$who" test "$(contents "$work/unpacked")" = "$expected"
	rm -rf "$work/unpacked" "$work/$who"/changes*
}

# Tests of CPython that fail only inside: a part of the name, and the reason.
refused_to_cpython() {
	cat <<-'END'
		UDPLITE                       only TCP and UDP sockets are there
		test_chown_without_permission a uid that is not mapped is EINVAL before it is EPERM
		POSIXProcessTestCase.test_user  the same of setreuid()
		POSIXProcessTestCase.test_group the same of setregid()
	END
}

fail_only_inside() { # prints them
	run inside "$who" cpython_module
	grep -v -x -F -f "$work/$argument" "$work/out" | grep -v -f "$work/refused"
}

# Always compared with an ordinary user outside. Some tests depend on the time: only those that fail each time count.
try_cpython() {
	local modules worse
	modules='test_mmap test_os test_posix test_pathlib test_posixpath test_signal test_socket test_subprocess test_threading
		test_asyncio test_multiprocessing_fork test_multiprocessing_spawn'
	refused_to_cpython | sed 's/ .*//' >"$work/refused"
	for argument in $modules; do
		name=${argument}_of_cpython_fails_no_more_inside_by_$who
		[ "$slow" = 1 ] && wanted "$name" || continue
		if [ ! -e /usr/lib/python3.11/test/test_abc.py ]; then
			skip "$name" 'libpython3.11-testsuite is not installed'
			continue
		fi
		if [ ! -e "$work/$argument" ]; then
			run outside user cpython_module
			cp "$work/out" "$work/$argument"
		fi
		worse=$(fail_only_inside)
		for _ in 1 2; do [ -z "$worse" ] || worse=$(fail_only_inside | grep -x -F "$worse"); done
		out=$worse
		grep -q '^Ran' "$work/$argument" || out='it does not run outside'
		check "$name" same
		echo "# $(tail -n 1 "$work/$argument" | tr '\n' ' ')"
	done
}

for who in $starters; do
	try_workloads
	try_differences
	try_refusals
	try_out
	try_cpython
done
finish
