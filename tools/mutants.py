"""`python -m tools.mutants PACKAGE [COUNT] [SEED]`: the share of random mutants that a package's own tests kill.

A mutant is the package with one changed operator, condition, constant, return or statement (`tools.mutations`). Python
sources outside `compat/` are mutated. Each mutant is a copy of the installed package in a temporary folder that comes
first on the path, beside a copy of the tests, so the working tree never changes. One run of all tests records the tests
that reach each changed statement (`tools.reach`), and only these run, first those whose file names the module, class or
function of the change. Changes outside functions run all tests. A mutant that a test fails on, or that exceeds the time
limit, is killed. Tests beyond BUDGET seconds of the recording are left out, and the survivor says so. Survivors are
printed as diffs. Survivors that no test can tell from the package are listed in `mutants.toml`, with a reason, and
count as equivalent. The exit status is 1 if less than 85 % of the others are killed.
"""

from __future__ import annotations

import difflib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path

from tools.mutations import Mutation, mutations
from tools.packages import Package, packages
from tools.reach import Reach, Statement, copy_plugin, prepare_recording

EQUIVALENT = Path(__file__).with_suffix(".toml")
LEAST = 0.85
SLACK = 60.0  # seconds that any run may take
FIRST = 50  # tests of the first run
BUDGET = 120.0  # recorded seconds of the tests of a mutant


@dataclass(frozen=True)
class Mutant:
    """A file of a package after a change.

    Args:
        file: the path of the file below the package's import folder.
        mutation: the change.
        old: the text of the file before the change.
    """

    file: Path
    mutation: Mutation
    old: str

    @property
    def new(self) -> str:
        """The text of the file after the change."""
        return self.mutation.apply(self.old)

    @property
    def diff(self) -> str:
        """The change as a diff with one line of context."""
        name = str(self.file)
        lines = difflib.unified_diff(
            self.old.splitlines(), self.new.splitlines(), name, name, n=1, lineterm=""
        )
        return "\n".join(lines)

    @property
    def lines(self) -> tuple[str, str]:
        """The removed and the added lines without indentation, as `mutants.toml` has them."""
        pairs = [(line[0], line[1:].strip()) for line in self.diff.splitlines()[3:]]
        removed, added = ("\n".join(text for sign, text in pairs if sign == probe) for probe in "-+")
        return removed, added

    @property
    def statement(self) -> Statement | None:
        """The statement that runs before the change has an effect; None outside functions."""
        start = self.mutation.statement
        return None if start is None else (str(self.file), start)

    @property
    def compiles(self) -> bool:
        """Whether Python accepts the file."""
        with suppress(SyntaxError):
            compile(self.new, "mutant", "exec", dont_inherit=True)
            return True
        return False


def draw(source: Path, count: int, seed: int) -> list[Mutant]:
    """Random mutants of a package, about equally many of each kind.

    Args:
        source: the folder of the package's Python code.
        count: the number of mutants.
        seed: the seed of the choice.
    """
    kinds: dict[str, list[Mutant]] = defaultdict(list)
    for path in sorted(source.rglob("*.py")):
        file = path.relative_to(source)
        if "compat" not in file.parts and file.name != "version.py":
            text = path.read_text()
            for mutation in mutations(text):
                kinds[mutation.kind].append(Mutant(file, mutation, text))
    rng = random.Random(seed)
    orders = [rng.sample(kinds[kind], len(kinds[kind])) for kind in sorted(kinds)]
    mutants = (order[i] for i in range(max(map(len, orders))) for order in orders if i < len(order))
    return [mutant for _, mutant in zip(range(count), filter(lambda m: m.compiles, mutants), strict=False)]


