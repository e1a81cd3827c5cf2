# SPDX-License-Identifier: MIT
# policy-random.py SEED N: makes N random policies and compares sbx-policy check with sbx-spawn --print-plan, which must
# refuse the same ones, by a line that check names. Prints each difference with its policy. Check is about every host and
# every command: FORGIVEN names the refusals of sbx-spawn that it cannot foresee.
import random
import re
import subprocess
import sys
import tempfile

OPERATIONS = ["fs.read", "fs.list", "fs.exists", "exec", "net.connect", "net.bind", "git.commit", "fs.*", "net.*", "'*'"]
PATHS = ["path: /usr", "path: ./src", "path: [./src/a, /usr/lib]", "path: cc", "path: []", "path_glob: 'src/*.c'",
         "path_glob: [src/**, '!src/a/']", "path_glob: Makefile", "path_glob: ./src/", "path: /proc/self/environ", "path: /proc/cpuinfo",
         "path: /mnt"]
KEYS = ["host: a.example", "cidr: 10.0.0.0/8", "ports: 443", "ports: 4000", "host: localhost", "caller: me", "caller_tag: [t]", "state: x"]
CONSTRAINTS = ["require_capability_token: true", "require_sandbox: L2", "sha256: " + "a" * 64, "max_file_size: 1MiB", "tls: any"]
ACTIONS = ["allow"] * 4 + ["deny"] * 3 + ["warn", "require_review", "pass"]
SYSTEM = (" - {name: system, match: {op: [fs.read, fs.list, fs.exists, exec], path: [/usr, /bin, /lib, /lib64]},"
          " action: allow}\n")
MOUNTS = ["{target: /mnt, source: /usr, mode: ro}", "{target: ./src, mode: rw}", "{target: ./src/a, mode: tmpfs}",
          "{target: /usr/lib, mode: mask}", "{target: /proc/self/environ, mode: mask}",
          "{target: ./none, mode: ro, optional: true}", "{target: ./src, mode: overlay}"]
PORTS = [[4000], [4001], [4000, 4001], list(range(4000, 4032)), list(range(4000, 4033))]
MODES = ["none", "none", "host", "proxy", "veth", "transparent"]

# What sbx-spawn says, what the policy has then, and why check does not refuse it.
FORGIVEN = [
    (r"sbx-spawn: cannot execute '(/usr/bin/)?true'", r"", "under the policy another command may start"),
    (r"sbx-spawn: cannot enforce (what|that) \S+ '(r\d|mounts)' (denies|allows no more) at '", r"",
     "a host without the path, or with a file there, needs no step for it"),
    (r"sbx-spawn: cannot show '\S+/src' for \S+ 'mounts\[\d\].target'\n  why: \S+ 'r\d' denies it", r"src/\*\*",
     "where ./src is a file, nothing is below it that could be denied"),
    (r"sbx-spawn: cannot show '\S+' to the sandbox\n  why: \S+ 'mounts\S+ names it, and it does not exist\n", r"mounts",
     "a host that has the path starts it"),
]


def condition(rng, operations):
    keys = []
    if rng.random() < operations:
        keys.append(f"op: [{', '.join(rng.sample(OPERATIONS, rng.choice([1, 1, 2])))}]")
    if rng.random() < 0.6:
        keys.append(rng.choice(PATHS))
    if rng.random() < 0.25:
        keys.append(rng.choice(KEYS))
    return "{" + ", ".join(keys) + "}"


def rule(rng, number):
    text = f" - name: r{number}\n   match: {condition(rng, 1)}\n   action: {rng.choice(ACTIONS)}\n"
    exception = condition(rng, 0.4)
    if rng.random() < 0.3 and exception != "{}":
        text += f"   except: [{exception}]\n"
    if rng.random() < 0.15:
        text += f"   constraints: {{{rng.choice(CONSTRAINTS)}}}\n"
    return text


def policy(rng):
    text = "capabilities:\n" + SYSTEM + "".join(rule(rng, i) for i in range(rng.choice([1, 1, 2])))
    net = []
    if rng.random() < 0.4:
        net.append(f"mode: {rng.choice(MODES)}")
    if rng.random() < 0.1:
        net.append(f"loopback: {{connect: {rng.choice(PORTS)}, bind: {rng.choice(PORTS)}}}")
    if net:
        text += f"net: {{{', '.join(net)}}}\n"
    if rng.random() < 0.2:
        text += f"mounts: [{', '.join(rng.sample(MOUNTS, rng.choice([1, 1, 2])))}]\n"
    if rng.random() < 0.1:
        text += f"hostname: {'a' * rng.choice([1, 64, 65])}\n"
    if rng.random() < 0.1:
        text += (f"defaults: {{{rng.choice(['fs', 'net', 'exec', 'tool'])}: "
                 f"{rng.choice(['deny', 'warn', 'allow', 'require_review'])}}}\n")
    if rng.random() < 0.1:
        text += f"isolation: {{{rng.choice(['nested: true', 'template: ai-provider', 'template: code-executor'])}}}\n"
    return text


def is_forgiven(stderr, text):
    return any(re.match(said, stderr) and re.search(has, text) for said, has, _ in FORGIVEN)


def compare(path, text):
    check = subprocess.run(["sbx-policy", "check", path], capture_output=True, text=True, check=False)
    if check.returncode == 2:
        return None  # for example an exception that covers nothing
    spawn = subprocess.run(["sbx-spawn", "--policy", path, "--print-plan", "--", "true"], capture_output=True,
                           text=True, check=False)
    is_refused = check.returncode == 4
    if is_refused:
        place = re.match(r"sbx-spawn: .*" + re.escape(path) + r":(\d+)(: | 'mounts| 'net\.loopback| 'isolation\.nested)", spawn.stderr)
        agrees = place and re.search(rf"p\.yaml:{place.group(1)}:\d+: refused W", check.stdout)
    else:
        agrees = spawn.returncode == 0 or is_forgiven(spawn.stderr, text)
    if not agrees:
        return f"check ended with {check.returncode}:\n{check.stdout}{spawn.stderr}"
    return is_refused


def main():
    rng = random.Random(int(sys.argv[1]))
    counts = {True: 0, False: 0}
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/p.yaml"
        for _ in range(int(sys.argv[2])):
            text = policy(rng)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            answer = compare(path, text)
            if isinstance(answer, str):
                sys.exit(f"seed {sys.argv[1]}\n{text}{answer}")
            if answer is not None:
                counts[answer] += 1
    print(f"{counts[True]} refused, {counts[False]} not")
    return 0 if min(counts.values()) > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
