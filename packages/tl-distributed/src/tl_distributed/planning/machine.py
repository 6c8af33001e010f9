"""Machines: the speed of their processors and links, read from small files."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path

_FOLDER = Path(__file__).parent / "machines"


@dataclass(frozen=True)
class Machine:
    """A machine with several processors.

    Args:
        ranks: the number of processors.
        operations: the most floating-point operations of a processor in a second.
        efficiency: the part of them that very wide products reach.
        half_width: the width at which products reach half of that.
        memory: bytes that a processor reads in a second.
        inside: bytes that a processor sends to others of the machine in a second.
        between: bytes that a processor sends to other machines in a second.
        capacity: bytes of a processor's memory.
    """

    ranks: int
    operations: float
    efficiency: float
    half_width: float
    memory: float
    inside: float
    between: float
    capacity: float

    def speed(self, width: float) -> float:
        """The floating-point operations of a processor in a second, in products of a width."""
        return self.operations * self.efficiency * width / (width + self.half_width)


def machine(name: str) -> Machine:
    """A machine by name, or from a file.

    Args:
        name: `a100x8`, `h100x8` or the path of a TOML file with the attributes of `Machine`.

    Raises:
        ValueError: there is no such machine, or the file lacks an attribute.

    Example:
        >>> machine("a100x8").ranks
        8
    """
    path = _FOLDER / f"{name}.toml"
    if not path.exists():
        path = Path(name)
    if not path.is_file():
        shipped = ", ".join(sorted(each.stem for each in _FOLDER.glob("*.toml")))
        raise ValueError(f"machine: no machine or file is called {name!r}; known: {shipped}")
    values = tomllib.loads(path.read_text())
    names = {field.name for field in fields(Machine)}
    if set(values) != names:
        raise ValueError(
            f"machine {name}: expected {sorted(names)}, missing {sorted(names - set(values))}, "
            f"unknown {sorted(set(values) - names)}"
        )
    return Machine(**values)
