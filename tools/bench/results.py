"""The file of a run's numbers, which is written after each group so that an interrupted run keeps what it measured."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tools.bench.pair import Measured


@dataclass
class Results:
    """The numbers of a run.

    Args:
        file: the JSON file, if one was asked for.
        about: what was measured, and how.
    """

    file: Path | None
    about: dict[str, object]
    cases: list[dict[str, Any]] = field(default_factory=list)
    of_peak: dict[str, float] = field(default_factory=dict)
    pages: dict[str, float] = field(default_factory=dict)
    footprint: dict[str, float] = field(default_factory=dict)

    def add(self, measured: Iterable[Measured]) -> None:
        """Adds cases and writes the file."""
        self.cases += [asdict(m) | {"met": m.met} for m in measured]
        self.write()

    def write(self) -> None:
        """Writes the file, if there is one."""
        if self.file:
            numbers = {"of peak": self.of_peak, "pages": self.pages, "footprint": self.footprint}
            self.file.write_text(json.dumps({"about": self.about, "cases": self.cases, **numbers}, indent=1))
