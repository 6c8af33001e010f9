"""Rules for `#include`: a folder of csrc/ and a room of its kernels or operators include only folders to their left,
nothing goes round in a circle, and other packages see tl-core's `include/` only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tools.cycles import cycles
from tools.packages import ROOT, Package, packages

ROOMS = {
    "tl-core": [
        "stable_abi",
        "base",
        "tensor",
        "iter",
        "dispatch",
        "kernels",
        "ops",
        "c_abi",
        "profile",
        "bind",
    ],
    "tl-distributed": ["base", "store", "ranks", "local", "ucx", "network", "group", "ddp", "bind"],
}
FAMILIES = [
    *("elementwise", "reduce", "index", "sort", "random", "fft"),
    *("gemm", "linalg", "sparse", "conv", "norm", "attention", "spatial", "fused"),
]
INNER_ROOMS = {
    "csrc/kernels/cpu": ["simd", "loops", *FAMILIES],
    "csrc/ops": ["shared", "structure", *FAMILIES],
}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')
SUFFIXES = {".h", ".hpp", ".c", ".cpp"}

Found = tuple[Path, int, str]


def includes_of(file: Path) -> list[tuple[int, str]]:
    """(line, text) of each quoted include."""
    lines = enumerate(file.read_text(errors="replace").splitlines(), 1)
    return [(n, m[1]) for n, line in lines if (m := INCLUDE.match(line))]


def resolve(text: str, file: Path, folders: list[Path]) -> Path | None:
    """The file that an include names, or None if it is not in the repository (generated)."""
    for folder in (file.parent, *folders):
        if (folder / text).is_file():
            return (folder / text).resolve()
    return None


def room(file: Path, package: Package) -> str | None:
    """The folder of csrc/ a file lies in, for a package that has rooms."""
    parts = file.relative_to(package.folder).parts
    return parts[1] if package.dist in ROOMS and parts[0] == "csrc" and len(parts) > 2 else None


def inner_room(file: Path, package: Package) -> tuple[str, str] | None:
    """The folder of INNER_ROOMS that a file of tl-core lies in, and its room there; "" for a file beside the rooms."""
    path = file.relative_to(package.folder)
    for folder in INNER_ROOMS:
        if package.dist == "tl-core" and path.is_relative_to(folder):
            inside = path.relative_to(folder).parts
            return folder, inside[0] if len(inside) > 1 else ""
    return None


def files(package: Package) -> list[Path]:
    """The C and C++ files of a package."""
    folders = ("csrc", "include")
    return sorted(f for d in folders for f in (package.folder / d).rglob("*") if f.suffix in SUFFIXES)


def _wrong(package: Package, file: Path, text: str, target: Path | None, public: Path) -> str | None:
    if target is None:
        return f'includes "{text}" through its relative path' if text.startswith("..") else None
    if file.is_relative_to(public) and not target.is_relative_to(public):
        return f'"{text}" is not public: headers of include/ include only each other'
    if not target.is_relative_to(package.folder) and not target.is_relative_to(public):
        return f'"{text}" belongs to another package; only tl-core\'s include/ is for others'
    here = room(file, package)
    there = room(target, package) if target.is_relative_to(package.folder) else None
    if here is None or there is None:
        return None
    rooms = ROOMS[package.dist]
    for name in (here, there):
        if name not in rooms:
            return f"csrc/{name}/ is not one of the rooms {' '.join(rooms)}"
    if rooms.index(there) > rooms.index(here):
        return f'csrc/{here}/ may not include "{text}": {there}/ lies to its right'
    return _wrong_inner_room(inner_room(file, package), inner_room(target, package), text)


def _wrong_inner_room(here: tuple[str, str] | None, there: tuple[str, str] | None, text: str) -> str | None:
    if here is None or there is None or here[0] != there[0]:
        return None
    folder, rooms = here[0], INNER_ROOMS[here[0]]
    if here[1] in rooms and there[1] in rooms and rooms.index(there[1]) > rooms.index(here[1]):
        return f'{folder}/{here[1]}/ may not include "{text}": {there[1]}/ lies to its right'
    return None


def violations(root: Path = ROOT) -> Iterator[Found]:
    """Every include that breaks a rule."""
    public = (root / "packages" / "tl-core" / "include").resolve()
    for package in packages(root).values():
        graph: dict[Path, list[Path]] = {}
        for file in files(package):
            graph[file.resolve()] = targets = []
            if (inner := inner_room(file, package)) and inner[1] not in INNER_ROOMS[inner[0]]:
                yield file, 1, f"lies in none of the rooms of {inner[0]}/: {' '.join(INNER_ROOMS[inner[0]])}"
            for line, text in includes_of(file):
                target = resolve(text, file, [package.folder / "csrc", public])
                if message := _wrong(package, file, text, target, public):
                    yield file, line, message
                if target is not None:
                    targets.append(target)
        for cycle in cycles(graph):
            names = " -> ".join(str(f.relative_to(package.folder.resolve())) for f in cycle)
            yield cycle[0], 1, f"includes go round in a circle: {names}"
