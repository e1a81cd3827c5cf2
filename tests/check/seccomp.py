# SPDX-License-Identifier: MIT
"""sbx-seccomp(7) has exactly the profiles, variants and rules of lib/filter, in their order."""
import re

import tap

PAGE, TABLE, HEADER = "man/sbx-seccomp.7.scd", "lib/filter/profile.c", "lib/filter/filter.h"

PROFILES = {"BOTH": "strict, standard", "STRICT": "strict", "STANDARD": "standard"}
ANSWERS = {"ALLOW": "allowed", "ASK": "asked"}
ROW = re.compile(r'\{\s*"(\w+)",\s*(\w+),\s*(\w+),\s*(\w+),\s*((?:"[^"]*"\s*)+),\s*(ALWAYS|WHEN\(.*?\)),'
                 r"\s*(ALLOW|ASK|REFUSE\(\w+\))\s*\}", re.S)
ENTRY = re.compile(r"^\*([a-z, ]+)\* \(([^)]*(?:\([^)]*\)[^)]*)*)\)\n((?:\t.+\n)+)", re.M)
# Constants of a condition that the page must name; masks and what macros stand for are described in prose.
CONSTANT = re.compile(r"\b(?:(?:MFD|O|PR|PTRACE|SECCOMP|MSG|IPPROTO|TCP|AF|NETLINK)_[A-Z0-9_]+|(?:TC|TIOC|FIO)[A-Z]+)\b")
IN_PROSE = {"O_ACCMODE"}


def variant(name):
    return name.removeprefix("FILTER_").lower().replace("_", "-")


def rules_of_table():
    """Returns (set, profiles, answer and variants, has a condition, calls) in order, and the conditions."""
    body = tap.read(TABLE).split("filter_rules[] = {")[1]
    for name, profiles, on, off, calls, when, answer in ROW.findall(body):
        parts = [ANSWERS.get(answer) or answer[len("REFUSE("):-1]]
        parts += [f"with {variant(on)}"] if on != "0" else []
        parts += [f"without {variant(off)}"] if off != "0" else []
        yield (name, PROFILES[profiles], "; ".join(parts), when != "ALWAYS",
               " ".join("".join(re.findall(r'"([^"]*)"', calls)).split())), when


def rules_of_page():
    text = re.search(r"^# CALLS$(.*?)^# ", tap.read(PAGE), re.M | re.S)[1].replace("\\", "")
    parts = re.split(r"^## (.+)$", text, flags=re.M)
    for name, body in zip(parts[1::2], parts[2::2]):
        for profiles, how, calls in ENTRY.findall(body):
            answer, _, condition = how.partition("; if ")
            yield (name, profiles, answer, bool(condition), " ".join(calls.split())), condition


def entries(heading):
    """Returns the terms below a heading of the page."""
    body = re.search(rf"^## {heading}$(.*?)^#", tap.read(PAGE), re.M | re.S)[1]
    return re.findall(r"^\*([\w-]+)\*$", body, re.M)


def main():
    table, page = list(rules_of_table()), list(rules_of_page())
    written = len(re.findall(r'^\t\{ "', tap.read(TABLE).split("filter_rules[] = {")[1], re.M))
    tap.ok("this check can read every rule of the table", len(table) == written > 50,
           [f"{TABLE}: {written} rules are written there, {len(table)} were read"])
    missing = [rule for rule, _ in table if rule not in dict(page)]
    extra = [rule for rule, _ in page if rule not in dict(table)]
    tap.none(f"{PAGE} has the rules of the program",
             [f"the program has it, the page not: {rule}" for rule in missing]
             + [f"the page has it, the program not: {rule}" for rule in extra])
    tap.ok(f"{PAGE} has them in the order in which they answer",
           [rule for rule, _ in table] == [rule for rule, _ in page])
    tap.none(f"{PAGE} names what each condition is about",
             [f"{rule[4]}: '{condition}' says nothing of {word}"
              for (rule, when), (_, condition) in zip(table, page)
              for word in set(CONSTANT.findall(when)) - IN_PROSE if word not in condition])
    profiles = re.findall(r'^\t\{ "(\w+)", FILTER_\w+ \},$', tap.read(TABLE), re.M)
    tap.ok(f"{PAGE} has the profiles", entries("Profiles") == profiles != [])
    variants = [variant(name) for name in re.findall(r"^\t(FILTER_\w+) =?\s*\n?\s*=?\s*1 << \d", tap.read(HEADER), re.M)
                if name != "FILTER_VARIANTS"]
    tap.ok(f"{PAGE} has the variants", entries("Variants") == variants != [], [f"{HEADER} has {variants}"])
    tap.done()


if __name__ == "__main__":
    main()
