# SPDX-License-Identifier: MIT
"""Words that no file of the project (or those given as arguments) contains, the wording of its sentences, and the length
of its functions.
"""
import ast
import pathlib
import re
import sys

import tap

FUNCTION_LINES = 60

NOTE = "TO" + "DO"  # in two parts, so that this file can be checked like the others
ANYWHERE = {
    "a path of one machine": re.compile(r"(?<![\w.$}])/(?:work|home/(?!user\b|me\b)\w+)/\w"),
    "a note to oneself": re.compile(r"(?:#|//|\*)\s*" + NOTE + r"\b|\b" + NOTE + r":|\bFIX" + r"ME\b|\bXX" + r"X\b"),
}
IN_C = {
    "goto": re.compile(r"\bgoto\s+\w+\s*;"),
    "alloca": re.compile(r"\balloca\s*\("),
}
# Two steps in a row, each only if the one before has not failed, are early returns here.
IF_GOOD = r"if \(r (?:==|>=) 0(?: &&[^;{]*)?\)\n"
CHAIN = re.compile(rf"^(\t+){IF_GOOD}\1\tr = [^;]*;\n\1{IF_GOOD}\1\t", re.M)
IN_LIB = {
    "a library that ends its caller": re.compile(r"(?<!\w)(?:_?exit|quick_exit|abort)\s*\("),
    "a library that prints": re.compile(r"(?<!\w)(?:printf|puts|putchar|perror|vprintf|err|errx|warn|warnx)\s*\("),
    "a library that prints through a standard stream": re.compile(r"(?<!\w)(?:stdout|stderr)(?!\w)"),
}
# STYLE, "PROSE": a sentence names its actor and its object. These words show that one does not.
MARKS = {
    "begins without its noun": re.compile(r"(?!WHO\b)(?i:who|whoever|what (?:is|was)|nobody|somebody)\b(?!:)"),
    "a program is 'it'": re.compile(r"\b(?:he|him|his|himself)\b", re.I),
    "'is not a'": re.compile(r"(?<!there )\bis no (?!longer|more\b)|(?<!mode )(?<!there )\bis none\b", re.I),
    "'after'": re.compile(r"(?<!left )\bbehind\b", re.I),
    "'directory' is the word": re.compile(r"(?<![\w@/.=<`'-])folders?(?![\w/=>`'-])(?!\()", re.I),
}
AT_THE_BEGIN = {"begins without its noun"}
PAGES = ["README.md", "HACKING.md", "NEWS.md", "SECURITY.md", "policies/*", "man/*.scd"]
SINCE = "56dd65af8c"  # subjects are checked from the commit after this one on
SUBJECT_COLUMNS = 72

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
BETWEEN_PARTS = re.compile(r"(?:\s|\\|PRI\w+|/\*.*?\*/)*", re.S)  # of one literal
MATERIAL = re.compile(r"tests/(fuzz/corpus|golden)/")  # byte for byte


def matches(name, text, patterns):
    for number, line in enumerate(text.splitlines(), 1):
        for what, pattern in patterns.items():
            if pattern.search(line):
                yield f"{name}:{number}: {what}: {line.strip()[:80]}"


def marks(text):
    """The marks that a paragraph has; AT_THE_BEGIN: that one of its sentences begins with."""
    sentences = re.split(r"(?<=[.;?!])\s+(?=[A-Z])", text.strip())
    return [what for what, pattern in MARKS.items()
            if (any(map(pattern.match, sentences)) if what in AT_THE_BEGIN else pattern.search(text))]


def tell(name, number, text):
    return [f"{name}:{number}: {what}: {' '.join(text.split())[:80]}" for what in marks(text)]


def comments(name):
    """Yields (line, text) of each comment of a file: C, or a language whose comments begin with '#'."""
    text = tap.read(name)
    if name.suffix not in {".c", ".h"}:
        yield from script_comments(text)
        yield from docstrings(text) if name.suffix == ".py" else ()
        return
    for found in TOKEN.finditer(text):
        if found.group()[0] == "/":
            yield text.count("\n", 0, found.start()) + 1, re.sub(r"^[ \t]*\*+(?!/)|^/[/*]+|\*/$", " ", found.group(),
                                                                 flags=re.M)


def script_comments(text):
    """Yields (line, text) of each block of '#' lines, and of each comment after code."""
    start, block = 0, []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        own = re.match(r"\s*#+(?!!)(.*)", line)
        if block and (not own or not own[1].strip()):
            yield start, " ".join(block)
            block = []
        if own:
            start = start if block else number
            block += [own[1].strip()] if own[1].strip() else []
        elif " # " in line:
            yield number, line.partition(" # ")[2]


