# SPDX-License-Identifier: MIT
"""Shared by the checks: TAP, the two trees, the list of files.

A check collects violations, one line each ("FILE:LINE: what is wrong"), and passes them to none(): no line is a
success. Both trees come from the environment, so that a check can run on a modified copy.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

if not {"SBX_SOURCE", "SBX_BUILD"} <= os.environ.keys():
    sys.exit("set SBX_SOURCE and SBX_BUILD to the two trees, as 'meson test' does")
SOURCE = pathlib.Path(os.environ["SBX_SOURCE"]).resolve()
BUILD = pathlib.Path(os.environ["SBX_BUILD"]).resolve()

ONLY = os.environ.get("TEST_ONLY", "")  # as in tests/unit/test.h
_results = []


def ok(name, passed, notes=()):
    """Prints one TAP line, after the notes of a failure as comments."""
    if ONLY not in name:
        return
    for note in [] if passed else notes:
        print("#", note)
    _results.append(passed)
    print(f"{'ok' if passed else 'not ok'} {len(_results)} - {name}", flush=True)


def none(name, violations):
    found = sorted(set(violations))
    ok(name, not found, found)


def skip(name, reason):
    """For a test that this host cannot run; never for something that should work everywhere."""
    if ONLY not in name:
        return
    _results.append(True)
    print(f"ok {len(_results)} - {name} # SKIP {reason}", flush=True)


def done():
    print(f"1..{len(_results)}")
    sys.exit(0 if all(_results) else 1)


def run(*command, **options):
    """Returns the finished process, with its output as text; the time is limited."""
    words = [str(word) for word in command]
    settings = {"capture_output": True, "text": True, "errors": "replace", "timeout": 900}
    if "input" not in options:
        settings["stdin"] = subprocess.DEVNULL
    try:
        return subprocess.run(words, check=False, **(settings | options))
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(words, 127, "", str(error))


def must(*command, **options):
    """Returns the output of a command without which the check cannot continue."""
    finished = run(*command, **options)
    if finished.returncode:
        bail_out(f"{' '.join(map(str, command))}: {finished.stderr.strip() or finished.stdout[-2000:]}")
    return finished.stdout


def bail_out(reason):
    """Ends a check that cannot continue."""
    print("Bail out!", reason.replace("\n", " | "))
    sys.exit(1)


def files(*patterns):
    """Returns the files that git tracks or would add, as paths below SOURCE; outside of git all files."""
    top = run("git", "-C", SOURCE, "rev-parse", "--show-toplevel")
    if top.returncode == 0 and pathlib.Path(top.stdout.strip()).resolve() == SOURCE:
        listed = run("git", "-C", SOURCE, "ls-files", "-coz", "--exclude-standard").stdout.split("\0")
        names = [pathlib.PurePath(name) for name in listed if name and os.path.lexists(SOURCE / name)]
    else:
        names = list(_walk())
    return sorted(name for name in set(names)
                  if not patterns or any(_matches(name, pattern) for pattern in patterns))


def _matches(name, pattern):
    """A pattern with a slash begins at the top; "*" does not match slashes."""
    return name.match(pattern) and ("/" not in pattern or len(name.parts) == pattern.count("/") + 1)


def _walk():
    for folder, below, here in os.walk(SOURCE):
        below[:] = [name for name in below if name not in {".git", "__pycache__"}
                    and not os.path.exists(os.path.join(folder, name, "meson-private"))]
        for name in here:
            yield pathlib.PurePath(folder, name).relative_to(SOURCE)


def read(name):
    try:
        return (SOURCE / name).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return bail_out(f"{name} is missing")


def lines(name):
    """Returns (number, line) from 1."""
    return enumerate(read(name).splitlines(), 1)


def without_comments(text):
    """Returns C text with blanked comments and strings; line numbers stay the same."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

    def blank(match):
        found = match.group()
        return '""' if found[0] in "\"'" else " " + "\n" * found.count("\n")
    return token.sub(blank, text)


def targets():
    """Returns all targets of the build, from meson's introspection."""
    return json.loads((BUILD / "meson-info/intro-targets.json").read_text())


def option(name):
    """Returns the value of a build option."""
    options = json.loads((BUILD / "meson-info/intro-buildoptions.json").read_text())
    return next(entry["value"] for entry in options if entry["name"] == name)


def tools():
    """Returns {name: executable} of the tools that tools/meson.build installs for users."""
    return {name: path for name, path in all_of_tools().items() if name.startswith("sbx-")}


def all_of_tools():
    """The same with programs that only tools start."""
    return {target["name"]: pathlib.Path(target["filename"][0]) for target in targets()
            if target["type"] == "executable" and target["installed"]
            and pathlib.Path(target["defined_in"]).parent.name == "tools"}
