# SPDX-License-Identifier: MIT
"""sbx-policy(5) documents exactly the keys, operations, built-in rules and warnings of the program."""
import json
import re

import tap

PAGE = "man/sbx-policy.5.scd"


def section(heading):
    """Returns the text after a heading, up to the next heading of any level."""
    parts = re.split(r"^##? (.+)$", tap.read(PAGE), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))[heading]


def keys_of_schema(node, path=""):
    """Yields each key that the schema allows, as a path: "[]" for items, "*" for any name."""
    if not isinstance(node, dict):
        return
    for option in node.get("oneOf", []) + node.get("anyOf", []):
        yield from keys_of_schema(option, path)
    for name, below in node.get("properties", {}).items():
        yield f"{path}.{name}".lstrip(".")
        yield from keys_of_schema(below, f"{path}.{name}".lstrip("."))
    yield from keys_of_schema(node.get("items"), path + "[]")
    if isinstance(node.get("additionalProperties"), dict):
        yield f"{path}.*"
        yield from keys_of_schema(node["additionalProperties"], f"{path}.*")


def keys_of_page():
    """Returns the same from the headings and terms of KEYS."""
    text = tap.read(PAGE)
    begin = re.search(r"^# KEYS$", text, re.M)
    end = re.search(r"^# UNITS$", text, re.M)
    for part in re.split(r"^## ", text[begin.end():end.start()], flags=re.M)[1:]:
        head, body = part.split("\n", 1)
        places = [""] if head == "At the top" else [place + "." for place in head.split(", ")]
        for line in re.findall(r"^(?:\*|_NAME_).*$", body, re.M):
            terms = re.findall(r"\*(\w+)\*|_(NAME)_", line.split(" (")[0])
            yield from (place + (name or "*") for place in places for name, own in terms)


def choices_of_schema(node):
    """Yields each word of an enum."""
    for below in node.values() if isinstance(node, dict) else node if isinstance(node, list) else []:
        yield from choices_of_schema(below)
    if isinstance(node, dict):
        yield from (word for word in node.get("enum", []) if isinstance(word, str))


def table(heading):
    """Returns the bold first cells of the table after a heading."""
    return re.findall(r"^\|  \*(.+)\*$", section(heading), re.M)


def strings(name, pattern):
    found = re.findall(pattern, tap.read(name))
    tap.ok(f"{name} has a table that this check can read", bool(found))
    return found


def agree(what, page, program):
    tap.none(f"the page and the program agree about {what}",
             [f"{entry}: the program has it, the page not" for entry in sorted(set(program) - set(page))]
             + [f"{entry}: the page has it, the program not" for entry in sorted(set(page) - set(program))])


def unread():
    """Yields each setting that no code reads or refuses by its name, its list's name or its section's prefix."""
    code = "".join(tap.read(name) for name in tap.files("*.c", "*.h")
                   if name.parts[0] in ("lib", "tools") and name.name not in ("keys.c", "merge.c"))
    for key in strings("lib/policy/keys.c", r'\{ "([\w.\[\]*]+)", KEY_\w+, [^,]*\bSET\b'):
        name = re.sub(r"\[\].*$", "", key)
        section = name.rpartition(".")[0]
        if not any(f'"{text}' in code for text in (name, section + ".*", section + ".") if len(text) > 2):
            yield key


def main():
    schema = json.loads(tap.must(tap.tools()["sbx-policy"], "schema"))
    program = {key for key in keys_of_schema(schema) if not key.endswith("[]")}
    tap.ok("the schema has keys", len(program) > 100)
    agree("the keys", set(keys_of_page()), program)
    marked = set(re.findall(r"[_*]\"?([\w-]+?)\"?[_*](?!\w)", tap.read(PAGE)))
    tap.none("the page has every word that a key may have",
             [f"{PAGE}: no '{word}'" for word in sorted(set(choices_of_schema(schema)) - marked - {""})])
    agree("the operations", table("OPERATIONS"),
          strings("lib/policy/model.c", r'\{ "([\w.]+)", CLASS_'))
    agree("the built-in rules", table("Built-in rules"),
          strings("lib/policy/guarded.c", r'\.name = "([^"]+)"')
          + strings("lib/policy/guarded.h", r'"(builtin:[^"]+)"')
          + strings("lib/policy/network.h", r'"(builtin:[^"]+)"'))
    agree("the warnings", table("WARNINGS"),
          [f"W{number:0>2}" for number in strings("lib/policy/check-internal.h", r"CHECK_\w+ = (\d+),")])
    tap.none("some code reads or refuses each setting", list(unread()))
    tap.done()


if __name__ == "__main__":
    main()
