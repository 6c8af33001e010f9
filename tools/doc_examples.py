"""`python -m tools.doc_examples`: runs the examples in the pages and in the installed packages' docstrings.

A page runs from its beginning to its end. A docstring runs alone, once as it is in the package, where all packages and
the names of its own are known, and once in the dialect of programs, as the site shows it, without these names.
"""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from tools import program_dialect
from tools.packages import ROOT, packages

FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def pages(root: Path) -> list[Path]:
    """Every page with examples, the READMEs among them."""
    return sorted([*root.glob("docs/**/*.md"), *root.glob("packages/*/README.md"), root / "README.md"])


def modules(name: str) -> list[ModuleType]:
    """A package and all modules in it that can be imported without being run."""
    package = importlib.import_module(name)
    names = [m.name for m in pkgutil.walk_packages(package.__path__, f"{name}.")]
    return [package, *(importlib.import_module(n) for n in names if not n.endswith(("__main__", "._C")))]


def in_dialects(test: doctest.DocTest) -> Iterator[doctest.DocTest]:
    """A docstring's examples, and their form on the site if it is another."""
    yield test
    shown = program_dialect.convert(test.docstring or "", test.globs)
    if test.examples and shown != test.docstring:
        yield doctest.DocTestParser().get_doctest(
            shown, {}, f"{test.name} on the site", test.filename, test.lineno
        )


def run(tests: list[doctest.DocTest]) -> doctest.TestResults:
    """Runs examples; failures are printed."""
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in tests:
        runner.run(test)
    return doctest.TestResults(runner.failures, runner.tries)


def main() -> int:
    """Runs all; the exit status is 1 if one fails or there is none."""
    parser, finder = doctest.DocTestParser(), doctest.DocTestFinder()
    tests = [parser.get_doctest(p.read_text(), {}, str(p.relative_to(ROOT)), str(p), 0) for p in pages(ROOT)]
    for module in (m for p in packages().values() for m in modules(p.import_name)):
        for test in finder.find(module, globs=program_dialect.names_around(module)):
            tests += in_dialects(test)
    result = run([test for test in tests if test.examples])
    print(f"{result.attempted} examples, {result.failed} failed")
    return 1 if result.failed or not result.attempted else 0


if __name__ == "__main__":
    sys.exit(main())
