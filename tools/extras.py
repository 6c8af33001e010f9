"""`python -m tools.extras`: extras of the packages have one name and one bound for one library.

- A library has one range of versions in all extras and dependencies, with a lower bound.
- A library that is all of an extra is behind an extra of the same name in every package.
- tl-all has every extra of the other packages that users ask for, and its extra `all` names all of them.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tools.packages import ROOT, Package, packages

FACADE = "tl-all"
OURS = frozenset({"test", "test-bare", "fuzz"})  # extras of this repository's own work
PARTS = frozenset(
    {"nn", "checkpoint", "graph", "amp"}
)  # extras of packages of this repository, which tl-all depends on


def split(requirement: str) -> tuple[str, str]:
    """A requirement as name and range: `numpy>=1.26,<3` → `numpy`, `>=1.26,<3`."""
    words = re.fullmatch(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?\s*([^;]*).*", requirement)
    if words is None:
        raise ValueError(f"expected a requirement, got {requirement!r}")
    return words[1].lower(), words[2].strip()


def _bounds(every: list[Package], own: set[str]) -> Iterator[str]:
    ranges: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for package in every:
        for extra, requirements in package.extras.items():
            for name, bound in map(split, requirements):
                if name not in own:
                    ranges[name][bound].append(f"{package.dist}[{extra}]")
    for name, bounds in sorted(ranges.items()):
        if len(bounds) > 1:
            yield f"{name} has several ranges: {dict(bounds)}"
        if any(">=" not in bound and "==" not in bound for bound in bounds):
            yield f"{name} has no lower bound in {dict(bounds)}"


def _names(every: list[Package], own: set[str]) -> Iterator[str]:
    names: dict[str, set[str]] = defaultdict(set)
    for package in every:
        for extra, requirements in package.extras.items():
            (first, _), *more = map(split, requirements)
            if extra not in OURS and first not in own and not more:
                names[first].add(extra)
    for library, extras in sorted(names.items()):
        if len(extras) > 1:
            yield f"{library} is behind extras of several names: {', '.join(sorted(extras))}"


def _facade(every: list[Package]) -> Iterator[str]:
    (facade,) = (package for package in every if package.dist == FACADE)
    offered = set(facade.extras) - OURS
    for package in every:
        for extra in sorted(set(package.extras) - OURS - PARTS - offered):
            yield f"{FACADE} lacks the extra {extra} of {package.dist}"
    listed = set(
        re.findall(r"[a-z]+", "".join(re.findall(r"\[([^]]*)\]", facade.extras.get("all", [""])[0])))
    )
    if listed != offered - {"all"}:
        yield f"{FACADE}[all] differs from the other extras: {', '.join(sorted(listed ^ (offered - {'all'})))}"


def violations(root: Path = ROOT) -> list[str]:
    """The extras that break a rule."""
    every = list(packages(root).values())
    own = {package.dist for package in every}
    return [*_bounds(every, own), *_names(every, own), *_facade(every)]


def main() -> int:
    """Prints the violations. The exit status is 1 if there are any."""
    messages = violations()
    print("\n".join([*messages, f"{len(messages)} violations of the rules of extras"]))
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
