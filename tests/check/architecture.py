# SPDX-License-Identifier: MIT
"""Reads architecture.tsv: which directory may include and link what, and what each tool links."""
import dataclasses

import tap

TABLE = "tests/check/architecture.tsv"


@dataclasses.dataclass
class Row:
    line: int
    name: str
    folders: list
    links: list

    @property
    def sonames(self):
        return {link for link in self.links if ":" not in link}

    @property
    def opens(self):
        return any(link.startswith("dlopen:") for link in self.links)


def read():
    """Returns ({name: Row} of the directories, {name: Row} of the tools, errors in the table itself)."""
    kinds, wrong = {"folder": {}, "tool": {}}, []
    for number, line in tap.lines(TABLE):
        if not line or line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) == 3:
            cells.append("-")
        if len(cells) != 4 or cells[0] not in kinds or not all(cells):
            wrong.append(f"{TABLE}:{number}: not a row of kind, name, folders and (if there are any) links")
            continue
        kind, name = cells[:2]
        folders, links = ([] if cell == "-" else cell.split(",") for cell in cells[2:])
        if name in kinds[kind]:
            wrong.append(f"{TABLE}:{number}: {kind} {name} stands there twice")
        wrong += [f"{TABLE}:{number}: {folder} has no row above this one, so that {name} may not stand on it"
                  for folder in folders if folder not in {"*", *kinds["folder"]}]
        kinds[kind][name] = Row(number, name, folders, links)
    return kinds["folder"], kinds["tool"], wrong
