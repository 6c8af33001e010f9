"""The overhead cases on another commit of this repository: what a change does not use must cost nothing."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import venv
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from tools.bench import cases, graphs, transforms
from tools.bench.cases import Case, Group, Program
from tools.packages import ROOT

MEAN = 1.01  # of a group; a single case moves by more than that between two runs of one build
OVERHEAD = (cases.CALLS, cases.ITEM, cases.AUTOGRAD, cases.CHAIN,
            graphs.HANDLED, graphs.OVERRIDES, transforms.OVERHEAD)  # fmt: skip
ROUNDS, BUILDS = 9, 5  # more than against torch: the ratio to be told apart is 1 %


def parent_python(commit: str, root: Path = ROOT) -> Path:
    """The interpreter of an environment that holds the packages of a commit, which are built if they aren't there.

    Raises:
        SystemExit: `commit` names no commit of the repository.
    """
    name = f"{commit}^{{commit}}"
    parsed = subprocess.run(["git", "rev-parse", "--verify", "--quiet", name], cwd=root, capture_output=True)
    if parsed.returncode:
        raise SystemExit(f"--against: {commit!r} is no commit of this repository")
    identity = parsed.stdout.decode().strip()
    folder = root / ".nox" / "against" / identity[:12]
    python = folder / "venv" / "bin" / "python"
    stamp = folder / "installed.txt"
    if not stamp.exists():
        unpack(identity, folder / "tree", root)
        install(folder / "tree", python)
        stamp.write_text(identity)
    return python


def unpack(identity: str, tree: Path, root: Path) -> None:
    """Writes the files of a commit into a folder."""
    archive = subprocess.run(["git", "archive", identity], cwd=root, check=True, stdout=subprocess.PIPE)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(tree, filter="data")


def install(tree: Path, python: Path) -> None:
    """Builds the wheels of a tree with its own tools and installs them into a fresh environment."""
    built = subprocess.run(
        [sys.executable, "-m", "tools.wheels"], cwd=tree, check=True, stdout=subprocess.PIPE, text=True
    )
    venv.create(python.parent.parent, with_pip=True, clear=True)
    wheels = [line for line in built.stdout.splitlines() if line.endswith(".whl")]
    subprocess.run([python, "-m", "pip", "install", "--quiet", "numpy", *wheels], check=True)


def overhead(every: Iterable[Case]) -> Iterator[Case]:
    """The cases of overhead, with the bound that holds between two commits."""
    groups = {group: Group(group.name, mean=MEAN) for group in OVERHEAD}
    for case in every:
        if case.group in groups:
            yield replace(case, group=groups[case.group], bound=None, peer="", rounds=ROUNDS, builds=BUILDS)


def programs(every: Iterable[Program]) -> list[Program]:
    """Programs in fresh processes, with the bounds that hold between two commits."""
    return [replace(program, time=1.05, memory=MEAN) for program in every]