def docstrings(text):
    """Yields (line, text) of each docstring of a Python file."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            yield node.body[0].lineno, ast.get_docstring(node)


def literals(text):
    """Yields (line, text) of each string of a C file; adjacent literals are joined as by the compiler."""
    line, joined, end = 0, None, 0
    for found in TOKEN.finditer(text):
        if found.group()[0] != '"':
            continue
        if joined is None or not BETWEEN_PARTS.fullmatch(text, end, found.start()):
            if joined is not None:
                yield line, joined
            line, joined = text.count("\n", 0, found.start()) + 1, ""
        joined, end = joined + found.group()[1:-1], found.end()
    if joined is not None:
        yield line, joined


def paragraphs(name):
    """Yields (line, text) of each paragraph, list item and table cell of a page, and of each comment of a policy."""
    start, gathered, is_code = 0, [], False
    for number, line in tap.lines(name):
        if name.suffix == ".yaml":
            line = line.partition("#")[2] if "#" in line else ""
        bare = re.sub(r"^(?:[-.#|:\[;>\s]|\d+\.\s)*", "", line)
        is_code = is_code != line.lstrip().startswith("```")
        if gathered and (not bare or re.match(r"\s*(?:[-.|:#\[]|\d+\.)", line)):
            yield start, " ".join(gathered)
            gathered = []
        if bare and not is_code and not (line.startswith("    ") and name.suffix == ".md"):
            start = start if gathered else number
            gathered.append(bare)
    if gathered:
        yield start, " ".join(gathered)


def subjects():
    """Returns the subjects of the commits since SINCE, or None outside of a repository that has it."""
    listed = tap.run("git", "-C", tap.SOURCE, "log", "--no-merges", "--format=%h %s", f"{SINCE}..HEAD")
    inside = tap.run("git", "-C", tap.SOURCE, "rev-parse", "--show-toplevel").stdout.strip()
    is_ours = inside and pathlib.Path(inside).resolve() == tap.SOURCE
    return listed.stdout.splitlines() if listed.returncode == 0 and is_ours else None


def check_subjects():
    name = "subjects of commits name their object"
    found = subjects()
    if found is None:
        tap.skip(name, f"this is not a repository with the commit {SINCE}")
        return
    tap.none(name, [f"{line}: {what}" for line in found for what in marks(line.partition(": ")[2])]
             + [f"{line}: longer than {SUBJECT_COLUMNS} columns" for line in found
                if len(line.partition(" ")[2]) > SUBJECT_COLUMNS])


def has_comments(name):
    """Is it a file of code, of the build, or a unit? Pages are checked by paragraphs()."""
    return (name.suffix in {".c", ".h", ".sh", ".py", ".service", ".socket", ".timer", ".slice", ".conf"}
            or name.name in {"meson.build", "rules"} or tap.read(name).startswith("#!"))


def check_sentences(code, everything):
    tap.none("messages name their actor and object",
             [line for name in code
              for number, text in literals(tap.read(name)) if " " in text.strip()
              for line in tell(name, number, text)])
    tap.none("pages name their actor and object",
             [line for name in tap.files(*PAGES) if name.suffix in {".md", ".scd", ".yaml"}
              for number, text in paragraphs(name) for line in tell(name, number, text)])
    tap.none("comments name their actor and object",
             [line for name in everything if has_comments(name)
              for number, text in comments(name) for line in tell(name, number, text)])


def functions(name):
    """Yields (line, name, length) of each function: clang-format puts its braces alone in the first column."""
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


def main():
    named = [pathlib.PurePath(name) for name in sys.argv[1:]]
    everything = [name for name in named or tap.files() if not MATERIAL.match(str(name))
                  and (tap.SOURCE / name).is_file()]
    code = [name for name in everything if name.suffix in {".c", ".h"} and name.parts[0] in {"lib", "tools", "bpf"}]
    tap.ok("there are files to look at", bool(code))
    tap.none("no file names a machine or keeps notes",
             [line for name in everything for line in matches(name, tap.read(name), ANYWHERE)])
    bare = {name: tap.without_comments(tap.read(name)) for name in everything if name.suffix in {".c", ".h"}}
    tap.none("no C file uses what the style forbids",
             [line for name, text in bare.items() for line in matches(name, text, IN_C)])
    tap.none("steps that may fail return early",
             [f"{name}:{text.count(chr(10), 0, found.start()) + 1}: a chain of 'if (r == 0)'"
              for name, text in bare.items() if name.parts[0] != "tests" for found in CHAIN.finditer(text)])
    tap.none("lib/ neither prints nor ends its caller",
             [line for name, text in bare.items() if name.parts[0] == "lib"
              for line in matches(name, text, IN_LIB)])
    tap.none(f"no function is longer than {FUNCTION_LINES} lines",
             [f"{name}:{line}: {called} has {length} lines" for name in code
              for line, called, length in functions(name) if length > FUNCTION_LINES])
    check_sentences(code, everything)
    check_subjects()
    tap.done()


if __name__ == "__main__":
    main()
