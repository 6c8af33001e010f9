"""Runs PyTorch's tests of quantization by PyTorch and by tl: the share of what PyTorch passes.

    python -m tools.peer_quantization FOLDER --peer-python PYTHON [--results FOLDER] [-k EXPRESSION] [NAME ...]

FOLDER is the folder `test` of PyTorch's sources, of which nothing is kept here:
`git clone --depth 1 --branch v2.6.0 https://github.com/pytorch/pytorch`, or the source package of a distribution.
Helpers of the tests are those of PyTorch's wheel. The suite `pt2e` imports names that PyTorch has removed: torchao,
beside PyTorch, answers them there. PYTHON also needs pytest, hypothesis and expecttest. `exceptions.toml` has the
reasons of tests that tl does not pass.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tools.peer_tests.files import File, Outcome

AT_LEAST = 95  # per cent
WHEEL = "import torch.testing._internal as d; print(list(d.__path__)[0])"
PLUGIN = "tools.peer_quantization.plugin"


@dataclass(frozen=True)
class Suite:
    """Files that count together.

    Attributes:
        files: patterns of their names below the folder of tests.
        has_successor: whether the files import names that torchao answers.
    """

    files: tuple[str, ...]
    has_successor: bool = False


SUITES = {
    "core": Suite(("quantization/core/test_*.py",)),
    "eager": Suite(("quantization/eager/test_*.py",)),
    "fx": Suite(("quantization/fx/test_*.py",)),
    "migration": Suite(("quantization/ao_migration/test_*.py", "quantization/bc/test_*.py")),
    "sparsity": Suite(("ao/sparsity/test_*.py",)),
    "pt2e": Suite(("quantization/pt2e/test_*.py",), has_successor=True),
}


class Run:
    """The outcomes of a module, which a file keeps for later runs."""

    def __init__(self, module: str, python: str, wheel: str, options: argparse.Namespace):
        self.module = module
        self._python, self._wheel, self._options = python, wheel, options

    def outcome(self, suite: Suite, file: str) -> Outcome:
        """What became of the tests of a file.

        Args:
            suite: the suite of the file.
            file: the file, relative to the folder of tests.
        """
        kept = self._options.results / self.module / f"{file.replace('/', '.')}.json"
        if kept.exists():
            return Outcome(file, **json.loads(kept.read_text()))
        variables = {"TL_PEER_MODULE": self.module, "TL_PEER_WHEEL": self._wheel}
        variables |= {"TL_PEER_SUCCESSOR": "1"} if suite.has_successor else {}
        variables["TL_PEER_SECONDS"] = str(self._options.seconds)
        test = File(
            self._options.folder, file, self._options.limit, self._options.k, self._python, PLUGIN, variables
        )
        outcome = test.run()
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(
            json.dumps({key: value for key, value in vars(outcome).items() if key != "file"}, indent=1)
        )
        return outcome


def files_of(suite: Suite, folder: Path) -> list[str]:
    """The files of a suite, relative to the folder.

    Args:
        suite: the suite.
        folder: the folder of tests.
    """
    return sorted(str(path.relative_to(folder)) for pattern in suite.files for path in folder.glob(pattern))


def exceptions() -> dict[str, str]:
    """The reasons of tests that need not pass, by name."""
    tables = tomllib.loads(Path(__file__).with_name("exceptions.toml").read_text())
    return {name: table["reason"] for table in tables["exceptions"] for name in table["tests"]}


def compare(name: str, runs: Iterable[Run], folder: Path) -> tuple[int, int]:
    """Runs a suite by both and prints what only PyTorch passes.

    Args:
        name: the suite.
        runs: PyTorch's and tl's.
        folder: the folder of tests.

    Returns:
        How many tests tl passes, of how many that PyTorch passes.
    """
    peer, own = runs
    reasons = exceptions()
    count, equal = 0, 0
    for file in files_of(SUITES[name], folder):
        expected = {test for test, word in peer.outcome(SUITES[name], file).tests.items() if word == "passed"}
        outcome = own.outcome(SUITES[name], file)
        failed = sorted(test for test in expected if outcome.tests.get(test) != "passed")
        print(f"  {file}: {len(expected) - len(failed)} of {len(expected)}", flush=True)
        if outcome.problem and expected:
            print(f"    {outcome.problem.strip()[-400:]}", flush=True)
        for test in failed:
            word = reasons.get(test.partition("::")[2]) or outcome.reasons.get(test, "")
            print(f"    {outcome.tests.get(test, 'not run')} {test.partition('::')[2]}: {_first_line(word)}")
        count, equal = count + len(expected), equal + len(expected) - len(failed)
    return equal, count


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:200]


def main() -> int:
    """Runs the suites that are named, or all."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.peer_quantization", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("folder", type=Path, help="the folder `test` of PyTorch's sources")
    parser.add_argument("names", nargs="*", help="the suites; all by default")
    parser.add_argument("--peer-python", required=True, help="the interpreter that has PyTorch")
    parser.add_argument("--results", type=Path, help="a folder for outcomes, which later runs continue")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for a file")
    parser.add_argument("--seconds", type=int, default=120, help="seconds for a test")
    parser.add_argument("-k", default="", metavar="EXPRESSION", help="the tests that pytest's -k chooses")
    options = parser.parse_intermixed_args()
    if unknown := {*options.names} - {*SUITES}:
        parser.error(f"there is no suite {', '.join(sorted(unknown))}, only {', '.join(SUITES)}")
    options.folder = options.folder.resolve()
    if not (options.folder / "quantization").is_dir():
        parser.error(
            f"{options.folder} holds no folder quantization: FOLDER is the folder `test` of PyTorch's sources"
        )
    wheel = subprocess.run([options.peer_python, "-c", WHEEL], capture_output=True, text=True, check=True)
    with tempfile.TemporaryDirectory() as folder:
        options.results = options.results or Path(folder)
        runs = [
            Run(module, python, wheel.stdout.strip(), options)
            for module, python in (("torch", options.peer_python), ("tl", sys.executable))
        ]
        missed = []
        for name in options.names or SUITES:
            equal, count = compare(name, runs, options.folder)
            share = 100 * equal / max(1, count)
            print(f"{name}: {equal} of {count} that PyTorch passes ({share:.1f} %)", flush=True)
            if share < AT_LEAST:
                missed.append(name)
    if missed:
        print(f"below {AT_LEAST} %: {', '.join(missed)}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
