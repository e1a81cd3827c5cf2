# SPDX-License-Identifier: MIT
"""The checks can fail: a new tool and a plan step, made by HACKING.md, pass them; each of many mistakes is found.

Works in a copy of the tree with one build directory. Blocks of HACKING.md are selected by their info string:

    ```c file=PATH                      the whole file
    ```tsv append=PATH                  lines at its end
    ```meson insert=PATH after="TEXT"   lines after the first line that contains TEXT
    ```c insert=PATH before="TEXT"      lines before it
"""
import contextlib
import json
import os
import pathlib
import re
import shlex
import shutil
import sys
import tempfile

import tap

RECIPE = "HACKING.md"
BLOCK = re.compile(r"^(?P<fence>`{3,})\w* *(?P<how>file|append|insert)=(?P<path>\S+)"
                   r'(?: +(?P<side>after|before)="(?P<line>[^"]*)")?\n'
                   r"(?P<text>.*?)^(?P=fence)$", re.M | re.S)
TOOL, PAGE, FRAME_PAGE = "tools/sbx-hello.c", "man/sbx-hello.1.scd", "man/sbx-frame-layout.7.scd"
DOCUMENTS = "documents sbx-hello"
STAND_ALONE = ["documents", "includes", "links", "symbols", "spdx", f"format {TOOL}", "prose", "dependencies", "install"]


class Tree:
    """A copy of the sources and its build."""

    def __init__(self, folder):
        self.top, self.build = folder / "tree", folder / "build"
        self.environment = os.environ | {"SBX_SOURCE": str(self.top), "SBX_BUILD": str(self.build)}
        self.environment.pop("TEST_ONLY", None)
        for name in tap.files():
            (self.top / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(tap.SOURCE / name, self.top / name, follow_symlinks=False)

    def apply(self, block):
        path = self.top / block["path"]
        if block["how"] == "file":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block["text"])
            return
        text = path.read_text()
        at = len(text)
        if block["how"] == "insert":
            if block["line"] not in text:
                tap.bail_out(f"{RECIPE}: no line of {block['path']} contains '{block['line']}'")
            at = text.index(block["line"])
            at = text.index("\n", at) + 1 if block["side"] == "after" else text.rfind("\n", 0, at) + 1
        path.write_text(text[:at] + block["text"] + text[at:])

    def configure(self):
        # Without optimisation, debug information and -Werror: the build is only inspected.
        tap.must("meson", "setup", self.build, self.top, "--prefix=/usr", "-Doptimization=0", "-Ddebug=false",
                 "-Dwerror=false")
        targets = json.loads((self.build / "meson-info/intro-targets.json").read_text())
        self.targets = [pathlib.Path(target["filename"][0]).relative_to(self.build) for target in targets
                        if target["build_by_default"] and "/tests/" not in target["defined_in"]]
        self.compile()

    def compile(self, *more):
        # Other tests with deadlines run at the same time.
        tap.must("nice", "ninja", "-C", self.build, *self.targets, *more)

    def relink(self, target, flag):
        """Links a target again, with an additional flag."""
        commands = tap.must("ninja", "-C", self.build, "-t", "commands", target).splitlines()
        command = next(line for line in reversed(commands) if f"-o {target} " in line)
        tap.must("sh", "-c", f"{command} {shlex.quote(flag)}", cwd=self.build)

    def check(self, name):
        """Returns (passed, output) of a check of this tree."""
        script, *words = name.split()
        finished = tap.run(sys.executable, "-B", next(self.top.glob(f"tests/*/{script}.py")), *words,
                           env=self.environment)
        return finished.returncode == 0, finished.stdout + finished.stderr

    @contextlib.contextmanager
    def changed(self, name, change):
        """Changes one file during the context by a function from text to text; None removes it."""
        path = self.top / name
        before = path.read_bytes() if path.exists() else None
        path.parent.mkdir(parents=True, exist_ok=True)
        after = change(before.decode() if before else "")
        path.unlink(missing_ok=True) if after is None else path.write_text(after)
        yield
        path.unlink(missing_ok=True) if before is None else path.write_bytes(before)


def removed(_):
    return None


def with_line(line, before=None):
    """Adds a line at the end, or before the first line that contains a text."""
    def change(text):
        if before is None:
            return text + line + "\n"
        at = text.rindex("\n", 0, text.index(before)) + 1
        return text[:at] + line + "\n" + text[at:]
    return change


def with_page_line(line):
    return with_line(f"\n{line}\n", before="# EXIT STATUS")


