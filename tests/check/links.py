# SPDX-License-Identifier: MIT
"""Each tool and libsbx.so link exactly what architecture.tsv permits."""
import pathlib
import re

import architecture
import tap

LIBC = "libc.so.6"
# Libraries that instrumented builds add.
INSTRUMENTS = re.compile(r"lib(asan|ubsan|tsan|lsan|gcc_s|m|gcov)\.so\.\d+")


def needed(path):
    """Returns the sonames in DT_NEEDED."""
    found = set(re.findall(r"\(NEEDED\).*\[(.*)\]", tap.must("readelf", "-dW", path)))
    if tap.option("b_sanitize") != "none":
        found = {name for name in found if not INSTRUMENTS.fullmatch(name)}
    return found


def opens_at_run_time(path):
    """Is dlopen among the imported symbols?"""
    symbols = tap.must("readelf", "--dyn-syms", "-W", path)
    return bool(re.search(r"\bUND\s+dlm?open(@|\s|$)", symbols, re.M))


def linked_folders(path, folders):
    """Returns the directories whose static library is linked into the executable, from ninja."""
    inputs = tap.must("ninja", "-C", tap.BUILD, "-t", "inputs", path.relative_to(tap.BUILD))
    archives = {pathlib.PurePath(line.strip()) for line in inputs.splitlines()}
    return {archive.stem.removeprefix("lib") for archive in archives
            if archive.suffix == ".a" and archive.parts[0] == "lib"} & set(folders)


def check_tool(name, path, folders, row):
    linked = linked_folders(path, folders)
    tap.ok(f"{name} links the folders of its row", linked == set(row.folders),
           [f"links {sorted(linked)}; {architecture.TABLE}:{row.line} says {sorted(row.folders)}"])
    below = [folders[folder] for folder in row.folders if folder in folders]
    allowed = {LIBC}.union(row.sonames, *(folder.sonames for folder in below))
    tap.none(f"{name} needs no library too many",
             [f"{name}: DT_NEEDED {soname}, but {architecture.TABLE} allows only {sorted(allowed)}"
              for soname in needed(path) - allowed])
    may_open = row.opens or any(folder.opens for folder in below)
    tap.ok(f"{name} opens libraries at run time only where its row says so",
           may_open or tap.option("b_sanitize") != "none" or not opens_at_run_time(path))


def check_libc_alone(name, path):
    tap.none(f"{name} needs {LIBC} alone",
             [f"{name}: DT_NEEDED {soname}" for soname in needed(path) - {LIBC}])


def main():
    folders, rows, wrong = architecture.read()
    tap.none("the table is whole", wrong)
    tools = tap.tools()
    tap.ok("there are tools to look at", bool(tools))
    tap.none("every tool has a row, and every row a tool",
             [f"{name}: stands in only one of {architecture.TABLE} and tools/meson.build"
              for name in set(rows) ^ set(tools)])
    for name in sorted(set(rows) & set(tools)):
        check_tool(name, tools[name], folders, rows[name])
    # sbx-spawn is static if possible; then there is a second, dynamic one.
    check_libc_alone("sbx-spawn", tools["sbx-spawn"])
    with_modules = tap.all_of_tools().get("spawn-with-modules")
    if with_modules:
        tap.none("a static sbx-spawn needs nothing",
                 [f"sbx-spawn: DT_NEEDED {soname}" for soname in needed(tools["sbx-spawn"])])
        check_libc_alone("spawn-with-modules", with_modules)
    library = next(target for target in tap.targets() if target["type"] == "shared library"
                   and target["name"] == "sbx")
    check_libc_alone("libsbx.so", library["filename"][0])
    tap.done()


if __name__ == "__main__":
    main()
