# SPDX-License-Identifier: MIT
"""Programs outside of the project: the public headers in each language, the layout, a caller of libsbx.so."""
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "check"))
import tap  # noqa: E402, from the directory of the checks

HERE = pathlib.Path(__file__).parent
STRICT = ["-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-I", tap.SOURCE / "lib/include"]
LANGUAGES = {
    "C11": [os.environ.get("CC", "cc"), "-std=c11", "-x", "c"],
    "C17": [os.environ.get("CC", "cc"), "-std=c17", "-x", "c"],
    "C++17": [os.environ.get("CXX", "c++"), "-std=c++17", "-x", "c++"],
}
SAID = "-2 cannot open 'p.yaml'|line 14|write 'version: 1'|at the end\n"


def check_header(language, command, header):
    name = header.relative_to("lib/include")
    text = f"#include <{name}>\n" * 2 + "extern int sbx_not_empty;\n"
    compiled = tap.run(*command, "-fsyntax-only", *STRICT, "-", input=text)
    tap.ok(f"<{name}> compiles alone and twice as {language}", compiled.returncode == 0, compiled.stderr.splitlines())


def check_layout(language, command):
    compiled = tap.run(*command, "-fsyntax-only", *STRICT, HERE / "caller.c")
    tap.ok(f"the layout is what it was, as {language} sees it",
           compiled.returncode == 0, compiled.stderr.splitlines())


def check_the_table(language, command):
    compiled = tap.run(*command, "-fsyntax-only", *STRICT, "-DEXPECT_ANOTHER_LAYOUT", HERE / "caller.c")
    tap.ok(f"the table of the layout can fail as {language}",
           compiled.returncode != 0 and "the layout has changed" in compiled.stderr)


def check_32_bits(language, command):
    """Without the C library of 32 bits: the compiler itself has the headers that ring.h includes."""
    small = [*command, "-m32", "-ffreestanding", "-fsyntax-only", *STRICT]
    name = f"a channel has the same bytes in a 32-bit program, as {language} sees it"
    if tap.run(*small, "-", input="extern int sbx_not_empty;\n").returncode != 0:
        tap.skip(name, "this compiler cannot compile for 32 bits")
        return
    text = f'#include <sbx/ring.h>\n#include "{HERE}/wire.h"\n'
    compiled = tap.run(*small, "-", input=text)
    changed = tap.run(*small, "-", input=text + "SAME(SBX_RING_TAIL_OFFSET, 64);\n")
    tap.ok(name, compiled.returncode == 0 and "the layout has changed" in changed.stderr, compiled.stderr.splitlines())


def check_fixed_sizes():
    """A layout that depends on no type of the compiler is the same for all of them."""
    text = tap.without_comments(tap.read("lib/include/sbx/ring-layout.h"))
    tap.none("ring-layout.h has no type whose size a compiler chooses",
             re.findall(r"\b(?:struct|union|typedef|long|int|char|short|size_t|sizeof|bool|uint\w+)\b", text))


def check_caller(language, command, library, folder):
    program = pathlib.Path(folder, "caller")
    compiled = tap.run(*command, *STRICT, HERE / "caller.c", "-x", "none", library, "-o", program)
    called = tap.run(program, env=os.environ | {"LD_LIBRARY_PATH": str(library.parent)})
    tap.ok(f"a {language} program and libsbx.so understand each other", called.stdout == SAID,
           (compiled.stderr + called.stderr + called.stdout).splitlines())


def main():
    headers = tap.files("lib/include/sbx/*.h")
    tap.ok("there are headers to look at", bool(headers))
    library = next(pathlib.Path(target["filename"][0]) for target in tap.targets()
                   if target["type"] == "shared library" and target["name"] == "sbx")
    check_fixed_sizes()
    sanitized = tap.option("b_sanitize") != "none"
    for language, command in LANGUAGES.items():
        for header in headers:
            check_header(language, command, header)
        check_layout(language, command)
        check_the_table(language, command)
        check_32_bits(language, command)
        if sanitized:
            tap.skip(f"a {language} program and libsbx.so understand each other",
                     "a sanitized library needs a sanitized program")
            continue
        with tempfile.TemporaryDirectory() as folder:
            check_caller(language, command, library, folder)
    tap.done()


if __name__ == "__main__":
    main()
