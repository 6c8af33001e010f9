"""Writes the list of names that modules of PyTorch import from elsewhere: `nn.modules.conv` has `_pair` and `math`.

    PYTHON-WITH-TORCH tools/reexports.py scan SCAN.json    imports at the top of PyTorch's modules
    python -m tools.reexports write SCAN.json              those that tl can serve, into tl/_reexports/names.txt.gz

The first reads PyTorch's sources. The second omits a name that the module has in tl, and one whose origin tl lacks.
"""

import ast
import gzip
import importlib
import json
import os
import sys
import warnings
from pathlib import Path

LIST = Path(__file__).parents[1] / "packages/tl-all/src/tl/_reexports/names.txt.gz"
# other people's code in PyTorch, and its tests of itself
LEFT_OUT = {"_vendor", "_native", "_internal", "_tools", "_lazy", "bin", "test", "__main__"}
SOURCES = frozenset(sys.stdlib_module_names) - {"__future__"} | {"torch"}
CHAIN = 5  # modules through which one name passes

Imports = dict[str, dict[str, str]]  # module → name → "module" or "module:name"


def scan(out: str) -> None:
    """Writes what each module of PyTorch imports."""
    import torch

    root = Path(torch.__file__).parent
    found: Imports = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        if LEFT_OUT.isdisjoint(parts):
            dotted = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[dotted] = imports_of(path, dotted)
    Path(out).write_text(json.dumps(found))


def imports_of(path: Path, dotted: str) -> dict[str, str]:
    """The names that the import statements of a module's body define, and their origins."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        waiting: list[ast.AST] = list(ast.parse(path.read_text()).body)
    package = dotted if path.name == "__init__.py" else dotted.rpartition(".")[0]
    names: dict[str, str] = {}
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            names |= plain_imports(node)
        elif isinstance(node, ast.ImportFrom):
            names |= names_from(node, package)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ExceptHandler):
            for field in ("body", "orelse", "finalbody", "handlers"):
                waiting += getattr(node, field, [])
    return {name: origin for name, origin in names.items() if not name.startswith("__")}


def plain_imports(node: ast.Import) -> dict[str, str]:
    """`import a.b` defines a, `import a.b as c` defines c."""
    pairs = ((alias.asname or alias.name.partition(".")[0], alias) for alias in node.names)
    return {name: alias.name if alias.asname else name for name, alias in pairs if known(alias.name)}


def names_from(node: ast.ImportFrom, package: str) -> dict[str, str]:
    """What `from a import b` defines, for a relative import too."""
    above = package.rsplit(".", node.level - 1)[0] if node.level else ""
    module = ".".join(part for part in (above, node.module) if part)
    if not known(module):
        return {}
    return {alias.asname or alias.name: f"{module}:{alias.name}" for alias in node.names if alias.name != "*"}


def known(module: str) -> bool:
    """Whether a module is Python's or PyTorch's."""
    return module.partition(".")[0] in SOURCES


def write(source: str) -> None:
    """Writes the list."""
    os.environ["TL_ABSENT"] = "error"
    import tl.torch
    from tl import _names, _reexports

    tl.torch.install()
    _reexports.table().clear()
    imports: Imports = json.loads(Path(source).read_text())
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dotted, names in sorted(imports.items()):
            module = value_of(dotted)
            name = getattr(module, "__name__", "")
            facade = "torch" if name == "tl" else f"torch.{_names.facade_of(name)}"
            if facade == dotted and (found := served(dotted, names, imports)):
                line = dotted.removeprefix("torch").removeprefix(".")
                words = [f"{name}={origin}" for name, origin in found.items()]
                _reexports.table()[line] = f" {' '.join(words)} "
                # a module of settings has no other names
                lines += [" ".join([line, *words])] if hasattr(module, next(iter(found))) else []
    data = gzip.compress("\n".join(lines).encode(), 9, mtime=0)
    LIST.write_bytes(data)
    print(f"{len(lines)} modules, {sum(line.count('=') for line in lines)} names, {len(data)} bytes")


def served(dotted: str, names: dict[str, str], imports: Imports) -> dict[str, str]:
    """The names that a module lacks in tl, with the first origin of each that tl has."""
    lacked = (
        (name, origin) for name, origin in sorted(names.items()) if value_of(f"{dotted}:{name}") is None
    )
    found = {name: first_of(origins(origin, imports)) for name, origin in lacked}
    return {name: origin for name, origin in found.items() if origin}


def origins(origin: str, imports: Imports) -> list[str]:
    """The origin of a name, and the modules through which it comes, the farthest first."""
    chain = [origin]
    for _ in range(CHAIN):
        module, _, name = chain[0].partition(":")
        further = imports.get(module, {}).get(name)
        if not name or further is None or further in chain:
            break
        chain.insert(0, further)
    return chain


def first_of(candidates: list[str]) -> str:
    """The first origin that tl has; "" without one."""
    return next((origin for origin in candidates if value_of(origin) is not None), "")


def value_of(origin: str) -> object | None:
    """The object of an origin in tl; None without one."""
    module, _, name = origin.partition(":")
    try:
        value = importlib.import_module(module)
    except (ImportError, AttributeError, NotImplementedError):
        return None
    if not name:
        return value
    try:
        return getattr(value, name)
    except (AttributeError, ImportError, NotImplementedError, RuntimeError):
        return value_of(f"{module}.{name}")


if __name__ == "__main__":
    command, argument = sys.argv[1:]
    {"scan": scan, "write": write}[command](argument)
