# SPDX-License-Identifier: MIT
"""sbx-ring-layout(7), sbx-frame-layout(7) and ring-layout.json have the numbers of the headers and of the tables in
lib/ring, as the C compiler sees them. GOLDEN_UPDATE=1 writes ring-layout.json again.
"""
import json
import os
import pathlib
import re
import struct
import tempfile

import tap

LAYOUT, FRAME = "lib/include/sbx/ring-layout.h", "lib/include/sbx/frame-layout.h"
MESSAGES, ROWS, VIOLATIONS = "lib/ring/message.h", "lib/ring/message.c", "lib/ring/violation.h"
NAMES, TOOL_PAGE = "lib/ring/violation.c", "man/sbx-ring.1.scd"
JSON = "lib/include/sbx/ring-layout.json"
RING_PAGE, FRAME_PAGE = "man/sbx-ring-layout.7.scd", "man/sbx-frame-layout.7.scd"

ROW = re.compile(r'^\tROW\((\w+), (\w+), (\w+), (\w+), (\w+), "([^"]+)", (\w+)\),$', re.M)


def defined(header, prefix):
    """Returns the names of the #defines with a value, and of the enumerators, in order."""
    text = re.sub(r"\\\n", " ", tap.without_comments(tap.read(header)))
    found = re.findall(rf"^#define ({prefix}\w+)[ \t]+\S|^\t({prefix}\w+)(?: = \w+)?,", text, re.M)
    return [define or enumerator for define, enumerator in found]


def evaluate(includes, names, more=""):
    """Returns {name: number} by a C program."""
    lines = [f"#include <{name}>" for name in ("stdio.h", *includes)]
    lines += ["int main(void)", "{", *(f'\tprintf("{name} %llu\\n", (unsigned long long)({name}));' for name in names),
              "\treturn 0;", "}"]
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "numbers")
        tap.must(os.environ.get("CC", "cc"), "-std=gnu17", "-I", tap.SOURCE / "lib", "-I", tap.SOURCE / "lib/include",
                 "-x", "c", "-", "-o", program, input=more + "\n".join(lines) + "\n")
        return {name: int(number) for name, number in (line.split() for line in tap.must(program).splitlines())}


def numbers_of(header, prefix):
    names = defined(header, prefix)
    found = evaluate([header.removeprefix("lib/include/").removeprefix("lib/")], names)
    return {name.removeprefix(prefix): found[name] for name in names}


def types():
    """Returns {name: "u32" or "u64"} of the offsets whose comment begins with a type."""
    return dict(re.findall(r"^#define SBX_RING_(\w+_OFFSET) \d+\s*/\* (u\d+)\b", tap.read(LAYOUT), re.M))


def messages():
    """Returns the rows of the table, by their numbers."""
    numbers = numbers_of(MESSAGES, "MESSAGE_")
    text = tap.read(ROWS)
    sizes = "".join(f"{line}\n" for line in re.findall(r"^#define \w+ \d+", text, re.M))
    rows = ROW.findall(text)
    tap.ok(f"{ROWS} has rows that this check can read",
           len(rows) > 20 and len(rows) == len(re.findall(r"^\tROW\(", text, re.M)))
    named = sorted({size for row in rows for size in row[3:5] if not size.isdigit()})
    found = evaluate(["sbx/frame-layout.h"], named, sizes)
    found |= {size: int(size) for row in rows for size in row[3:5] if size.isdigit()}
    return sorted(({"type": numbers[name], "name": name, "sender": sender.lower(), "request_id": request.lower(),
                    "payload": payload.lower(), "min": found[least], "max": found[most], "meaning": meaning}
                   for sender, request, payload, least, most, meaning, name in rows), key=lambda row: row["type"])


def violations():
    """Returns {name: number}; the names are those of the table of names."""
    numbers = numbers_of(VIOLATIONS, "RING_")
    return {name: numbers[number] for number, name in
            re.findall(r'^\t\[RING_(\w+)\] = "(\w+)",$', tap.read(NAMES), re.M)}


def everything():
    return {"layout": numbers_of(LAYOUT, "SBX_RING_"), "types": types(),
            "frame": numbers_of(FRAME, "SBX_FRAME_"), "violations": violations(), "messages": messages()}


def printed(value):
    """Returns the text of the file: a line for each number and each message."""
    parts = []
    for name, below in value.items():
        rows = [json.dumps(row) for row in below] if isinstance(below, list) else \
               [f"{json.dumps(key)}: {json.dumps(number)}" for key, number in below.items()]
        first, last = "[]" if isinstance(below, list) else "{}"
        parts.append(f"\t{json.dumps(name)}: {first}\n\t\t" + ",\n\t\t".join(rows) + f"\n\t{last}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def section(page, heading):
    parts = re.split(r"^##? (.+)$", tap.read(page), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2])).get(heading, "")


def cells(text, n_cells):
    """Yields the rows of the tables of a section, as lists of cells without marks."""
    for row in re.findall(r"^\|  ([^\n]*(?:\n:  [^\n]*){%d})$" % (n_cells - 1), text, re.M):
        yield [cell.replace("*", "").replace("\\", "") for cell in row.split("\n:  ")]


def number(text):
    return int(text, 0) if re.fullmatch(r"0x[0-9a-f]+|\d+", text) else None


