"""Rules for the files that tests read: no test of a package names the folder of another package.

The tests of a package run from its source distribution, where no other package is beside it. Code that tests of several
packages share belongs in an installed module, such as `tl_core.testing` or `tl_checkpoint.testing`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tools.packages import ROOT, packages

# Tests of all rows: no wheel contains the rows and PyTorch's names of operators. The tests skip where they are missing.
OF_ROWS = {
    "packages/tl-autograd/tests/test_row_gradients.py": "tl-core",
    "packages/tl-compiler/tests/row_programs.py": "tl-core",
    "packages/tl-nn/tests/test_handler_names.py": "tl-core",
}


def folders(tree: ast.AST, dists: set[str]) -> Iterator[tuple[int, str]]:
    """The line and the name of each folder of a package that a path of a file contains.

    Args:
        tree: the syntax tree of the file.
        dists: the names of the folders of all packages.

    Example:
        >>> tree = ast.parse("Path('..') / 'tl-core' / 'tests'; Path('../tl-nn/tests/x.py'); print('needs tl-core')")
        >>> sorted(folders(tree, {"tl-core", "tl-nn"}))
        [(1, 'tl-core'), (1, 'tl-nn')]
    """
    joined = {
        id(side) for node in ast.walk(tree) if isinstance(node, ast.BinOp) for side in (node.left, node.right)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            parts = node.value.split("/")
            if len(parts) > 1 or id(node) in joined:
                yield from ((node.lineno, part) for part in parts if part in dists)


def violations(root: Path = ROOT) -> Iterator[tuple[Path, int, str]]:
    """The tests that read the folder of another package, and exceptions without such a test.

    Args:
        root: the folder of the repository.
    """
    every = packages(root)
    unused = {root / path: dist for path, dist in OF_ROWS.items() if (root / path).exists()}
    for dist, package in every.items():
        for file in sorted((package.folder / "tests").rglob("*.py")):
            for line, name in folders(ast.parse(file.read_text(), str(file)), {*every} - {dist}):
                if OF_ROWS.get(str(file.relative_to(root))) == name:
                    unused.pop(file, None)
                else:
                    yield file, line, f"reads the folder of {name}, which the tests of {dist} do without"
    for file, dist in unused.items():
        yield file, 1, f"reads no folder of {dist}: remove it from tools/neighbours.py"