def order_tests(texts: dict[str, str], seconds: dict[str, float], mutant: Mutant) -> list[str]:
    """Tests in the order of a mutant's runs: files that name more of the change first, then quick tests first.

    Args:
        texts: the text of each test file by its name.
        seconds: the time of each test by its name.
        mutant: the mutant.
    """
    stem = mutant.file.parent.name if mutant.file.stem == "__init__" else mutant.file.stem
    words = [
        re.compile(rf"\b{re.escape(name)}\b") for name in {stem, *mutant.mutation.scope} if name[:2] != "__"
    ]
    scores = {file: sum(word.search(text) is not None for word in words) for file, text in texts.items()}
    return sorted(seconds, key=lambda test: (-scores[test.partition("::")[0]], seconds[test]))


class Workplace:
    """A temporary copy of an installed package and of its tests.

    Args:
        folder: the temporary folder.
        package: the package.
    """

    def __init__(self, folder: Path, package: Package) -> None:
        spec = find_spec(package.import_name)
        installed = Path(str(spec and spec.origin)).parent
        if not installed.is_dir() or installed.is_relative_to(package.folder):
            raise SystemExit(
                f"install {package.dist} as a wheel: an editable package comes before the mutant"
            )
        self.path = folder / "path"
        shutil.copytree(
            installed, self.path / package.import_name, ignore=shutil.ignore_patterns("__pycache__")
        )
        names = shutil.ignore_patterns("__pycache__", "build", "csrc", "src", ".*")
        self.tests = shutil.copytree(package.folder, folder / package.dist, ignore=names)
        self.source = self.path / package.import_name
        self.files = sorted(str(f.relative_to(self.tests)) for f in self.tests.glob("tests/**/test_*.py"))
        self.reach = Reach()
        self.start_up = 0.0  # seconds of imports and of the collection of the tests
        copy_plugin(self.path)

    def run_pytest(self, arguments: list[str], limit: float, **variables: str) -> tuple[int, str]:
        """The exit status and the output of pytest; status 124 after the time limit.

        Args:
            arguments: further arguments of pytest.
            limit: the time limit in seconds.
            variables: further environment variables.
        """
        command = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider"]
        path = os.pathsep.join([str(self.path), *filter(None, [os.environ.get("PYTHONPATH")])])
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1", **variables}
        with tempfile.TemporaryFile("w+") as output:
            child = subprocess.Popen(
                [*command, "-p", "reach_plugin", *arguments], cwd=self.tests, env=environment,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
            try:
                status = child.wait(limit)
            except subprocess.TimeoutExpired:
                status = 124
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)  # processes that the tests started, too
                child.wait()
            output.seek(0)
            return status, output.read()

    def run_tests(self, tests: list[str]) -> tuple[int, str]:
        """The exit status and the output of a run that stops at the first failure.

        Args:
            tests: the names of the tests, in order.
        """
        order = self.path / "order"
        others = self.reach.seconds.keys() - {*tests}
        order.write_text("\n".join([*tests, "", *others]))
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        limit = SLACK + 4 * (self.start_up + sum(self.reach.seconds[test] for test in tests))
        return self.run_pytest(["-x", *files], limit, TL_REACH_TESTS=str(order))

    def record(self, mutants: list[Mutant], files: list[str] | None = None) -> None:
        """Records the tests that reach the statements of mutants.

        Args:
            mutants: the mutants.
            files: the test files; None stands for all.
        """
        texts = {mutant.file: mutant.old for mutant in mutants}
        statements = prepare_recording(self.source, self.path, [m.statement for m in mutants if m.statement])
        start = time.monotonic()
        try:
            _, output = self.run_pytest(files or self.files, 3600)
            if not (self.path / "tests").exists():
                raise SystemExit(f"{output}\nno test ran")
            elapsed = time.monotonic() - start
            self.start_up = max(elapsed - self.reach.read(self.path, statements), 0.0)
        finally:
            for file, text in texts.items():
                (self.source / file).write_text(text)
            for name in ("current", "pairs", "tests"):
                (self.path / name).unlink(missing_ok=True)
        if self.reach.failed:
            status, output = self.run_tests(sorted(self.reach.failed))
            if status:
                raise SystemExit(f"{output}\ntests fail without a mutant")

    def choose_tests(self, mutant: Mutant) -> tuple[list[list[str]], bool]:
        """The tests of each run of a mutant, and whether tests are left out.

        Args:
            mutant: the mutant.
        """
        texts = {file: (self.tests / file).read_text() for file in self.files}
        seconds = {test: self.reach.seconds[test] for test in self.reach.tests(mutant.statement)}
        order = order_tests(texts, seconds, mutant)
        ends = list(accumulate(seconds[test] for test in order))
        tests = [test for test, end in zip(order, ends, strict=True) if end <= BUDGET] or order[:1]
        # A second run has the tests of a file in a row, so that a fixture of a file is set up once.
        first, second = tests[:FIRST], sorted(tests[FIRST:], key=lambda test: test.partition("::")[0])
        return [run for run in (first, second) if run], len(tests) < len(order)

    def killer(self, mutant: Mutant, runs: list[list[str]]) -> str | None:
        """The test that kills a mutant; None if all tests pass.

        Args:
            mutant: the mutant.
            runs: the tests of each run.
        """
        file = self.source / mutant.file
        file.write_text(mutant.new)
        try:
            for tests in runs:
                status, output = self.run_tests(tests)
                if status not in (0, 5):  # 5: no test was selected
                    failure = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
                    return (
                        "the time limit" if status == 124 else failure[1] if failure else f"status {status}"
                    )
        finally:
            file.write_text(mutant.old)
        return None


