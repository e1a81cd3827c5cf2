# SPDX-License-Identifier: MIT
"""A file includes only directories that architecture.tsv permits."""
import posixpath
import re

import architecture
import tap

INCLUDE = re.compile(r'\s*#\s*(?:include|include_next|import)\b\s*(.*)')
NAMED = re.compile(r'"([^"]+)"|<([^>]+)>')


def folder_of(path, folders):
    """Returns the row for a path: lib/policy/load.c belongs to policy; None: outside of all rows."""
    parts = path.split("/")
    if parts[0] == "lib" and len(parts) > 2:
        return parts[1]
    return next((name for name in (posixpath.dirname(path), parts[0]) if name in folders), None)


def target_of(name, target, folders):
    """Returns the path that an #include refers to, by its text: a header that does not exist yet, or only in some
    builds, also belongs to its directory.
    """
    first = target.split("/")[0]
    if first == "sbx":
        return "lib/include/" + target
    if "/" in target and first in folders and (first == "bpf" or "tests" in target.split("/")):
        return posixpath.normpath(target)
    if "/" in target and (first in folders or (tap.SOURCE / "lib" / target).exists()):
        return posixpath.normpath("lib/" + target)
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
    return beside if "/" not in target or first in {".", ".."} or (tap.SOURCE / beside).exists() else None


def may_see(row, folder):
    return folder in {row.name, "include"} or folder in row.folders or "*" in row.folders


def is_own(name, target):
    """Tools share tool.h; a tool's own headers have its name: policy.h is for sbx-policy.c and policy-*.c."""
    stem, other = (posixpath.splitext(posixpath.basename(path))[0] for path in (name, target))
    return (other == "tool" or other == stem or other.startswith(stem + "-")
            or (stem.removeprefix("sbx-") + "-").startswith(other + "-"))


def judge(name, target, folders):
    """Returns what is wrong with one #include of the file @name, or None."""
    path = target_of(name, target, folders)
    if path is None:
        return None
    mine, other = folder_of(name, folders), folder_of(path, folders)
    if mine == "tools" and other == "tools":
        return None if is_own(name, target) else f"a tool includes another tool's {target}"
    if other not in folders:
        return f"{target} lies in no folder of {architecture.TABLE}"
    return None if may_see(folders[mine], other) else f"{mine}/ must not include {target}"


def violations(names, folders):
    for name in map(str, names):
        mine = folder_of(name, folders)
        if mine not in folders:
            yield f"{name}: its folder has no row in {architecture.TABLE}"
            continue
        for number, line in tap.lines(name):
            directive = INCLUDE.match(line)
            if not directive:
                continue
            named = NAMED.match(directive.group(1))
            if not named:
                yield f"{name}:{number}: an #include must name its header, or nobody can check it"
                continue
            if named.group(2) and "/" not in named.group(2):
                continue  # a system header: no directory of the project is searched for <name.h>
            wrong = judge(name, named.group(1) or named.group(2), folders)
            if wrong:
                yield f"{name}:{number}: {wrong}"


def main():
    folders, _, wrong = architecture.read()
    tap.none("the table is whole and has no cycle", wrong)
    names = [name for name in tap.files("*.c", "*.h", "*.cc")
             if name.parts[0] in {"lib", "tools", "bpf"} or name.parts[:2] == ("tests", "bench")]
    tap.ok("there are files to look at", any(name.parts[0] == "lib" for name in names))
    tap.none("no file includes a folder that it may not see", violations(names, folders))
    tap.done()


if __name__ == "__main__":
    main()
