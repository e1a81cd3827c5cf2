#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random git repositories below random grants: a command cannot change what git outside would execute.

Each case grants directories by options or by a policy with mounts, as root or as an ordinary user. Inside,
inside-repositories.py writes to, links, renames and replaces whatever it finds, under every name. Then protected files
must be unchanged outside, and what has changed under a policy must be allowed by sbx-policy eval. The seed is printed;
REPOSITORIES_SEED=N repeats a run, REPOSITORIES=N changes the number of cases. If CI is set the seed is 1.
"""
import json
import os
import pathlib
import random
import shutil
import stat
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["SBX_BUILD"])
INSIDE = pathlib.Path(__file__).with_name("inside-repositories.py")
PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
USER = 1000
CASES = int(os.environ.get("REPOSITORIES", "60"))


def below(path, directory):
    return path == directory or directory in path.parents


def is_git(path):
    return (path / "HEAD").exists() and (path / "objects").exists()


class Repository:
    """@names are protected wherever a writable directory shows them; @linked have repositories of their own."""

    def __init__(self, top, git, is_bare=False):
        self.top, self.git, self.is_bare = top, git, is_bare
        self.names, self.linked = [git] if is_bare else [git, top / ".git"], []

    def is_found_from(self, directory):
        return directory in (self.top, self.top.parent) or (not self.is_bare and below(directory, self.top))


class Scene:
    def __init__(self, top, rng):
        self.top, self.rng = top, rng
        self.roots = [top / "w", top / "v"]

    def place(self):
        return self.rng.choice(self.roots).joinpath(*self.rng.choices("abc", k=self.rng.choice([0, 1, 1, 1, 2, 2, 3])))

    def put(self, path, text="true\n"):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text(text)

    def put_git(self, directory, top, names):
        """A git directory; its configuration names files, relative to @top."""
        text = "[core]\n\trepositoryformatversion = 0\n"
        for key in self.rng.sample(["hooks", "fsmonitor", "include"], self.rng.randrange(3)):
            path = self.rng.choice([top, top / "b", top.parent if top not in self.roots else top]) / f"{key}.named"
            self.put(path / "pre-commit" if key == "hooks" else path, "")
            names.append(path)
            text += {"hooks": f"[core]\n\thooksPath = {os.path.relpath(path, top)}\n",
                     "fsmonitor": f"[core]\n\tfsmonitor = ./{os.path.relpath(path, top)}\n",
                     "include": f"[include]\n\tpath = {os.path.relpath(path, directory)}\n"}[key]
        for name in ("objects", "refs/heads", "hooks"):
            (directory / name).mkdir(parents=True, exist_ok=True)
        self.put(directory / "hooks/pre-commit")
        self.put(directory / "HEAD", "ref: refs/heads/main\n")
        self.put(directory / "config", text)

    def add_linked(self, main):
        tree, own = self.place() / "tree", main.git / "worktrees/tree"
        if tree.exists():
            return
        for path, text in {own / "gitdir": tree / ".git", own / "commondir": "../..", own / "HEAD": "ref: refs/heads/x",
                           tree / ".git": f"gitdir: {own}"}.items():
            self.put(path, f"{text}\n")
        linked = Repository(tree, main.git)
        main.linked.append(linked)
        if main.git.name == ".git":  # another one does not name its worktree
            linked.linked.append(main)

    def add_submodule(self, main):
        name = self.rng.choice(["sub", "a/sub"])
        sub = Repository(main.top / name, main.git / "modules" / name)
        if sub.top.exists():
            return
        self.put_git(sub.git, sub.top, sub.names)
        self.put(sub.top / ".git", f"gitdir: {sub.git}\n")
        self.put(main.top / ".gitmodules", f'[submodule "x"]\n\tpath = {name}\n\turl = x\n')
        main.names += [main.top / ".gitmodules", sub.top]
        main.linked.append(sub)

    def make(self):
        self.repositories = []
        for root in self.roots:
            shutil.rmtree(root, ignore_errors=True)
            self.put(root / "b/src/file")
        for _ in range(self.rng.randrange(1, 4)):
            top, kind = self.place(), self.rng.choice(["plain", "plain", "bare", "separate"])
            if any(below(top, one.top) and one.is_bare or top == one.top for one in self.repositories):
                continue
            one = Repository(top, {"plain": top / ".git", "bare": top, "separate": self.place() / "separate.git"}[kind],
                                     kind == "bare")
            if (one.git / "HEAD").exists() or kind == "bare" and top in self.roots:
                continue
            self.put_git(one.git, top, one.names)
            if kind == "separate":
                self.put(top / ".git", f"gitdir: {one.git}\n")
            for add in self.rng.sample([self.add_linked, self.add_submodule], self.rng.randrange(3)):
                if not (one.is_bare and add == self.add_submodule):
                    add(one)
            self.repositories += [one, *one.linked]

    def protected(self, written):
        """What no command that may write to the directories @written may change."""
        found = {one for one in self.repositories if any(one.is_found_from(path) for path in written)}
        while more := {other for one in found for other in one.linked} - found:
            found |= more
        trees = {one.top for one in self.repositories if not one.is_bare}
        names = [name for one in found for name in one.names
                 if not (name in trees and any(below(grant, name) for grant in written))]
        names += [path / name for path in written for name in ("config", "hooks", "modules") if is_git(path)]
        return {path for name in names for path in tree(name)
                if not any(below(path, grant) and below(grant, name) for grant in written)}


def state(path):
    status = path.lstat()
    is_file, is_directory = stat.S_ISREG(status.st_mode), stat.S_ISDIR(status.st_mode)
    return status.st_ino, path.read_bytes() if is_file else sorted(os.listdir(path)) if is_directory else b""


def tree(path):
    return {one: state(one) for one in [path, *path.rglob("*")] if os.path.lexists(one)}


def grants(scene, rng):
    """Arguments or a policy, and the granted directories: {path inside: path outside}."""
    directories = sorted(path for root in scene.roots for path in [root, *root.rglob("*")] if path.is_dir())
    plain = [path for path in directories if not any(is_git(up) for up in [path, *path.parents])]
    by_policy, words, rules, mounts, granted = rng.random() < 0.5, [], "", [], {}
    for _ in range(rng.randrange(1, 4)):
        path = rng.choice(plain if rng.random() < 0.8 and plain else directories)
        how = rng.choice(["write", "bind", "read"])
        target = rng.choice([scene.top / "m", scene.top / "m/a", pathlib.Path("/mnt"), rng.choice(directories)])
        if how == "bind" and target not in granted:
            granted[target] = path
            words += ["--bind", f"{path}:{target}:rw"]
            mounts.append(f"{{source: '{path}', target: '{target}', mode: rw}}")
        elif how != "bind" and path not in granted:
            granted |= {path: path} if how == "write" else {}
            words += [f"--{how}", str(path)]
            operations = "'fs.*'" if how == "write" else "[fs.read, fs.list, fs.exists]"
            rules += f"- {{name: '{len(rules)}', action: allow, match: {{op: {operations}, path: '{path}'}}}}\n"
    # In a directory that has another name, too, the command can rename what is on the way to a mount.
    if any(below(target, other) for target in granted for inside, other in granted.items() if inside != other):
        return grants(scene, rng)
    if not by_policy:
        return words, granted, None
    text = ("capabilities:\n- {name: system, action: allow, match: {op: [fs.read, fs.list, fs.exists, exec], path: "
            f"[/usr, /bin, /lib, /lib64, /etc]}}}}\n{rules}mounts: [{', '.join(mounts)}]\n")
    policy = scene.top / "policy.yaml"
    policy.write_text(text)
    return ["--policy", str(policy)], granted, policy


def run(scene, words, granted, user, seed):
    identity = {"user": USER, "group": USER, "extra_groups": []} if user and os.geteuid() == 0 else {}
    for one in [scene.top, *scene.top.rglob("*")] if identity else []:
        os.chown(one, USER, USER, follow_symlinks=False)
    private = str(scene.top / "run")
    return subprocess.run([BUILD / "tools/sbx-spawn", "--quiet", *words, "--", PYTHON, "-I", "-S", "-c",
                           INSIDE.read_text()],
                          env=dict(os.environ, HOME=private, XDG_RUNTIME_DIR=private, XDG_STATE_HOME=private),
                          input=json.dumps([seed, *{str(path) for path in (*granted, *scene.roots)}]), text=True,
                          capture_output=True, cwd=scene.top, timeout=300, check=False, **identity)


def find_denied(scene, before, granted, policy):
    """What has changed although sbx-policy eval denies writing to it under each of its names; and how much has."""
    after = {path: one for root in scene.roots for path, one in tree(root).items()}
    changed = [path for path in {*before, *after} if before.get(path) != after.get(path)
               and not (path.is_dir() and path in before and before[path][0] == after[path][0])]
    names = [(path, name) for path in changed
             for name in {path, *(inside / path.relative_to(outside) for inside, outside in granted.items()
                                  if below(path, outside))}]
    requests = [{"op": "fs.write", "path": str(name), "project": str(scene.top)} for _, name in names]
    done = subprocess.run([BUILD / "tools/sbx-policy", "eval", policy], text=True, capture_output=True, check=False,
                          input="".join(json.dumps(request) + "\n" for request in requests))
    verdicts = [json.loads(line)["verdict"] for line in done.stdout.splitlines()]
    allowed = {path for (path, _), verdict in zip(names, verdicts, strict=True) if verdict in ("allow", "warn")}
    return [f"{path} has changed, and eval denies fs.write" for path in changed if path not in allowed], len(changed)


def attack(scene, rng, user):
    """Returns the mistakes, and how many paths were protected and changed; None if the sandbox was refused."""
    scene.make()
    words, granted, policy = grants(scene, rng)
    guarded = scene.protected(list(granted.values()))
    before = {path: one for root in scene.roots for path, one in tree(root).items()}
    done = run(scene, words, granted, user, rng.randrange(1 << 30))
    if done.returncode == 125:
        return None
    mistakes, n_changed = find_denied(scene, before, granted, policy) if policy else ([], 0)
    mistakes += [f"{path} has changed" for path in sorted(guarded)
                 if not os.path.lexists(path) or state(path) != before[path]]
    mistakes += [f"status {done.returncode}: {done.stderr}"] if done.returncode != 0 else []
    told = policy.read_text() if policy else " ".join(words)
    return [f"{'user' if user else 'root'}: {one}\n{told}" for one in mistakes], len(guarded), n_changed


def main():
    default = 1 if "CI" in os.environ else random.SystemRandom().randrange(1 << 32)
    seed = int(os.environ.get("REPOSITORIES_SEED", str(default)))
    rng = random.Random(seed)
    print(f"# seed: REPOSITORIES_SEED={seed}")
    refused, carried_out, protected, changed, mistakes = 0, 0, 0, 0, []
    with tempfile.TemporaryDirectory(prefix="sbx-repositories-") as top:
        os.chmod(top, 0o755)
        scene = Scene(pathlib.Path(top), rng)
        (scene.top / "run").mkdir(mode=0o700)
        while carried_out < CASES and refused < 5 * CASES and len(mistakes) < 3:
            found = attack(scene, rng, os.geteuid() != 0 or rng.random() < 0.5)
            if found is None:
                refused += 1
                continue
            mistakes += found[0]
            carried_out, protected, changed = carried_out + 1, protected + found[1], changed + found[2]
    print(f"# {carried_out} sandboxes, {refused} refused, {protected} paths were protected, {changed} were changed")
    for mistake in mistakes[:6]:
        print("".join(f"# {line}\n" for line in mistake.splitlines()), end="")
    enough = carried_out >= CASES and min(protected, changed) > CASES
    print(f"{'not ok' if mistakes else 'ok'} 1 - no_protected_path_is_changed")
    print(f"{'ok' if mistakes or enough else 'not ok'} 2 - enough_is_tried\n1..2")
    sys.exit(0 if enough and not mistakes else 1)


if __name__ == "__main__":
    main()