# A mistake: its name, the check that must find it, what the check must say, the file, the change.
MISTAKES = [
    ("a tool without a man page", DOCUMENTS, f"{PAGE}: is missing", PAGE, removed),
    ("a man page with an option that does not exist", DOCUMENTS, "--louder is in no table", PAGE,
     with_page_line("*--louder*\n\tGreet louder.")),
    ("a man page without its examples", DOCUMENTS, "PICTURES", PAGE,
     lambda text: text.replace("# EXAMPLES", "# PICTURES")),
    ("a tool with two tests", DOCUMENTS, "sbx-hello has at least 3 tests", "tests/tool/hello-unknown-option.sh", removed),
    ("lib/policy that includes lib/kernel", "includes", "policy/ must not include kernel/mount.h",
     "lib/policy/load.c", lambda _: '/* SPDX-License-Identifier: MIT */\n#include "kernel/mount.h"\n'),
    ("lib/policy that includes lib/kernel by a detour", "includes", "policy/ must not include",
     "lib/policy/load.c", lambda _: '/* SPDX-License-Identifier: MIT */\n#  include "../kernel/mount.h"\n'),
    ("base that includes service", "includes", "base/ must not include service/", "lib/base/text.c",
     with_line('#include "service/service.h"')),
    ("a tool that includes another tool's file", "includes", "another tool's", TOOL, with_line('#include "sbx-spawn.c"')),
    ("a folder that the architecture does not know", "includes", "lib/magic/wand.c: its folder", "lib/magic/wand.c",
     lambda _: "/* SPDX-License-Identifier: MIT */\n"),
    ("a tool without a row in the architecture", "links", "sbx-hello: stands in only one",
     "tests/check/architecture.tsv", lambda text: text.replace("tool\tsbx-hello", "# tool\tsbx-hello")),
    ("a tool whose row has a folder that it does not link", "links", "links the folders of its row", "tests/check/architecture.tsv",
     lambda text: text.replace("sbx-hello\tbase", "sbx-hello\tbase,ring")),
    ("a header that needs another one first", "headers lib/base/units.h", "size_t", "lib/base/units.h", with_line("size_t units_stray(void);")),
    ("a public header that is no C++", "abi", "as C++17", "lib/include/sbx/error.h",
     with_line("struct sbx_stray { int class; };", before="#ifdef __cplusplus")),
    ("a public struct that has grown", "abi", "the layout has changed", "lib/include/sbx/error.h",
     with_line("\tint stray;", before="char what[")),
    ("a public function that is not exported", "symbols", "'sbx_error_stray' is declared and not exported",
     "lib/include/sbx/error.h", with_line("SBX_API void sbx_error_stray(void);", before="SBX_API int")),
    ("a file without a licence", "spdx", "lib/base/stray.c", "lib/base/stray.c", lambda _: "static int stray;\n"),
    ("a BPF program that is not GPL", "spdx", "is the licence", "bpf/stray.bpf.c",
     lambda _: "/* SPDX-License-Identifier: MIT */\n"),
    ("a file that clang-format would change", f"format {TOOL}", f"clang-format -i {TOOL}", TOOL,
     with_line("static int  stray( void );")),
    ("a library that prints", "prose lib/base/text.c", "a library that prints", "lib/base/text.c",
     with_line('static void stray(void) { puts("stray"); }')),
    ("a note to oneself", f"prose {TOOL}", "a note to oneself", TOOL, with_line("/* TO" + "DO: greet louder */")),
    ("a message without an actor", "prose lib/base/text.c", "begins without its noun: who asks twice", "lib/base/text.c",
     with_line('static const char *const stray = "who asks twice is "\n\t"refused";')),
    ("a comment without an actor", "prose lib/base/text.c", "begins without its noun: Whoever calls it", "lib/base/text.c",
     with_line("/* Whoever calls it\n * frees it. */")),
    ("a page with another word for a directory", f"prose {PAGE}", "'directory' is the word: Keep it in a folder.", PAGE,
     with_page_line("Keep it in a folder.")),
    ("a function of 61 lines", f"prose {TOOL}", "stray has 61 lines", TOOL,
     with_line("static void stray(void)\n{\n" + "\t;\n" * 59 + "}")),
    ("a policy's key that its page does not name", "keys", "hostname: the program has it", "man/sbx-policy.5.scd",
     lambda text: text.replace("*hostname* (", "*hostnames* (")),
    ("a warning that the page does not explain", "keys", "W14: the program has it", "man/sbx-policy.5.scd",
     lambda text: text.replace("*W14*", "*W41*")),
    ("a member of the compiled policy that its page does not know", "artefact", "bytes of struct artefact_source",
     "lib/policy/artefact.h", with_line("\tuint32_t stray;", before="\tuint32_t narrows;")),
    ("a key of the configuration with another default", "pages", "agree about color", "man/sbx.conf.5.scd",
     lambda text: text.replace("default _auto_)\n\tColour", "default _never_)\n\tColour")),
    ("an offset that a page has wrong", "pages", "offsets and sizes", FRAME_PAGE,
     lambda text: text.replace("|  9\n", "|  8\n")),
    ("an example that is another frame", "pages", "bytes of the example", FRAME_PAGE,
     lambda text: text.replace("2a 00 00 00", "00 00 00 2a")),
    ("a unit test that meson does not know", "forgotten", "tests/unit/test-stray.c", "tests/unit/test-stray.c",
     lambda _: "int main(void)\n{\n}\n"),
    ("a test of a tool that meson does not know", "forgotten", "tests/tool/hello-stray.sh", "tests/tool/hello-stray.sh",
     lambda _: "check stray true\nfinish\n"),
    ("a target of the fuzzer without a corpus", "forgotten", "corpus/stray is missing", "tests/fuzz/fuzz-stray.c",
     lambda _: "int LLVMFuzzerTestOneInput(void);\n"),
    ("a corpus without a target", "forgotten", "fuzz-stray.c is missing", "tests/fuzz/corpus/stray/empty",
     lambda _: ""),
    ("a policy that is not installed", "policies", "meson.build lists every policy", "policies/meson.build",
     lambda text: text.replace("  'python.yaml',\n", "")),
    ("a template with another number", "policies", "no 'pids: 10'", "policies/ai-provider.yaml",
     lambda text: text.replace("pids: 10", "pids: 100")),
    ("a Build-Depends that the list does not know", "dependencies", "stray: stands in only one", "debian/control",
     with_line(" stray,", before=" clang,")),
    ("a script that names a package by itself", "dependencies", "installs 'stray'", "dev",
     with_line("sudo apt-get -q install -y stray")),
]


