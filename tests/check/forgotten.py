# SPDX-License-Identifier: MIT
"""Each file that is a test is run, under a unique name: meson knows it. Each fuzz target has a corpus."""
import collections
import json

import tap

# Which files are tests, and the name of their test. The content shows that a file is a test, and not included by
# others.
KINDS = [
    ("tests/unit/test-*.c", "int main(", lambda stem: stem.removeprefix("test-")),
    ("tests/attack/attack-*.c", "int main(", lambda stem: stem),
    ("tests/fuzz/fuzz-*.c", "LLVMFuzzerTestOneInput(", lambda stem: stem),
    ("tests/tool/*.sh", "\nfinish\n", lambda stem: stem),
    ("tests/golden/*.sh", "\nfinish\n", lambda stem: stem),
    ("tests/check/*.py", "\n    main()\n", lambda stem: stem),
    ("tests/abi/*.py", "\n    main()\n", lambda stem: stem),
]


def suite_and_name(test):
    return test["suite"][0].split(":")[-1], test["name"]


def check_kind(pattern, mark, name_of, known):
    suite = pattern.split("/")[1]
    found = [name for name in tap.files(pattern) if mark in tap.read(name)]
    tap.ok(f"there are tests in {suite}", bool(found))
    tap.none(f"every {pattern} is run",
             [f"{name}: tests/{suite}/meson.build does not name it" for name in found
              if (suite, name_of(name.stem)) not in known])


def check_corpora():
    targets = {name.stem.removeprefix("fuzz-") for name in tap.files("tests/fuzz/fuzz-*.c")}
    corpora = {name.parts[3] for name in tap.files("tests/fuzz/corpus/*/*")}
    tap.none("every target of the fuzzer has a corpus, and every corpus a target",
             [f"tests/fuzz/fuzz-{name}.c: tests/fuzz/corpus/{name} is missing" for name in targets - corpora]
             + [f"tests/fuzz/corpus/{name}: fuzz-{name}.c is missing" for name in corpora - targets])


def main():
    # As 'meson introspect --tests' prints it, without the start of meson.
    tests = [suite_and_name(test) for test in json.loads((tap.BUILD / "meson-info/intro-tests.json").read_text())]
    for pattern, mark, name_of in KINDS:
        check_kind(pattern, mark, name_of, set(tests))
    check_corpora()
    # Two tests with one name make "meson test" fail with an assertion of its own.
    times = collections.Counter(name for _, name in tests)
    tap.none("no two tests have the same name",
             [f"{suite}/{name}: there is another test of this name" for suite, name in tests if times[name] > 1])
    tap.done()


if __name__ == "__main__":
    main()
