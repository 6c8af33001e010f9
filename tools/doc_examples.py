"""`python -m tools.doc_examples`: runs the examples in the pages and in the installed packages' docstrings.

A page is run from its beginning to its end, a docstring alone, where all packages and the names of its own are known.
"""

from __future__ import annotations

import builtins
import doctest
import functools
import importlib
import pkgutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

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


@functools.cache
def names_of(module: ModuleType) -> dict[str, Any]:
    """A module's names, among them those that it imports when they are asked for."""
    public = {name: getattr(module, name) for name in getattr(module, "__all__", ())}
    return {**public, **vars(module)}


def run(tests: list[doctest.DocTest]) -> doctest.TestResults:
    """Runs examples; failures are printed."""
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in tests:
        runner.run(test)
    return doctest.TestResults(runner.failures, runner.tries)


def main() -> int:
    """Runs all; the exit status is 1 if one fails or there is none."""
    names = [p.import_name for p in packages().values()]
    known = {name: importlib.import_module(name) for name in names}
    parser, finder = doctest.DocTestParser(), doctest.DocTestFinder()
    found = [parser.get_doctest(p.read_text(), {}, str(p.relative_to(ROOT)), str(p), 0) for p in pages(ROOT)]
    for module in (m for name in names for m in modules(name)):
        package = names_of(known[module.__name__.split(".")[0]])
        package = {n: v for n, v in package.items() if not hasattr(builtins, n)}  # `bool` is a dtype there
        found += finder.find(module, globs={**known, **package, **names_of(module)})
    result = run([test for test in found if test.examples])
    print(f"{result.attempted} examples, {result.failed} failed")
    return 1 if result.failed or not result.attempted else 0


if __name__ == "__main__":
    sys.exit(main())
