"""What a source file imports."""

from __future__ import annotations

import ast

from ._importlib import resolve_name

__all__ = ["find_files_source_depends_on"]


class _ImportsFinder(ast.NodeVisitor):
    """Gathers the imports of a module: pairs of a module and a name in it, or None."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.imports: dict[tuple[str, str | None], None] = {}

    def _absolute(self, name: str, level: int) -> str:
        return resolve_name(name, self.package, level) if level > 0 else name

    def visit_Import(self, node: ast.Import) -> None:
        """`import a.b`.

        Args:
            node: the statement.
        """
        for alias in node.names:
            self.imports[alias.name, None] = None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """`from a import b`.

        Args:
            node: the statement.
        """
        module = self._absolute(node.module or "", node.level)
        for alias in node.names:
            self.imports[module, None if alias.name == "*" else alias.name] = None

    def visit_Call(self, node: ast.Call) -> None:
        """`__import__("a")`, where its arguments are written out.

        Args:
            node: the expression.
        """
        if isinstance(node.func, ast.Name) and node.func.id == "__import__":
            self._note_call(node)
        self.generic_visit(node)

    def _note_call(self, node: ast.Call) -> None:
        if (
            not node.args
            or not isinstance(node.args[0], ast.Constant)
            or not isinstance(node.args[0].value, str)
        ):
            return
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        level = node.args[4] if len(node.args) > 4 else keywords.get("level")
        depth = level.value if isinstance(level, ast.Constant) and isinstance(level.value, int) else 0
        if level is not None and not isinstance(level, ast.Constant):
            return
        name = self._absolute(node.args[0].value, depth)
        names = node.args[3] if len(node.args) > 3 else keywords.get("fromlist")
        if not isinstance(names, (ast.List, ast.Tuple)) or not names.elts:
            self.imports[name, None] = None
            return
        for item in names.elts:
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                self.imports[name, item.value] = None


def find_files_source_depends_on(src: str, package: str) -> list[tuple[str, str | None]]:
    """The imports in a source text.

    Args:
        src: the text.
        package: the package that it belongs to, for relative imports.

    Returns:
        Pairs of a module and the name that is taken from it, or None.

    Raises:
        SyntaxError: the text is no Python.
        ImportError: a relative import leads out of the package.

    Example:
        >>> find_files_source_depends_on("import a.b; from . import c", "pack")
        [('a.b', None), ('pack', 'c')]
    """
    finder = _ImportsFinder(package)
    finder.visit(ast.parse(src))
    return list(finder.imports)
