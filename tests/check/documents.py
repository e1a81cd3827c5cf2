# SPDX-License-Identifier: MIT
"""The options table, --help, man page, completions and tests of a tool agree, for each tool or for those given as
arguments.
"""
import re
import shutil
import sys

import tap

SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"]
WIDTH = 80
USAGE_STATUS = {"sbx-spawn": 125}  # the other statuses are those of the command that it runs
TESTS_PER_TOOL = 3                 # does its job, refuses something, unknown option

# shell: the file in the build's completions/, the form of an option in it, the command that parses it
SHELLS = {
    "bash": ("{}", "--{}", ["bash", "-n"]),
    "zsh": ("_{}", "--{}", ["zsh", "-n"]),
    "fish": ("{}.fish", "-l {}", ["fish", "--no-config", "-n"]),
}


def inventory(path):
    """Returns ({(verb or "-", name, letter or "-")}, {verb}) of the tool's table."""
    options, verbs = set(), set()
    for line in tap.must(path, "--completion=inventory").splitlines():
        kind, *cells = line.split("\t")
        if kind == "option" and len(cells) == 3:
            options.add(tuple(cells))
        elif kind == "verb" and len(cells) == 1:
            verbs.add(cells[0])
        else:
            tap.ok("the inventory has options and verbs only", False, [f"{path.name}: '{line}'"])
    return options, verbs


def sections(text):
    """Returns {heading: text} in order."""
    parts = re.split(r"^# (.+)$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def words(text):
    """Returns scdoc text without escapes, bold and underline."""
    return re.sub(r"\\(.)", r"\1", re.sub(r"(?<!\\)\*|(?<![\w\\])_|(?<!\\)_(?!\w)", "", text))


def has_option(text, name):
    return bool(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text))


def bold(text):
    return {re.sub(r"\\(.)", r"\1", found) for found in re.findall(r"(?<!\\)\*(.+?)(?<!\\)\*", text, re.S)}


def check_page(tool, options, verbs):
    page = f"man/{tool}.1.scd"
    if not (tap.SOURCE / page).is_file():
        tap.ok(f"{tool} has a man page", False, [f"{page}: is missing"])
        return
    source = tap.read(page)
    text, parts = words(source), sections(source)
    tap.ok(f"{page} has its sections in order", [name for name in parts if name in SECTIONS] == SECTIONS,
           [f"found {', '.join(parts)}; expected at least {', '.join(SECTIONS)}"])
    tap.none(f"{page} names every option and verb",
             [f"{page}: OPTIONS says nothing of {name}" for _, name, _ in options
              if not has_option(words(parts.get("OPTIONS", "")), name)]
             + [f"{page}: OPTIONS says nothing of {letter}, the letter of {name}" for _, name, letter in options
                if letter != "-" and not has_option(words(parts.get("OPTIONS", "")), letter)]
             + [f"{page}: says nothing of the verb {verb}" for verb in verbs
                if not any(re.search(rf"(^|\s){re.escape(verb)}(\s|$)", mark) for mark in bold(source))])
    known = {name for _, name, _ in options}
    own = re.sub(r"^\t.*$", "", text, flags=re.M)  # examples may call other programs
    own = re.sub(rf"\bsbx-(?!{tool.removeprefix('sbx-')}\b)\w+ .*$", "", own, flags=re.M)  # and other tools
    named = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", parts and words(parts.get("OPTIONS", "")) + own))
    tap.none(f"{page} names no option that does not exist",
             [f"{page}: {name} is in no table of {tool}" for name in named - known])


def check_help(tool, path, options, verbs):
    long, short = tap.run(path, "--help"), tap.run(path, "-h")
    tap.ok(f"{tool} --help is -h, on stdout, and ends with 0",
           long.returncode == short.returncode == 0 and long.stdout == short.stdout != ""
           and not long.stderr and not short.stderr)
    helps = [long.stdout] + [tap.must(path, verb, "--help") for verb in sorted(verbs)]
    tap.none(f"{tool} --help is at most {WIDTH} columns wide",
             [f"{tool} --help: {line}" for text in helps for line in text.splitlines() if len(line) > WIDTH])
    tap.none(f"{tool} --help names every option and verb",
             [f"{tool} --help: says nothing of {name}" for _, name, _ in options
              if not any(has_option(text, name) for text in helps)]
             + [f"{tool} --help: says nothing of {verb}" for verb in verbs
                if not re.search(rf"^\s+{re.escape(verb)}\b", long.stdout, re.M)])
    version = tap.run(path, "--version")
    tap.ok(f"{tool} --version names the tool, on stdout, and ends with 0",
           version.returncode == 0 and version.stdout.startswith(tool + " ") and not version.stderr)


def check_refusal(tool, path):
    status = USAGE_STATUS.get(tool, 2)
    wrong = tap.run(path, "--no-such-option")
    tap.ok(f"{tool} refuses an unknown option on stderr and ends with {status}",
           wrong.returncode == status and not wrong.stdout and "--no-such-option" in wrong.stderr
           and wrong.stderr.rstrip().splitlines()[-1].startswith("  fix: "),
           [f"status {wrong.returncode}, stdout '{wrong.stdout}', stderr '{wrong.stderr}'"])


def check_tests(tool):
    found = tap.files(f"tests/tool/{tool.removeprefix('sbx-')}-*.sh")
    tap.ok(f"{tool} has at least {TESTS_PER_TOOL} tests in tests/tool",
           len(found) >= TESTS_PER_TOOL, map(str, found))
    built = "".join(tap.read(name) for name in tap.files("tests/*/meson.build"))
    tap.none(f"every test of {tool} is run",
             [f"{name}: no meson.build of tests/ names it" for name in found
              if not re.search(rf"\b{re.escape(name.stem)}\b", built)])


def check_completions(tool, options, verbs):
    for shell, (file_name, form, parse) in SHELLS.items():
        script = tap.BUILD / "completions" / file_name.format(tool)
        text = script.read_text() if script.is_file() else ""
        tap.none(f"the {shell} completion of {tool} has every option and verb",
                 [f"{script.name}: nothing of {form.format(name[2:])}" for _, name, _ in options
                  if not re.search(rf"(?<![\w-]){re.escape(form.format(name[2:]))}(?![\w-])", text)]
                 + [f"{script.name}: nothing of {verb}" for verb in verbs
                    if not re.search(rf"\b{re.escape(verb)}\b", text)])
        # The shells are packages of the set "test": a missing one is an error of the list, not of the host.
        parsed = tap.run(*parse, script) if shutil.which(shell) else None
        tap.ok(f"{shell} parses the completion of {tool}", bool(parsed and parsed.returncode == 0 and text),
               parsed.stderr.splitlines() if parsed else [f"{shell} is not installed"])


def main():
    tools = tap.tools()
    tap.ok("there are tools to look at", bool(tools))
    for tool in sys.argv[1:] or sorted(tools):
        path = tools[tool]
        options, verbs = inventory(path)
        tap.ok(f"{tool} has --help and --version in its table",
               {"--help", "--version"} <= {name for _, name, _ in options})
        check_page(tool, options, verbs)
        check_help(tool, path, options, verbs)
        check_refusal(tool, path)
        check_tests(tool)
        check_completions(tool, options, verbs)
    tap.done()


if __name__ == "__main__":
    main()
