# SPDX-License-Identifier: MIT
"""sbx-policy-artefact(7) documents each byte of lib/policy/artefact.h as the C compiler lays it out."""
import re

import tap

PAGE, HEADER = "man/sbx-policy-artefact.7.scd", "lib/policy/artefact.h"
SIZES = {"uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "uint64_t": 8, "struct artefact_span": 8,
         "struct artefact_value": 24}
ALIGNS = {**SIZES, "struct artefact_span": 4, "struct artefact_value": 8}


def enumerators(text):
    """Returns {name: number} of all enums and numeric #defines."""
    numbers = {}
    for body in re.findall(r"^enum \w+ \{(.*?)^\};", text, re.M | re.S):
        value = 0
        for name, given in re.findall(r"(\w+)(?: = ([^,]+))?,", body):
            parts = re.findall(r"\w+", given)
            value = sum(numbers.get(part) if part in numbers else int(part) for part in parts) if parts else value
            numbers[name] = value
            value += 1
    return numbers


def structs():
    """Yields (name, [(offset, size, member)]) for each row of a section, and for the header."""
    text = tap.without_comments(tap.read(HEADER))
    numbers = enumerators(text)
    for name, body in re.findall(r"^struct artefact_(\w+) \{(.*?)^\};", text, re.M | re.S):
        rows, offset = [], 0
        for kind, member, count in re.findall(r"((?:struct )?\w+) (\w+)(?:\[(\w+)\])?;", body):
            if kind not in SIZES:
                tap.bail_out(f"{HEADER}: a member of struct artefact_{name} has the type {kind}")
            count = numbers.get(count) or int(count or 1)
            offset = -(-offset // ALIGNS[kind]) * ALIGNS[kind]
            rows.append((offset, SIZES[kind] * count, member))
            offset += SIZES[kind] * count
        if rows:
            yield name, rows


def rows_of_page(heading):
    parts = re.split(r"^##? (.+)$", tap.read(PAGE), flags=re.M)
    section = dict(zip(parts[1::2], parts[2::2])).get(heading, "")
    return [(int(offset), int(size), member) for offset, size, member
            in re.findall(r"^\|  (\d+)\n:  (\d+)\n:  \*(\w+)\*\n:  \S", section, re.M)]


def main():
    found = [row for row in structs() if row[0] not in {"span"}]
    tap.ok("the header has structs", len(found) > 5)
    for name, rows in found:
        tap.ok(f"{PAGE} has the bytes of struct artefact_{name}", rows_of_page(f"struct artefact_{name}") == rows,
               [f"offset {offset}, {size} bytes: {member}" for offset, size, member in rows])
    text = tap.without_comments(tap.read(HEADER))
    numbers = enumerators(text)
    sections = [name for name in numbers if name.startswith("SECTION_")]
    listed = re.findall(r"^\|  (\d+)\n:  \*(\w+)\*\n:  \S", tap.read(PAGE), re.M)
    tap.ok(f"{PAGE} numbers the sections",
           [(numbers[name], name.removeprefix("SECTION_").lower()) for name in sections]
           == [(int(number), name) for number, name in listed], sections)
    magic = re.search(r"ARTEFACT_MAGIC 0x(\w+)ull", tap.read(HEADER)).group(1)
    in_bytes = " ".join(magic[i:i + 2] for i in range(14, -1, -2))
    tap.ok(f"{PAGE} has the first bytes", in_bytes in tap.read(PAGE), [in_bytes])
    tap.done()


if __name__ == "__main__":
    main()