def equivalents(package: str) -> set[tuple[str, str, str]]:
    """The file, the removed and the added lines of each mutant that no test can tell from the package.

    Args:
        package: the import name of the package.
    """
    table = tomllib.loads(EQUIVALENT.read_text()).get(package, [])
    return {(entry["file"], entry["old"], entry["new"]) for entry in table}


def run(package: Package, count: int, seed: int) -> bool:
    """Tests the mutants of a package and prints the results; returns whether enough mutants are killed.

    Args:
        package: the package.
        count: the number of mutants.
        seed: the seed of the choice.
    """
    known, results = equivalents(package.import_name), {"killed": 0, "survived": 0, "equivalent": 0}
    with tempfile.TemporaryDirectory() as folder:
        workplace = Workplace(Path(folder), package)
        mutants = draw(workplace.source, count, seed)
        workplace.record(mutants)
        for number, mutant in enumerate(mutants, 1):
            start = time.monotonic()
            runs, is_cut = workplace.choose_tests(mutant)
            killer = workplace.killer(mutant, runs)
            is_known = (str(mutant.file), *mutant.lines) in known
            result = "killed" if killer else "equivalent" if is_known else "survived"
            results[result] += 1
            where = f"{mutant.file}:{mutant.mutation.line} {mutant.mutation.kind}"
            tests = f" {sum(map(len, runs))} tests{', others left out' if is_cut else ''}"
            by = f" by {killer}" if killer else tests if is_known else f"{tests}\n{mutant.diff}"
            print(
                f"{number}/{len(mutants)} {where}: {result}{by} ({time.monotonic() - start:.0f} s)",
                flush=True,
            )
    tested = results["killed"] + results["survived"]
    print(
        f"{package.dist}, seed {seed}: {results['killed']} of {tested} killed, {results['equivalent']} equivalent"
    )
    return results["killed"] >= LEAST * tested


def main() -> int:
    """Reads the arguments; the exit status is 1 if too few mutants are killed."""
    name, *numbers = sys.argv[1:]
    count = int(numbers[0]) if numbers else 100
    seed = int(numbers[1]) if len(numbers) > 1 else random.randrange(10**6)
    return 0 if run(packages()[name], count, seed) else 1


if __name__ == "__main__":
    sys.exit(main())
