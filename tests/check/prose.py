# SPDX-License-Identifier: MIT
"""What no file of the project says, and how long its files and functions are."""
import re

import tap

FUNCTION_LINES = 60
FILE_LINES, TEST_LINES = 800, 1000

NOTE = "TO" + "DO"  # in two parts, so that this file is looked at like the others
ANYWHERE = {
    "a path of one machine": re.compile(r"(?<![\w.$}])/(?:work|home/(?!user\b|me\b)\w+)/\w"),
    "a note to oneself": re.compile(r"(?:#|//|\*)\s*" + NOTE + r"\b|\b" + NOTE + r":|\bFIX" + r"ME\b|\bXX" + r"X\b"),
}
IN_C = {
    "goto": re.compile(r"\bgoto\s+\w+\s*;"),
    "alloca": re.compile(r"\balloca\s*\("),
}
IN_LIB = {
    "a library that ends its caller": re.compile(r"(?<!\w)(?:_?exit|quick_exit|abort)\s*\("),
    "a library that prints": re.compile(r"(?<!\w)(?:printf|puts|putchar|perror|vprintf|err|errx|warn|warnx)\s*\("),
    "a library that prints through a standard stream": re.compile(r"(?<!\w)(?:stdout|stderr)(?!\w)"),
}
MATERIAL = re.compile(r"tests/(fuzz/corpus|golden)/")  # byte for byte


def matches(name, text, patterns):
    for number, line in enumerate(text.splitlines(), 1):
        for what, pattern in patterns.items():
            if pattern.search(line):
                yield f"{name}:{number}: {what}: {line.strip()[:80]}"


def functions(name):
    """(line, name, length) of every function: by our format its braces stand alone in the first column."""
    text = tap.read(name).splitlines()
    start = None
    for number, line in enumerate(text, 1):
        if line == "{":
            start = number
        elif line == "}" and start:
            head = " ".join(text[max(0, start - 6):start - 1])
            called = re.findall(r"(\w+)\(", head)
            yield start, called[-1] if called else "?", number - start + 1
            start = None


def too_long(names):
    for name in names:
        most = TEST_LINES if name.parts[0] == "tests" else FILE_LINES
        count = len(tap.read(name).splitlines())
        if count > most:
            yield f"{name}: {count} lines; past {most} there are two things in it"


def main():
    everything = [name for name in tap.files() if not MATERIAL.match(str(name))
                  and (tap.SOURCE / name).is_file()]
    code = [name for name in everything if name.suffix in {".c", ".h"} and name.parts[0] in {"lib", "tools", "bpf"}]
    tap.ok("there are files to look at", bool(code))
    tap.none("no file names a machine or keeps notes",
             [line for name in everything for line in matches(name, tap.read(name), ANYWHERE)])
    bare = {name: tap.without_comments(tap.read(name)) for name in everything if name.suffix in {".c", ".h"}}
    tap.none("no C file uses what the style forbids",
             [line for name, text in bare.items() for line in matches(name, text, IN_C)])
    tap.none("lib/ neither prints nor ends its caller",
             [line for name, text in bare.items() if name.parts[0] == "lib"
              for line in matches(name, text, IN_LIB)])
    tap.none(f"no function is longer than {FUNCTION_LINES} lines",
             [f"{name}:{line}: {called} has {length} lines" for name in code
              for line, called, length in functions(name) if length > FUNCTION_LINES])
    tap.none("no file is too long",
             too_long([name for name in everything if name.suffix in {".c", ".h", ".py", ".sh", ".cc"}]))
    tap.done()


if __name__ == "__main__":
    main()
