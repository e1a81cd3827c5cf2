#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run the suites and count what they say.

meson runs the tests; the numbers come from the TAP itself, because meson shows a test of which half was skipped as
passed. A test that died before it could say "not ok" counts as one failure.

    tests/run.py BUILD [--suite=SUITE]... [--slow] [--sanitize] [--targets] [NAME...]

With --targets it runs nothing and prints the files that the selected tests need, one a line, for ninja. A NAME selects
the tests whose name contains it, or one test by its file or as SUITE/NAME; if there is none, the single cases whose name
contains it. A NAME that selects nothing is an error, status 2. With --sanitize, tests of the suite "plain" run only if
they are named. Where CI is set, every suite must run and only what tests/skips accepts may be skipped.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import typing

SUITES = ["unit", "tool", "golden", "attack", "fuzz", "abi", "check", "bench"]
ALONE_SUITES = ["unit", "fuzz"]  # their tests need what meson.build names for them; others may start any tool
SANITIZED_SUITES = ["unit", "tool", "golden", "attack", "fuzz"]
PLAIN = "plain"  # the second suite of tests to which sanitizers add nothing; meson.build says why
REMARKS_MAX = 20
SLOWEST = 10
TAP_LINE = re.compile(r"^(not )?ok\b *\d* *-? *(.*?)(?: *# *(SKIP|TODO)\b *(.*))?$", re.I)
TAP_EMPTY = re.compile(r"^1\.\.0 *# *SKIP\b *(.*)$", re.I)


class Test(typing.NamedTuple):
    suite: str
    name: str
    depends: tuple
    plain: bool


class Tally:
    def __init__(self):
        self.passed, self.failed, self.skipped, self.suites, self.seconds = 0, [], [], {}, []

    def add_case(self, suite, test, name, kind, reason="", remarks=()):
        ran = self.suites.setdefault(suite, [0, 0])
        ran[kind == "skipped"] += 1
        if kind == "passed":
            self.passed += 1
        elif kind == "failed":
            self.failed.append((f"{suite}/{test}: {name}", remarks))
        else:
            self.skipped.append((f"{suite}/{test}", name, reason or "no reason given"))

    def add_test(self, entry):
        suite, test = entry["suite"], entry["name"]
        self.seconds.append((entry["duration"], f"{suite}/{test}"))
        failed_before = len(self.failed)
        n = 0
        lines = entry.get("stdout", "").splitlines()
        for at, line in enumerate(lines):
            empty = TAP_EMPTY.match(line)
            if empty:
                self.add_case(suite, test, "all of it", "skipped", empty[1])
                n += 1
            case = TAP_LINE.match(line)
            if case:
                kind = "failed" if case[1] else "skipped" if case[3] else "passed"
                self.add_case(suite, test, case[2], kind, case[4], remarks_at(lines, at))
                n += 1
        bad = entry["result"] not in ("OK", "SKIP", "EXPECTEDFAIL")
        if bad and len(self.failed) == failed_before:
            self.add_case(suite, test, f"{entry['result'].lower()}, status {entry['returncode']}", "failed")
        elif n == 0 and not bad and not os.environ.get("TEST_ONLY"):
            self.add_case(suite, test, "it printed no TAP", "failed")


def remarks_at(lines, at):
    """The comments before and after a result: C tests print them before it, scripts after."""
    first, end = at, at + 1
    while first > 0 and lines[first - 1].startswith("#"):
        first -= 1
    while end < len(lines) and lines[end].startswith("#"):
        end += 1
    return (lines[first:at] + lines[at + 1:end])[:REMARKS_MAX]


def introspect(build, what):
    """As meson introspect prints it, without the start of meson."""
    return json.loads(pathlib.Path(build, "meson-info", f"intro-{what}.json").read_text(encoding="utf-8"))


def all_tests(build):
    return [Test(test["suite"][0].split(":")[-1], test["name"], tuple(test["depends"]),
                 any(suite.endswith(f":{PLAIN}") for suite in test["suite"]))
            for test in introspect(build, "tests")]


def targets(build, tests, chosen):
    """The files, relative to the build directory, that the chosen tests need."""
    alone = {target for test in tests if test.suite in ALONE_SUITES for target in test.depends}
    if any(test.suite == "check" for test in chosen):
        alone = set()  # checks read all objects
    with_all = any(test.suite not in ALONE_SUITES for test in chosen)
    needed = {target for test in chosen for target in test.depends}
    return sorted(os.path.relpath(path, os.path.abspath(build)) for target in introspect(build, "targets")
                  if target["id"] in needed
                  or with_all and target["build_by_default"] and (target["installed"] or target["id"] not in alone)
                  for path in target["filename"])


def is_named(test, name):
    """Is the name part of the test's, or one of its other names: its file, with or without the directory, or
    SUITE/NAME as a failure is printed?
    """
    path = pathlib.PurePath(name)
    file = path.stem.removeprefix("test-")
    return (name in test.name or name == f"{test.suite}/{test.name}"
            or (file == test.name and (path.suffix != "" or path.stem.startswith("test-"))))


