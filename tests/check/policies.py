# SPDX-License-Identifier: MIT
"""Each policy of policies/ is installed, listed, explained at its top, and has its own requests as tests."""
import re

import tap

LISTS = {
    "policies/meson.build": r"^  '([\w-]+\.yaml)',$",
    "policies/README.md": r"^\| `([\w-]+\.yaml)` \|",
    "man/sbx-policy.5.scd": r"^\t- \*([\w-]+\.yaml)\*:",
}
OPENING = ["{name}: ", "For: ", "Who: ", "It does not: "]
TEMPLATES = {  # limits on which users of a template rely
    "ai-provider": ["memory: 256MiB", "cpu: 0.5", "pids: 10", "time: 120s", "mode: proxy", "seccomp: strict"],
    "code-executor": ["memory: 1GiB", "cpu: 1.0", "pids: 100", "time: 300s", "mode: none", "seccomp: standard"],
    "policy-sandbox": ["memory: 128MiB", "cpu: 0.25", "pids: 5", "mode: none", "seccomp: strict"],
}
REQUESTS_MIN = 5


def main():
    policies = tap.files("policies/*.yaml")
    names = sorted(policy.name for policy in policies)
    tap.ok("there are policies to look at", bool(policies))
    for place, pattern in LISTS.items():
        listed = re.findall(pattern, tap.read(place), re.M)
        tap.ok(f"{place} lists every policy once", sorted(listed) == names, sorted(set(listed) ^ set(names)))
    for policy in policies:
        head, body = tap.read(policy).split("\nversion: ")
        tap.none(f"{policy} opens with what it is for, for whom, and what it does not do",
                 [f"{policy}: no '{mark}'" for mark in (mark.format(name=policy.stem) for mark in OPENING)
                  if f"\n# {mark}" not in head])
        tap.ok(f"{policy} runs where a limit cannot be held", "mode: best-effort" in body)
        tap.ok(f"{policy} has examples of both kinds", "match: " in body and "not_match: " in body)
    for name, words in TEMPLATES.items():
        tap.none(f"the template {name} has its numbers",
                 [f"policies/{name}.yaml: no '{word}'" for word in words
                  if not re.search(rf"\b{re.escape(word)}(?![\w.])", tap.read(f"policies/{name}.yaml"))])
    for policy in policies:
        requests = f"tests/policy/{policy.name}"
        tap.ok(f"{requests} has at least {REQUESTS_MIN} requests",
               tap.read(requests).count("\n    request: ") >= REQUESTS_MIN)
    tap.done()


if __name__ == "__main__":
    main()
