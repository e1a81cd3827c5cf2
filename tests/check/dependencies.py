# SPDX-License-Identifier: MIT
"""Packages are listed in the file "dependencies"; other files read it or agree with it."""
import re

import tap

LIST = "dependencies"
SETS = {"build", "test", "lint", "vm", "image", "peers"}  # sets that other files ask for; there may be more
READERS = ["dev", ".ci/run", "tests/vm/*"]  # files that install packages of the list and name none themselves


def listed():
    """Returns ({set: {package}}, errors in the list)."""
    sets, wrong = {}, []
    for number, line in tap.lines(LIST):
        if not line or line.startswith("#"):
            continue
        row = re.fullmatch(r"([a-z]+) ([a-z0-9][a-z0-9+.-]+)", line)
        if not row:
            wrong.append(f"{LIST}:{number}: not 'SET PACKAGE'")
            continue
        name, package = row.groups()
        if package in sets.setdefault(name, set()):
            wrong.append(f"{LIST}:{number}: {package} stands in {name} twice")
        sets[name].add(package)
    return sets, wrong


def build_depends(control):
    """Returns the packages of Build-Depends, without versions, architectures and build profiles."""
    field = re.search(r"^Build-Depends:((?:.*\n)(?:[ \t#].*\n)*)", control, re.M)
    text = re.sub(r"^#.*$", "", field.group(1), flags=re.M)
    text = re.sub(r"\([^)]*\)|<[^>]*>|\[[^\]]*\]", "", text)
    packages = {word.strip().split(":")[0] for entry in text.split(",") for word in entry.split("|")}
    return packages - {"", "debhelper-compat"}


def named_packages(name):
    """Returns the packages that an install command of a script names directly."""
    joined = re.sub(r"\\\n", lambda _: " \0", tap.read(name))  # \0 keeps the line numbers
    number = 0
    for line in joined.splitlines():
        number += 1
        command = re.search(r"\b(?:apt|apt-get|aptitude)\b[^#;|&]*?\binstall\b([^;|&#]*)", line)
        for word in command.group(1).replace("\0", "").split() if command else []:
            if re.fullmatch(r"[a-z0-9][a-z0-9+.-]+(=\S*)?", word):
                yield f"{name}:{number}: installs '{word}', which belongs into {LIST}"
        number += line.count("\0")


def main():
    sets, wrong = listed()
    tap.none(f"{LIST} is a list of sets and packages", wrong)
    tap.none("every set that other files ask for is there",
             [f"{LIST}: nothing in the set {name}" for name in SETS - set(sets)])
    wanted = build_depends(tap.read("debian/control"))
    tap.none("Build-Depends of debian/control is the set 'build'",
             [f"{package}: stands in only one of debian/control and {LIST}" for package in wanted ^ sets.get("build", set())])
    readers = tap.files(*READERS)
    tap.ok("there are scripts that install packages", bool(readers))
    tap.none("no script names a package by itself",
             [line for name in readers for line in named_packages(name)])
    tap.done()


if __name__ == "__main__":
    main()
