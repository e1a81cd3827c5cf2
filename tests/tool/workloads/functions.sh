# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The workloads of workloads.sh: each function prints text that must be the same outside and inside of a sandbox, so
# no path of the host, no time and no PID. A fresh bash sources this file and runs one function with -eu and pipefail
# in an empty directory. It has $programs (this directory), $n_files, $n_out, $redis_source and $argument.

# A port of the loopback that is not in use.
unused_port() { python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])'; }

# The content of a directory, as one line.
contents() { # DIRECTORY
	(cd "$1" && { find . -mindepth 1 -printf '%P %y %m %l\n' | sort; find . -type f -print0 | sort -z | xargs -0 sha256sum; }) | sha256sum
}

processes() { python3 "$programs/processes.py"; }
sockets() { python3 "$programs/sockets.py"; }
sqlite_wal() { python3 "$programs/sqlite_wal.py"; }

c_build() {
	for i in $(seq 12); do
		echo "int f$i(int n); int f$i(int n) { return n * $i; }" >"f$i.c"
		echo "int f$i(int n);" >>all.h
		echo "total += f$i(2);" >>calls.h
	done
	printf '#include <stdio.h>\n#include "all.h"\nint main(void) { int total = 0;\n#include "calls.h"\nprintf("%%d\\n", total); }\n' >main.c
	printf 'OBJECTS = $(patsubst %%.c,%%.o,$(wildcard *.c))\ntotal: $(OBJECTS)\n\tcc -o $@ $^\n$(OBJECTS): all.h\n' >Makefile
	make -s -j4
	./total
	make
	make -q -W f7.c || echo "make -q: $?"
}

cmake_build() {
	c_build >/dev/null
	printf '%s\n' 'cmake_minimum_required(VERSION 3.13)' 'project(made_here C)' 'file(GLOB SOURCES *.c)' 'enable_testing()' \
		'add_executable(made ${SOURCES})' 'add_test(NAME right COMMAND made)' 'add_test(NAME wrong COMMAND made)' \
		'set_tests_properties(right wrong PROPERTIES PASS_REGULAR_EXPRESSION 156)' \
		'set_tests_properties(wrong PROPERTIES WILL_FAIL TRUE)' >CMakeLists.txt
	cmake -S . -B made >log
	cmake --build made -j 4 >>log
	(cd made && ctest | grep -o -E '[0-9]+% tests passed.*|(right|wrong) \.+.*(Passed|Failed)') || echo "ctest: $?"
}

git_work() {
	export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@localhost GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@localhost
	export GIT_AUTHOR_DATE='@1600000000 +0000' GIT_COMMITTER_DATE='@1600000000 +0000' GIT_CONFIG_NOSYSTEM=1
	git init -q --bare remote.git
	git init -q -b main first
	cd first || exit
	for i in 1 2 3 4 5 6 7 8; do
		echo "line $i" >>file
		git add file
		git commit -q -m "commit $i"
	done
	git tag -a -m one v1
	git push -q ../remote.git main v1
	git -C ../remote.git symbolic-ref HEAD refs/heads/main
	git clone -q ../remote.git ../second
	git worktree add -q ../tree -b side HEAD~2
	(cd ../tree && echo side >side && git add side && git commit -q -m side)
	git merge -q --no-edit side
	git stash list
	git rebase -q HEAD~1
	printf '#!/bin/sh\necho hook\n' >.git/hooks/post-commit
	chmod +x .git/hooks/post-commit
	git commit --allow-empty -m hooked 2>&1 | grep hook
	git gc -q --prune=now
	git fsck --strict
	git log --format='%H %s'
	git -C ../second log --format=%H -1
	git worktree remove ../tree
	git count-objects -v | grep -v size
}

# Every way to copy a repository that needs no other host.
git_transport() {
	export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@localhost GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@localhost
	export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always
	git init -q -b main part
	git -C part commit -q --allow-empty -m part
	git init -q -b main whole
	git -C whole submodule --quiet add ../part part
	git -C whole commit -q -m whole
	git -C whole bundle create -q ../bundle main
	git clone -q -b main bundle from-bundle
	git clone -q --recurse-submodules "file://$PWD/whole" from-url
	git clone -q --shared whole from-alternates
	port=$(unused_port)
	git daemon --base-path=. --export-all --port="$port" --listen=127.0.0.1 --reuseaddr &
	daemon=$!
	until git clone -q --depth 1 "git://127.0.0.1:$port/whole" from-daemon 2>log; do kill -0 "$daemon" || exit; sleep 0.1; done
	kill "$daemon"
	for copy in from-* from-url/part; do git -C "$copy" log --format=%s; done
}

