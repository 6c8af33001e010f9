"""Which tests of a package reach a statement: a recording of one run of the tests.

A copy of the package calls `reach(probe)` of `tools.reach_plugin` before each statement of interest. A mutant of a
statement can only be killed by tests that reach the statement, so a run of the other tests is superfluous.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tools import reach_plugin

PLUGIN = Path(reach_plugin.__file__)
Statement = tuple[str, int]  # a file below the package's folder, and the first byte of a statement


def insert_probes(text: str, probes: dict[int, int]) -> str:
    """The text of a file that calls `reach` before statements.

    Args:
        text: the text of the file.
        probes: the number of the probe by the first byte of its statement.

    Example:
        >>> insert_probes("def f():\\n    return 1\\n", {13: 5})
        "def f():\\n    __import__('reach_plugin').reach(5)\\n    return 1\\n"
    """
    data = text.encode()
    for start in sorted(probes, reverse=True):
        indent = data[data.rfind(b"\n", 0, start) + 1 : start]
        end = b"; " if indent.strip() else b"\n" + indent
        call = f"__import__('reach_plugin').reach({probes[start]})".encode()
        data = data[:start] + call + end + data[start:]
    return data.decode()


@dataclass
class Reach:
    """The tests of a package with their times, and the tests that reach each recorded statement.

    Args:
        seconds: the time of each test by its name.
        failed: the tests that fail beside the probes.
        statements: the tests that reach a statement; the empty name stands for imports.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    statements: dict[Statement, set[str]] = field(default_factory=dict)

    def tests(self, statement: Statement | None) -> list[str]:
        """The tests that may reach a statement: all if imports reach it, or if the statement has no recording.

        Args:
            statement: the statement; None stands for code outside functions.
        """
        names = self.statements.get(statement, {""}) if statement else {""}
        return [test for test in self.seconds if "" in names or test in names or test in self.failed]

    def read(self, folder: Path, statements: list[Statement]) -> float:
        """Adds the files that a run of the tests with the plugin wrote; returns the seconds of its tests.

        Args:
            folder: the folder of the plugin's copy.
            statements: the statement of each probe.
        """
        names, total = {0: ""}, 0.0
        for line in (folder / "tests").read_text().splitlines():
            number, seconds, outcome, name = line.split(" ", 3)
            names[int(number)] = name
            self.seconds[name] = float(seconds)
            total += float(seconds)
            if outcome == "failed":
                self.failed.add(name)
        reached = defaultdict(set)
        for line in (folder / "pairs").read_text().splitlines() if (folder / "pairs").exists() else ():
            probe, test = map(int, line.split())
            reached[probe].add(names.get(test, ""))
        for probe, statement in enumerate(statements):
            self.statements.setdefault(statement, set()).update(reached[probe])
        return total


def prepare_recording(source: Path, folder: Path, statements: Iterable[Statement]) -> list[Statement]:
    """Marks statements of a copy of a package; returns the statement of each probe.

    Args:
        source: the folder of the copy of the package.
        folder: a folder on the path of the tests, for the plugin.
        statements: the statements.
    """
    order = sorted(set(statements))
    probes: dict[str, dict[int, int]] = defaultdict(dict)
    for number, (file, start) in enumerate(order):
        probes[file][start] = number
    for file, starts in probes.items():
        (source / file).write_text(insert_probes((source / file).read_text(), starts))
    copy_plugin(folder)
    (folder / "current").write_bytes(bytes(reach_plugin.SIZE))
    return order


def copy_plugin(folder: Path) -> None:
    """Copies the plugin to a folder on the path of the tests.

    Args:
        folder: the folder.
    """
    shutil.copy(PLUGIN, folder / PLUGIN.name)