def check_mistake(tree, sentence, name, says):
    passed, output = tree.check(name)
    complaints = [line for line in output.splitlines() if not line.startswith("ok ")]
    tap.ok(f"{name.split()[0]} finds {sentence}", not passed and any(says in line for line in complaints), complaints)


def check_build_mistakes(tree):
    """Mistakes that are visible only in a finished build."""
    option = '\t{ .name = "loud", .kind = OPTION_FLAG, .offset = 0, .help = "stray" },'
    stray = ('__attribute__((visibility("default"))) void stray(void);\n'
             "void stray(void)\n{\n\tstatic int calls;\n\n\tcalls++;\n}")
    with tree.changed(TOOL, with_line(option, before="OPTION_END")), \
            tree.changed("lib/base/error.c", with_line(stray)), \
            tree.changed("lib/libsbx.sym", with_line("\tstray;", before="local:")):
        tree.compile()
        check_mistake(tree, "an option that the man page does not name", DOCUMENTS, "OPTIONS says nothing of --loud")
        check_mistake(tree, "an exported symbol without the prefix", "symbols", "'stray' is exported")
        check_mistake(tree, "a global that can change", "symbols", "'calls")
    tree.compile()
    for target, says in [("tools/sbx-hello", "sbx-hello: DT_NEEDED libm.so.6"),
                         ("tools/spawn-with-modules", "spawn-with-modules: DT_NEEDED libm.so.6"),
                         ("lib/libsbx.so.0.0.0", "libsbx.so: DT_NEEDED libm.so.6")]:
        tree.relink(target, "-Wl,--no-as-needed,-lm")
        check_mistake(tree, f"a library too many in {target}", "links", says)
    # Installed files are copied from the paths in the installation plan.
    (tree.build / "tools/sbx-hello").unlink()
    check_mistake(tree, "a tool that was not built", "install", "Bail out!")


def main():
    blocks = [match.groupdict() for match in BLOCK.finditer(tap.read(RECIPE))]
    paths = sorted({pathlib.Path(block["path"]) for block in blocks})
    tap.ok(f"{RECIPE} has a recipe", any(block["path"] == TOOL for block in blocks))
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(pathlib.Path(folder))
        for block in blocks:
            tree.apply(block)
        tree.configure()
        for name in STAND_ALONE:
            passed, output = tree.check(name)
            tap.ok(f"a tool made by the recipe passes {name}", passed,
                   [line for line in output.splitlines() if not line.startswith("ok ")])
        tests = [path.stem for path in paths if path.match("tests/tool/hello*")]
        units = [path.stem for path in paths if path.match("tests/unit/test-*.c")]
        tree.compile(*(f"tests/unit/{name}" for name in units))
        tests += [name.removeprefix("test-") for name in units]
        tested = tap.run("meson", "test", "-C", tree.build, "--no-rebuild", "--print-errorlogs", *tests)
        tap.ok("the tests of the recipe pass", bool(tests) and tested.returncode == 0, tested.stdout.splitlines())
        described = [path for path in paths if path.match("lib/plan/*") or path.match("lib/kernel/*")]
        tap.ok("a plan step is in four files and where it is planned, with two tests",
               len(described) <= 5 and len(units) == 2, described + units)
        for sentence, name, says, path, change in MISTAKES:
            with tree.changed(path, change):
                check_mistake(tree, sentence, name, says)
        check_build_mistakes(tree)
    tap.done()


if __name__ == "__main__":
    main()