# Two levels of make share the jobs of the first one.
job_server() {
	printf 'all: a b c\na b c:\n\t@$(MAKE) -s -f part.mk X=$@\n' >Makefile
	printf 'all: 1 2\n1 2:\n\t@echo $(X)$@ $(filter -j%%,$(MAKEFLAGS)) >$(X)$@\n' >part.mk
	make -s -j3
	cat a1 a2 b1 b2 c1 c2
	make -s -j3 -O -f part.mk X=a
}

redirections() {
	cat <<-END
		$((6 * 7))
	END
	diff <(seq 3) <(seq 2 4) || echo "diff: $?"
	seq 5 > >(sort -r >sorted)
	until [ "$(tail -n 1 sorted 2>/dev/null)" = 1 ]; do sleep 0.05; done
	cat /dev/fd/3 3<<<three
	exec 4<>both
	echo both >&4
	cat both
	coproc cat
	echo asked >&"${COPROC[1]}"
	read -r answer <&"${COPROC[0]}"
	echo "$answer"
	mapfile -t lines < <(seq 7)
	echo "${#lines[@]}"
	seq 1 >/dev/full || echo "full: $?"
	head -c 3 /dev/zero | od -A n -t x1
	sh -c 'cat' <&- || echo "closed: $?"
	{ yes || echo "yes: $?" >ended; } | head -n 1
	cat ended
	true | false | true || echo "${PIPESTATUS[*]}"
}

node_work() { node "$programs/work.js"; }

shell_jobs() {
	seq 200 | xargs -P8 -n1 sh -c 'echo $(($0 * $0))' | sort -n | sha256sum
	seq 3 | xargs -I@ sh -c 'exit @' || echo "xargs: $?"
	timeout 0.1 cat <(exec tail -f /dev/null) || echo "timeout: $?"
	timeout -s KILL 0.1 tail -f /dev/null || echo "timeout -s KILL: $?"
	sh -c 'kill -SEGV $$' || echo "signal: $?"
	(trap 'echo trapped; exit 3' TERM; kill -TERM "$BASHPID") || echo "trap: $?"
	tail -f /dev/null &
	kill -TERM $!
	wait $! || echo "ended: $?"
	for _ in $(seq 50); do (flock 9 && read -r n <count || n=0; echo $((n + 1)) >count) 9>lock & done
	wait
	cat count
	mkfifo fifo
	echo through >fifo &
	cat fifo
	nice -n 5 nice
	ulimit -n 100
	ulimit -n
}

tar_tree() {
	python3 "$programs/make_files.py" "$n_files"
	tar -cf tree.tar tree
	tar -tf tree.tar | wc -l
	mkdir copy
	tar -xf tree.tar -C copy
	find copy -type f | wc -l
	contents tree
	contents copy/tree
	rm -r tree copy
	ls
}

strace_work() {
	strace -f -o log -e trace=execve,openat sh -c 'cat /etc/hostname >/dev/null; exit 7' || echo "status $?"
	grep -c 'execve(.* = 0$' log
	grep -o 'openat(.*"/etc/hostname", O_RDONLY)' log
	strace -c -o log true
	grep -o 'syscall$' log
}

gdb_work() {
	echo 'int twice(int n) { return 2 * n; } int main(int argc, char *argv[]) { return twice(argc) - 2; }' >prog.c
	cc -g -O0 -o prog prog.c
	gdb -nx -batch -ex 'set startup-with-shell off' -ex 'break twice' -ex run -ex 'print n' -ex 'set var n = 22' -ex finish \
		-ex continue ./prog 2>log | grep -E '^(Breakpoint|Value|\$|\[Inf)' | sed 's/process [0-9]*/process/; s/0x[0-9a-f]* in //'
}

venv() {
	/usr/bin/python3 -m venv made
	made/bin/pip --version | cut -d ' ' -f 1,2
	mkdir package
	printf '%s\n' 'from setuptools import setup' 'setup(name="made-here", version="1.2", py_modules=["made_here"],' \
		'      entry_points={"console_scripts": ["made-here = made_here:main"]})' >package/setup.py
	printf 'def main():\n    print("runs")\n' >package/made_here.py
	made/bin/pip install -q --disable-pip-version-check --no-index --no-build-isolation ./package
	made/bin/made-here
	made/bin/pip list --disable-pip-version-check --format freeze
}

