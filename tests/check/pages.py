# SPDX-License-Identifier: MIT
"""sbx.conf(5) has the keys, choices and defaults of the program; sbx-frame-layout(7) has the bytes of the header; no
page loses a line.
"""
import json
import os
import re
import tempfile

import tap

CONFIG_PAGE, FRAME_PAGE = "man/sbx.conf.5.scd", "man/sbx-frame-layout.7.scd"
FRAME_HEADER = "lib/include/sbx/frame-layout.h"


def keys_of_page():
    """Returns {key: (choices, default, variable)}."""
    text = re.sub(r"\s+", " ", re.search(r"^# KEYS$(.*?)^# ", tap.read(CONFIG_PAGE), re.M | re.S).group(1))
    found = re.findall(r"\*(\w+)\* \(([^;)]*); default ([^)]*)\)(.*?)(?=(?: \*\w+\* \()|$)", text)
    return {key: ([word.strip("_ ") for word in choices.split(",")], default.strip("_"),
                  re.search(r"Variable: \*(\w+)\*", rest)[1]) for key, choices, default, rest in found}


def keys_of_program():
    """Returns the same from the output of "list" and from the errors for wrong values, without any configuration."""
    tool = tap.tools()["sbx-config"]
    with tempfile.TemporaryDirectory() as home:
        clean = {"env": {"PATH": os.environ["PATH"], "HOME": home}, "cwd": home}
        rows = [json.loads(line) for line in tap.must(tool, "--json", "list", **clean).splitlines()]
        for row in rows:
            variable = "SBX_" + row["key"].upper()
            refused = tap.run(tool, "--json", "list", cwd=home, env=clean["env"] | {variable: "no such choice"})
            why = json.loads(refused.stderr.splitlines()[-1])["why"] if refused.stderr else ""
            yield row["key"], (why.removeprefix("it must be one of: ").split(", "), row["value"], variable)


def header_numbers():
    return {name: int(number) for name, number in re.findall(r"#define SBX_FRAME_(\w+) (\d+)$", tap.read(FRAME_HEADER),
                                                             re.M)}


def parse(numbers, frame):
    """Returns (length, type, request id, payload) of the header."""
    def number(name, size):
        return int.from_bytes(frame[numbers[name]:numbers[name] + size], "little")
    return (number("LENGTH_OFFSET", 4), number("TYPE_OFFSET", 1), number("REQUEST_ID_OFFSET", 4),
            frame[numbers["PAYLOAD_OFFSET"]:])


def check_frame():
    text, numbers = tap.read(FRAME_PAGE), header_numbers()
    order = ["LENGTH_OFFSET", "TYPE_OFFSET", "REQUEST_ID_OFFSET", "PAYLOAD_OFFSET"]
    rows = re.findall(r"^\|  (\d+)\n:  ([^\n]+)\n", text, re.M)
    offsets = [numbers[name] for name in order]
    sizes = [str(after - before) for before, after in zip(offsets, offsets[1:])]
    wanted = list(zip(map(str, offsets), sizes + [f"length - {numbers['LENGTH_MIN']}"]))
    tap.ok(f"{FRAME_PAGE} has the offsets and sizes of the header", rows == wanted, [f"{rows}, not {wanted}"])
    tap.ok(f"{FRAME_PAGE} has the limits of the header",
           f"at least {numbers['LENGTH_MIN']}." in text and f"at most {numbers['PAYLOAD_MAX']} bytes" in text)
    example = re.search(r'Type (\d+), request (\d+), payload "(\w+)":\n\n```\n([0-9a-f ]+)\n```', text)
    kind, request, payload = int(example[1]), int(example[2]), example[3].encode()
    tap.ok(f"the bytes of the example in {FRAME_PAGE} are the frame that it speaks of",
           parse(numbers, bytes.fromhex(example[4])) == (len(payload) + numbers["LENGTH_MIN"], kind, request, payload))


def lost_lines():
    for page in tap.files("man/*.scd"):
        for number, line in enumerate(re.sub(r"^```.*?^```", lambda code: "\n" * code[0].count("\n"),
                                             tap.read(page), flags=re.M | re.S).splitlines(), 1):
            if re.match(r"\.\S", line):
                yield f"{page}:{number}: {line}"


def main():
    page, program = keys_of_page(), dict(keys_of_program())
    tap.ok("there are keys to compare", bool(page) and bool(program))
    for key in sorted(page.keys() | program.keys()):
        tap.ok(f"{CONFIG_PAGE} and sbx-config agree about {key}", page.get(key) == program.get(key),
               [f"the page: {page.get(key)}", f"the program: {program.get(key)}"])
    check_frame()
    tap.none("no line of a page begins with a dot, which roff takes for a request and leaves out", lost_lines())
    tap.done()


if __name__ == "__main__":
    main()
