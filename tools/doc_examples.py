"""`python -m tools.doc_examples [--shown]`: runs the examples in the pages and in the installed packages' docstrings.

A page runs from its beginning to its end. A docstring runs alone, once as it is in the package, where all packages and
the names of its own are known, and once in the dialect of programs, as the site shows it, without these names. The
second form runs in a process of its own (`--shown`), because examples register operators, backends and handlers.
"""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
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


def as_shown(test: doctest.DocTest) -> Iterator[doctest.DocTest]:
    """The form of a docstring's examples on the site, if it is another."""
    shown = program_dialect.convert(test.docstring or "", test.globs)
    if test.examples and shown != test.docstring:
        yield doctest.DocTestParser().get_doctest(
            shown, {}, f"{test.name} on the site", test.filename, test.lineno
        )


def docstrings() -> Iterator[doctest.DocTest]:
    """The examples of all docstrings."""
    finder = doctest.DocTestFinder()
    for module in (m for p in packages().values() for m in modules(p.import_name)):
        yield from finder.find(module, globs=program_dialect.names_around(module))


def examples_of_pages() -> Iterator[doctest.DocTest]:
    """The examples of all pages."""
    for page in pages(ROOT):
        names = {"__name__": "__main__"}  # as in a program: classes say which module they are of
        yield doctest.DocTestParser().get_doctest(
            page.read_text(), names, str(page.relative_to(ROOT)), str(page), 0
        )


def run(tests: list[doctest.DocTest]) -> doctest.TestResults:
    """Runs examples; failures are printed."""
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in tests:
        runner.run(test)
    return doctest.TestResults(runner.failures, runner.tries)


def main() -> int:
    """Runs all; the exit status is 1 if one fails or there is none."""
    is_shown = "--shown" in sys.argv
    if is_shown:
        tests = [form for test in docstrings() for form in as_shown(test)]
    else:
        tests = [*examples_of_pages(), *docstrings()]
    result = run([test for test in tests if test.examples])
    print(
        f"{result.attempted} examples{' as the site shows them' if is_shown else ''}, {result.failed} failed"
    )
    failed = bool(result.failed or not result.attempted)
    if not is_shown:
        failed |= bool(subprocess.run([sys.executable, "-m", "tools.doc_examples", "--shown"]).returncode)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