java_work() {
	javac -d . "$programs/Main.java"
	java Main
	printf 'Main-Class: Main\n' >manifest
	jar cfm made.jar manifest ./*.class
	java -jar made.jar
}

go_work() {
	cp "$programs/main.go" .
	printf 'module made\n\ngo 1.19\n' >go.mod
	printf 'package main\n\nimport "testing"\n\nfunc TestSum(t *testing.T) {\n\tif Sum(3) != 6 {\n\t\tt.Fail()\n\t}\n}\n' >main_test.go
	go vet ./...
	go build -o made .
	./made
	go test ./... | cut -f 1,2
}

tmux_work() {
	tmux() { command tmux -S "$PWD/socket" -f /dev/null "$@"; }
	tmux new-session -d -x 80 -y 24 "echo in tmux; tty >/dev/null && echo terminal; command tmux -S '$PWD/socket' wait-for -S shown; cat"
	tmux wait-for shown
	tmux capture-pane -p | grep -v '^$'
	tmux split-window "stty size >size; command tmux -S '$PWD/socket' wait-for -S ended"
	tmux wait-for ended
	cat size
	tmux kill-server
}

gpg_work() {
	echo text >message
	gpg --batch --quiet --pinentry-mode loopback --passphrase '' --quick-gen-key 'Made <made@localhost>' ed25519 sign never
	gpg --batch --quiet --pinentry-mode loopback --passphrase '' --quick-add-key \
		"$(gpg --list-keys --with-colons made | sed -n 's/^fpr:*\(.*\):$/\1/p')" cv25519 encr never
	gpg --batch --quiet --detach-sign message
	gpg --batch --verify message.sig message 2>&1 | grep -o 'Good signature from "Made <made@localhost>"'
	gpg --batch --quiet --trust-model always -r made -e message
	gpg --batch --quiet --pinentry-mode loopback --passphrase '' -d message.gpg
	echo other >message
	gpg --batch --verify message.sig message 2>/dev/null || echo "changed: $?"
	gpgconf --kill all
}

ssh_work() {
	for kind in ed25519 rsa ecdsa; do
		ssh-keygen -q -t "$kind" -N '' -C made -f "$kind"
		echo text | ssh-keygen -q -Y sign -n file -f "$kind" >signature 2>log
		echo "made $(cut -d ' ' -f 1,2 "$kind.pub")" >signers
		echo text | ssh-keygen -Y verify -n file -f signers -I made -s signature | grep -o '^Good "file" signature for made'
		echo other | ssh-keygen -Y verify -n file -f signers -I made -s signature >log 2>&1 || echo "changed: $?"
	done
	eval "$(ssh-agent -a "$PWD/agent")" >/dev/null
	ssh-add -q ed25519 2>log
	ssh-add -l | cut -d ' ' -f 1,3,4
	ssh-agent -k >/dev/null
}

nginx_work() {
	port=$(unused_port)
	cat >nginx.conf <<-END
		pid $PWD/pid;
		error_log $PWD/error.log;
		events {}
		http {
			access_log $PWD/access.log;
			client_body_temp_path $PWD/body;
			proxy_temp_path $PWD/proxy;
			fastcgi_temp_path $PWD/fastcgi;
			uwsgi_temp_path $PWD/uwsgi;
			scgi_temp_path $PWD/scgi;
			upstream other { server unix:$PWD/socket; }
			server { listen unix:$PWD/socket; location / { return 200 "from the other"; } }
			server {
				listen 127.0.0.1:$port;
				root $PWD;
				location /proxy { proxy_pass http://other; }
			}
		}
	END
	seq 100000 >file
	nginx -e "$PWD/error.log" -c "$PWD/nginx.conf" -g 'daemon off;' &
	nginx=$!
	until [ -s pid ]; do kill -0 "$nginx" || exit; sleep 0.1; done
	fetch() { python3 -c 'import sys, urllib.request as u; sys.stdout.buffer.write(u.urlopen(sys.argv[1]).read())' "$@"; }
	seq 20 | while read -r _; do fetch "http://127.0.0.1:$port/file"; done | sha256sum
	fetch "http://127.0.0.1:$port/proxy"
	kill -QUIT "$nginx"
	wait "$nginx"
	wc -l <access.log
}

redis_work() {
	port=$(unused_port)
	cli() { redis-cli -p "$port" "$@"; }
	for round in first second; do
		redis-server --port "$port" --bind 127.0.0.1 --dir "$PWD" --unixsocket "$PWD/socket" --save '' --appendonly yes >log &
		redis=$!
		until [ "$(cli ping 2>/dev/null)" = PONG ]; do kill -0 "$redis" || exit; sleep 0.1; done
		cli get key
		cli set key "$round"
		cli eval 'return redis.call("incrby", "n", 21) * 2' 0
		cli bgrewriteaof
		redis-benchmark -p "$port" -q -n 2000 -c 20 -t set,get,lpush,mset | tr '\r' '\n' | grep -o '^[A-Z]* .*: [0-9.]* requests' | sed 's/:.*//'
		redis-cli -s "$PWD/socket" llen mylist
		cli shutdown
		wait "$redis"
	done
}

