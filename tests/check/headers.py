# SPDX-License-Identifier: MIT
"""Each header of lib/ (or those given as arguments) compiles alone and when included twice. tests/abi checks the public
ones in more languages.
"""
import concurrent.futures
import os
import pathlib
import sys

import tap

FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
         "-I", tap.SOURCE / "lib", "-I", tap.SOURCE / "lib/include", "-x", "c", "-"]


def compile_alone(name):
    """Returns the compiler's messages for a file that only includes the header."""
    text = f'#include "{name.relative_to("lib")}"\n' * 2
    finished = tap.run(os.environ.get("CC", "cc"), *FLAGS, input=text)
    return name, finished.stderr.splitlines() if finished.returncode else []


def main():
    headers = [pathlib.PurePath(name) for name in sys.argv[1:]] or tap.files("lib/*/*.h")
    tap.ok("there are headers to look at", bool(headers))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, complaints in pool.map(compile_alone, headers):
            tap.ok(f"{name} compiles alone and twice", not complaints, complaints)
    tap.none("headers inside say #pragma once, public ones carry a guard",
             [f"{name}: begins without {opening}" for name in tap.files("lib/*.h", "lib/*/*.h", "lib/*/*/*.h")
              for opening in ["#ifndef SBX_" if name.parts[1] == "include" else "#pragma once"]
              if opening not in tap.read(name)])
    tap.done()


if __name__ == "__main__":
    main()