def select(tests, suites, names, sanitized):
    """Returns the selected tests, the text for TEST_ONLY if a name selects single cases, and the names that select
    nothing.
    """
    tests = [test for test in tests if test.suite in suites]
    if not names:
        return [test for test in tests if not (sanitized and test.plain)], None, []
    chosen = [test for test in tests if any(is_named(test, name) for name in names)]
    if chosen or len(names) > 1:
        return chosen, None, [name for name in names if not any(is_named(test, name) for test in tests)]
    source = pathlib.Path(__file__).parent
    holders = {path.stem.removeprefix("test-") for path in source.rglob("*")
               if path.suffix in (".c", ".sh", ".py") and names[0] in path.read_text(errors="replace")}
    return [test for test in tests if test.name in holders], names[0], []


def accepted_skips():
    """Returns [(suite/test, a part of the reason)]."""
    lines = pathlib.Path(__file__).with_name("skips").read_text(encoding="utf-8").splitlines()
    rows = [line.partition(": ") for line in lines if line and not line.startswith("#")]
    return [(test, reason) for test, _, reason in rows]


def logs(build, name):
    return pathlib.Path(build, "meson-logs", name)


def read_log(build):
    with open(logs(build, "testlog.json"), encoding="utf-8") as log:
        for line in log:
            entry = json.loads(line)
            head, _, name = entry["name"].rpartition(" / ")
            yield {**entry, "suite": head.split(":")[-1].split("+")[0] or "none", "name": name}


def report(tally, build, expected_suites):
    for name, remarks in tally.failed:
        print(f"failed: {name}")
        for line in remarks:
            print(f"failed:   {line[:200]}")
    for skip in tally.skipped:
        print(f"skipped: {': '.join(skip)}")
    wrong = bool(tally.failed)
    if os.environ.get("CI"):
        for suite in expected_suites:
            if tally.suites.get(suite, [0, 0])[0] == 0:
                print(f"failed: suite {suite} did not run, and this is a place where it must")
                wrong = True
        accepted = accepted_skips()
        for test, name, reason in tally.skipped:
            if not any(test == row_test and part in reason for row_test, part in accepted):
                print(f"failed: {test}: {name}: was skipped, and tests/skips does not accept '{reason}'")
                wrong = True
    if len(tally.seconds) > SLOWEST:
        print(f"dev: the slowest {SLOWEST}: "
              + ", ".join(f"{name} {seconds:.0f} s" for seconds, name in sorted(tally.seconds)[:-SLOWEST - 1:-1]))
    counts = {"passed": tally.passed, "failed": len(tally.failed), "skipped": len(tally.skipped)}
    logs(build, "counts.json").write_text(json.dumps(counts))
    print(f"{tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped")
    return 1 if wrong else 0


def hide_state_of_root(argv):
    """The sandboxes that root starts write records, volumes and their registry here. Those of the tests must not be among
    the host's, nor stay.
    """
    if os.geteuid() != 0 or os.environ.get("SBX_TEST_MOUNTS"):
        return
    if subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
        return
    os.environ["SBX_TEST_MOUNTS"] = "private"
    script = """
    for state in /var/lib/sbx /run/sbx; do
        mkdir -p "$state" && mount -t tmpfs -o mode=755 tmpfs "$state" || exit
    done
    exec "$@"
    """
    os.execvp("unshare", ["unshare", "--mount", "sh", "-c", script, "sh", sys.executable, *argv])


def refuse_names(build, names):
    print(f"dev: no test is called '{' '.join(names)}'\n"
          f"  fix: meson test -C {build} --list shows them", file=sys.stderr)
    return 2


def main(argv):
    # nohup and background jobs leave signals ignored, which children would inherit; tests need the defaults.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    build, words = argv[1], argv[2:]
    slow = "--slow" in words
    suites = [word.partition("=")[2] for word in words if word.startswith("--suite=")]
    names = [word for word in words if not word.startswith("--")]
    unknown = [word for word in words if word.startswith("--")
               and word not in ("--slow", "--sanitize", "--targets") and not word.startswith("--suite=")]
    unknown += [suite for suite in suites if suite not in SUITES]
    if unknown:
        print(f"dev: unknown word '{unknown[0]}'\n  fix: see ./dev help", file=sys.stderr)
        return 2
    wanted = suites or (SANITIZED_SUITES if "--sanitize" in words else SUITES)
    tests = all_tests(build)
    chosen, only, lost = select(tests, wanted, names, "--sanitize" in words)
    if lost or not chosen:
        return refuse_names(build, lost or names or wanted)
    if "--targets" in words:
        print(*targets(build, tests, chosen), sep="\n")
        return 0
    hide_state_of_root(argv)
    if slow:
        os.environ["TEST_SLOW"] = "1"
    if only:
        os.environ["TEST_ONLY"] = only
    command = ["meson", "test", "-C", build, "--no-rebuild", "--print-errorlogs"]
    command += ["--timeout-multiplier", "20" if slow else "3" if "--sanitize" in words else "1"]
    for name in ("testlog.json", "counts.json"):  # results of a former run
        logs(build, name).unlink(missing_ok=True)
    print(f"dev: running {len(chosen)} test{'s' * (len(chosen) != 1)}", file=sys.stderr)
    status = subprocess.run(command + [f"sbx:{test.name}" for test in chosen]).returncode
    if not logs(build, "testlog.json").exists():
        print("dev: meson has run no test\n  fix: see above for what it says", file=sys.stderr)
        return 125
    tally = Tally()
    for entry in read_log(build):
        tally.add_test(entry)
    result = report(tally, build, wanted if not names else [])
    if only and not tally.suites:
        return refuse_names(build, names)
    return result or (1 if status else 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