# Redis' own tests of sockets, files, children and scripts, with the programs of Debian.
redis_tests() {
	cp -r "$redis_source"/{runtest,tests,utils} .
	mkdir src
	ln -s /usr/bin/redis-{server,cli,benchmark,check-aof,check-rdb} src
	for unit in unit/{auth,protocol,keyspace,scan,type/string,type/hash,sort,multi,quit,aofrw,pubsub,scripting,networking,shutdown} \
		integration/{aof,rdb,logging,redis-cli,redis-benchmark,replication-4}; do
		units+=(--single "$unit")
	done
	./runtest --no-latency --clients 4 --timeout 1000 "${units[@]}" >log || { tail -n 50 log >&2 && false; }
	sed -n 's/^\[ok\]: \(.*\) (.* ms)$/\1/p' log | sort
	grep -o 'All tests passed.*' log
}

postgres() {
	port=$(unused_port)
	PATH=/usr/lib/postgresql/15/bin:$PATH
	initdb -D data -A trust -U made --no-sync >log
	pg_ctl -D data -w -l log -o "-p $port -k $PWD -h 127.0.0.1" start >/dev/null
	for host in 127.0.0.1 "$PWD"; do psql -h "$host" -p "$port" -U made -d postgres -Atc 'select 6 * 7, session_user'; done
	createdb -h "$PWD" -p "$port" -U made bench
	pgbench -h "$PWD" -p "$port" -U made -i -q bench 2>>log
	pgbench -h 127.0.0.1 -p "$port" -U made -c 4 -j 2 -t 50 bench 2>>log | grep -E 'transactions actually|failed'
	pg_dump -h "$PWD" -p "$port" -U made -s bench | grep -c '^CREATE TABLE'
	pg_ctl -D data -m fast stop >/dev/null
}

web_page() {
	echo '<p id=p></p><script>p.textContent = new Intl.NumberFormat("en").format([1, 2, 3].reduce((a, b) => a + b * 1e6))</script>' >page.html
	timeout 600 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/profile" --dump-dom "file://$PWD/page.html" 2>log
	timeout 600 chromium --headless --no-sandbox --disable-gpu --screenshot="$PWD/page.png" --window-size=400,300 "file://$PWD/page.html" 2>log
	od -A n -t d4 --endian=big -j 16 -N 8 page.png # width and height
}

npm_mocha() {
	npm init -y >log
	npm install --no-audit --no-fund mocha@10.8.2 >>log
	find node_modules -name package.json -printf '%P\n' | sort | sha256sum
	mkdir test
	echo 'const assert = require("assert"); describe("made", () => { it("passes", () => assert(true)); it("fails", () => assert(0)); });' >test/test.js
	npx mocha --reporter tap | grep -E '^(ok|not ok|# )' || echo "mocha: $?"
	npm pkg set scripts.test='mocha --fgrep passes --reporter min'
	npm test >>log
}

# For the output beside the table.
layers() { grep Seccomp /proc/self/status; }
refused() { $argument; }
files() { python3 "$programs/make_files.py" "$n_out"; }
cpython_module() { # prints the failed tests and their number
	python3.11 -m test -v --timeout 900 "$argument" >log 2>&1 || :
	sed -n -E 's/^(ERROR|FAIL): [^(]*\(([^)]*)\).*/\2/p; s/^(Ran [0-9]+ tests) in .*/\1/p' log | sort -u
	grep -q '^Total duration' log || echo "$argument did not end"
}

# On the terminal of terminal.py, because of --pty.
terminal() { exec bash --norc --noprofile --noediting -i; }
