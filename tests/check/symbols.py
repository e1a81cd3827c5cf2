# SPDX-License-Identifier: MIT
"""libsbx.so exports what lib/libsbx.sym lists and its headers declare; lib/ has no mutable globals."""
import pathlib
import re

import tap

LIST = "lib/libsbx.sym"


def exported(path):
    """Returns the symbols that the shared object exports, without the version names."""
    symbols = re.findall(r"(?:GLOBAL|WEAK|UNIQUE)\s+DEFAULT\s+(\d+|ABS)\s+([^\s@]+)",
                         tap.must("readelf", "--dyn-syms", "-W", path))
    return {name for section, name in symbols if section != "ABS"}


def listed(text):
    """Returns {symbol: version} of a version script."""
    found, version, is_global = {}, None, False
    for line in re.sub(r"/\*.*?\*/", "", text, flags=re.S).splitlines():
        line = line.strip()
        if line.endswith("{"):
            version = line[:-1].strip()
        elif line in {"global:", "local:"}:
            is_global = line == "global:"
        elif is_global and line.endswith(";") and line != "};":
            found[line[:-1]] = version
    return found


def declared():
    """Returns {prototype: header} of all library functions in the public headers."""
    found = {}
    for name in tap.files("lib/include/sbx/*.h"):
        text = re.sub(r"^\s*#(?:.*\\\n)*.*", "", tap.without_comments(tap.read(name)), flags=re.M)
        text = re.sub(r"\bstatic\b[^;{]*\{", "{", text)
        found |= {function: name for function in re.findall(r"\b(sbx_\w+)\s*\(", text)}
    return found


def released():
    """Returns [(tag, {symbol: version})] of the tagged releases."""
    for tag in tap.run("git", "-C", tap.SOURCE, "tag", "--list", "v*").stdout.split():
        text = tap.run("git", "-C", tap.SOURCE, "show", f"{tag}:{LIST}").stdout
        yield tag, listed(text)


def archives():
    return [target["filename"][0] for target in tap.targets() if target["type"] == "static library"
            and tap.SOURCE / "lib/meson.build" == pathlib.Path(target["defined_in"])]


def mutable(path):
    """Returns objects in .data and .bss; constants with relocations are in another section."""
    unit = path
    for line in tap.must("objdump", "-t", path).splitlines():
        if ":     file format" in line:
            unit = line.split(":")[0]
        found = re.match(r"\S+ .{6}O (\.(?:data|bss|tdata|tbss)(?:\.(?!rel\.ro)\S*)?)\t\S+\s+(?:\.\w+ )?(\S+)", line)
        if found:
            yield f"{unit}: '{found.group(2)}' can change and belongs to nobody; put it into a struct"


def misnamed(path, public):
    for name in re.findall(r"^\S+ [A-Z] (sbx_\w+)$", tap.must("nm", "-g", "--defined-only", path), re.M):
        if name not in public:
            yield f"{path}: '{name}' is not exported, so it does not begin with sbx_"


def main():
    library = next(target["filename"][0] for target in tap.targets()
                   if target["type"] == "shared library" and target["name"] == "sbx")
    public, exports, prototypes = listed(tap.read(LIST)), exported(library), declared()
    tap.ok("there are symbols to look at", bool(public) and bool(exports) and bool(prototypes))
    tap.none(f"the library exports what {LIST} lists",
             [f"'{name}' stands in only one of libsbx.so and {LIST}" for name in exports ^ set(public)])
    tap.none("every exported symbol begins with sbx_",
             [f"'{name}' is exported" for name in exports | set(public) if not name.startswith("sbx_")])
    tap.none("every function of the public headers is exported",
             [f"{prototypes[name]}: '{name}' is declared and not exported" for name in set(prototypes) - exports])
    tap.none("every exported function is declared in a public header",
             [f"'{name}' is exported and not declared" for name in exports - set(prototypes)])
    tap.none("what a release exported is still there, in the same version",
             [f"{tag}: '{name}' was in {version}" for tag, symbols in released()
              for name, version in symbols.items() if public.get(name) != version])
    tap.none("only exported symbols begin with sbx_",
             [line for path in archives() for line in misnamed(path, public)])
    if tap.option("b_sanitize") != "none" or tap.option("b_coverage"):
        tap.skip("lib/ has no mutable globals", "an instrumented build has its own counters there")
    else:
        tap.none("lib/ has no mutable globals", [line for path in archives() for line in mutable(path)])
    tap.done()


if __name__ == "__main__":
    main()