def check_ring_page(value):
    layout = value["layout"]
    rows = {row[1]: (number(row[0]), row[2]) for row in cells(tap.read(RING_PAGE), 3)}
    tap.none(f"{RING_PAGE} has each number of {LAYOUT}",
             [f"{name} is {wanted}, the page has {rows.get(name, ('nothing',))[0]}" for name, wanted in layout.items()
              if rows.get(name, (None,))[0] != wanted])
    tap.none(f"{RING_PAGE} has no number that is not in {LAYOUT}",
             [name for name in rows if name not in layout and re.fullmatch(r"[A-Z][A-Z0-9_]+", name)])
    tap.none(f"{RING_PAGE} has the types of {LAYOUT}",
             [f"{name}: {kind}" for name, kind in value["types"].items()
              if not rows.get(name, (None, ""))[1].startswith(kind + ":")])
    listed = {row[1]: number(row[0]) for row in cells(section(RING_PAGE, "VIOLATIONS"), 3)}
    tap.ok(f"{RING_PAGE} has the violations of {NAMES}", listed == value["violations"],
           [f"{name}: {listed.get(name)}, not {value['violations'].get(name)}"
            for name in sorted(listed.keys() | value["violations"].keys())
            if listed.get(name) != value["violations"].get(name)])


def check_violations():
    """What the other side did wrong stands in the header and in two pages, in the same words."""
    wanted = {name.lower(): " ".join(words.split()) for name, words in
              re.findall(r"^\tRING_(\w+),\s*/\* (.*?) \*/", tap.read(VIOLATIONS), re.M | re.S)}
    tap.ok(f"{VIOLATIONS} has comments that this check can read", len(wanted) == len(violations()))
    for page, n_cells in (RING_PAGE, 3), (TOOL_PAGE, 2):
        rows = [row[-2:] for row in cells(section(page, "VIOLATIONS"), n_cells)]
        found = {name.strip("_"): re.sub(r"\b_|_\b", "", words) for name, words in rows if name != "Name"}
        tap.none(f"{page} describes each violation in the words of {VIOLATIONS}",
                 [f"{name}: {found.get(name)!r}, not {words!r}" for name, words in wanted.items()
                  if found.get(name) != words])


def check_examples(layout):
    """The two examples of bytes are what the layout says."""
    blocks = [bytes.fromhex(text) for text in
              re.findall(r"^```\n((?:[0-9a-f]{2}\s+)+)```$", section(RING_PAGE, "EXAMPLES"), re.M)]
    capacity = layout["CAPACITY_MIN"]
    control = struct.pack("<IIQII", layout["MAGIC"], layout["VERSION"], layout["DATA_OFFSET"] + capacity,
                          layout["FLAG_CALL"] | layout["FLAG_CLIENT"], 1)
    record = struct.pack("<II8s", 2, layout["RECORD_BEGIN"] | layout["RECORD_END"], b"hi")
    tap.ok(f"the bytes of the examples in {RING_PAGE} are those of the layout", blocks == [control, record],
           [str(blocks)])


def check_frame_page(value):
    wanted = [[f"0x{row['type']:02x}", row["name"], row["sender"], row["request_id"],
               row["payload"] if row["max"] == 0 else f"{row['payload']}, {row['min']} to {row['max']}", row["meaning"]]
              for row in value["messages"]]
    found = list(cells(section(FRAME_PAGE, "MESSAGES"), 6))
    tap.none(f"{FRAME_PAGE} has the table of {ROWS}",
             [f"missing: {row}" for row in wanted if row not in found]
             + [f"not in the table: {row}" for row in found if row not in wanted])


def check_numbers(value):
    enum = numbers_of(MESSAGES, "MESSAGE_")
    listed = {row["name"]: row["type"] for row in value["messages"]}
    types_of_enum = re.search(r"^enum message_type \{(.*?)^\};", tap.read(MESSAGES), re.M | re.S)[1]
    names = re.findall(r"^\tMESSAGE_(\w+) = ", types_of_enum, re.M)
    tap.ok("each message type has a row and each row a type", sorted(names) == sorted(listed),
           sorted(set(names) ^ set(listed)))
    tap.ok("no two messages have one number", len({enum[name] for name in names}) == len(names))
    tap.ok("each violation has a name",
           sorted(value["violations"].values()) == list(range(1, numbers_of(VIOLATIONS, "RING_")["N_VIOLATIONS"])))


def check_corpus(value):
    first = {path.read_bytes()[0] for path in (tap.SOURCE / "tests/fuzz/corpus/ring-message").iterdir()}
    tap.none("each message type has a file in tests/fuzz/corpus/ring-message",
             [f"0x{row['type']:02x} {row['name']}" for row in value["messages"] if row["type"] not in first])


def main():
    value = everything()
    text = printed(value)
    if os.environ.get("GOLDEN_UPDATE") == "1":
        (tap.SOURCE / JSON).write_text(text, encoding="utf-8")
    tap.ok(f"{JSON} is what the headers and tables say; else: GOLDEN_UPDATE=1 ./dev test check/ring",
           tap.read(JSON) == text and json.loads(text) == value)
    check_numbers(value)
    check_ring_page(value)
    check_violations()
    check_examples(value["layout"])
    check_frame_page(value)
    check_corpus(value)
    tap.done()


if __name__ == "__main__":
    main()
