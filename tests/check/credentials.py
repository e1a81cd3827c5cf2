# SPDX-License-Identifier: MIT
"""sbx-spawn(1) lists exactly the credentials and startup files of the table."""
import os
import re

import tap

TABLE = "lib/policy/credentials.c"
PAGE = "man/sbx-spawn.1.scd"
# The paragraphs that end with a colon, in order: which table, and the kind of its rows.
LISTS = [("of_home", "SECRET"), ("of_home", "BOTH"), ("of_home", "STARTUP"), ("of_runtime", None), ("of_root", None)]


def rows(table, kind):
    body = re.search(r"credential_row " + table + r"\[\] = \{(.*?)\n\};", tap.read(TABLE), re.S).group(1)
    return [path for path, of in re.findall(r'\{ "([^"]+)", (\w+) \}', body) if kind in (None, of)]


def misplaced(table):
    """Returns rows that no path can match, duplicates, and rows that another row hides completely."""
    hiding = rows(table, "SECRET") + rows(table, "BOTH") + rows(table, "SOCKET")
    for path in rows(table, None):
        if path != os.path.normpath(path).lstrip("/") or path.startswith(".."):
            yield f"{table}: '{path}' is not a normal path below its place"
        if rows(table, None).count(path) > 1:
            yield f"{table}: '{path}' has two rows"
        yield from (f"{table}: '{path}' lies in '{other}', which is hidden"
                    for other in hiding if path.startswith(other + "/"))


def listed():
    section = re.search(r"^# CREDENTIALS$(.*?)^# ", tap.read(PAGE), re.S | re.M).group(1)
    paragraphs = [part.strip() for part in section.split("\n\n")]
    for intro, items in zip(paragraphs, paragraphs[1:]):
        if intro.endswith(":"):
            yield [item.replace("\\_", "_") for item in re.findall(r"_((?:\\_|[^_])+)_(?=[,.])", items)]


def main():
    pages = list(listed())
    tap.ok("sbx-spawn(1) has a list for each kind of row", len(pages) == len(LISTS))
    for table in ["of_home", "of_runtime", "of_root"]:
        tap.none(f"{table} has each path once", misplaced(table))
    for (table, kind), page in zip(LISTS, pages):
        tap.none(f"the page and {table} agree about {kind or 'its rows'}", set(rows(table, kind)) ^ set(page))
    tap.done()


if __name__ == "__main__":
    main()
