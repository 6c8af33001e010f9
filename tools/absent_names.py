"""Writes the list of names that PyTorch has and tl lacks, for which `tl.torch` has stand-ins.

    PYTHON-WITH-TORCH tools/absent_names.py scan SCAN.json INDEX …     what PyTorch has, and names from indices
    python -m tools.absent_names write SCAN.json                       less what tl has, into tl/_absent/names.txt.gz

The first reads PyTorch's sources, as most of its modules can't be imported without what they are made for. INDEX holds
lines of a dotted name, a tab and what it is: those of the manual of the version that tl answers to.
"""

import ast
import gzip
import importlib
import io
import json
import os
import re
import sys
import warnings
from collections import defaultdict
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

LIST = Path(__file__).parents[1] / "packages/tl-all/src/tl/_absent/names.txt.gz"
# What nobody outside of PyTorch imports: other people's code in it, its own tests, parts of its compiler.
LEFT_OUT = re.compile(r"torch\.(_vendor|_native|testing\._internal|distributed\._tools|_lazy)(\.|$)")
FAULT = re.compile(r"(Error|Exception|Warning)$")

Names = dict[str, dict[str, str]]


def scan(out: str, *indices: str) -> None:
    """Writes the names that PyTorch has, by module, with the letter of their kind."""
    import torch

    root = Path(torch.__file__).parent
    found: Names = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        dotted = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if not LEFT_OUT.match(dotted) and not {"bin", "test", "__main__"} & set(parts):
            found[dotted] = names_of(path)
    for name, module in list(sys.modules.items()):
        if name in found or name.startswith("torch._C"):
            found.setdefault(name, {}).update(exported(module))
    take_stars(found)
    for full, kind in (row for index in indices for row in rows_of(index)):
        above, _, name = full.rpartition(".")
        if above in found:
            found[above].setdefault(name, {"class": "c", "function": "f", "exception": "e"}.get(kind, "o"))
    Path(out).write_text(json.dumps(found))


def names_of(path: Path) -> dict[str, str]:
    """What a source file defines, and what a package takes from its modules."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(path.read_text())
    except SyntaxError:  # a newer Python's
        return {}
    found: dict[str, str] = {}
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = "f"
        elif isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base) for base in node.bases]
            found[node.name] = "e" if any(map(FAULT.search, bases)) else "c"
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id: "o" for target in targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            found |= taken(node, path)
        for field in ("body", "orelse", "finalbody", "handlers"):
            if isinstance(node, ast.If | ast.Try | ast.With | ast.ExceptHandler):
                waiting += getattr(node, field, [])
    return {name: kind for name, kind in found.items() if not name.startswith("__") and name != "*None"}


def taken(node: ast.ImportFrom, path: Path) -> dict[str, str]:
    """What a package takes from its modules; `*MODULE` for all names of a module."""
    names = [alias.asname or alias.name for alias in node.names]
    if names == ["*"] and not node.level:
        return {f"*{node.module}": "o"}
    if path.name != "__init__.py" or not (node.level or (node.module or "").startswith("torch")):
        return {}
    return {name: "c" if name[:1].isupper() and not name.isupper() else "o" for name in names}


def exported(module: object) -> dict[str, str]:
    """What a loaded module has that is PyTorch's."""
    found = {}
    for name, value in list(vars(module).items()):
        owner = getattr(value, "__module__", None) or "torch"
        if name.startswith("__") or not owner.startswith("torch") or isinstance(value, type(sys)):
            continue
        fault = isinstance(value, type) and issubclass(value, BaseException)
        found[name] = "e" if fault else "c" if isinstance(value, type) else "f" if callable(value) else "o"
    return found


def take_stars(found: Names) -> None:
    """Gives the modules that take all names of others those names."""
    for _ in range(3):  # chains of them are short
        for names in found.values():
            for star in [name for name in names if name.startswith("*")]:
                public = found.get(star[1:], {}).items()
                names |= {name: kind for name, kind in public if not name.startswith("_")}
    for names in found.values():
        for star in [name for name in names if name.startswith("*")]:
            del names[star]


def rows_of(index: str) -> list[tuple[str, str]]:
    """The names of an index, with what it says they are."""
    rows = [line.split("\t") for line in Path(index).read_text().splitlines()]
    return [(row[0], row[1]) for row in rows if row[0].startswith("torch.")]


def write(source: str) -> None:
    """Writes the list: of what tl has, only what it lacks; of a private module that isn't there, that any name is."""
    os.environ["TL_ABSENT"] = "error"
    import tl.torch

    sys.dont_write_bytecode = True
    tl.torch.install()
    lines = []
    for dotted, names in sorted(json.loads(Path(source).read_text()).items()):
        words = lacking(dotted, names)
        if words:
            lines.append(" ".join([dotted.removeprefix("torch").removeprefix("."), *words]))
    data = gzip.compress("\n".join(lines).encode(), 9, mtime=0)
    LIST.write_bytes(data)
    print(f"{len(lines)} modules, {len(data)} bytes")


def lacking(dotted: str, names: dict[str, str]) -> list[str]:
    """The words of a module's line."""
    module = loaded(dotted)
    if module is None and "._" in dotted:
        return ["!", "*"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lacked = {
            name: kind for name, kind in names.items() if module is None or not has(module, dotted, name)
        }
    kinds = defaultdict(list)
    for name, kind in sorted(lacked.items()):
        kinds[kind].append(name)
    words = [word for kind in sorted(kinds) for word in (f"{kind}:", *kinds[kind])]
    return ["!", *words] if module is None else words


def loaded(dotted: str) -> object | None:
    """The module of this name in tl."""
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(dotted)
        except (ImportError, AttributeError):
            return None


def has(module: object, dotted: str, name: str) -> bool:
    """Whether a statement can import a name from a module."""
    try:
        return hasattr(module, name) or loaded(f"{dotted}.{name}") is not None
    except (ImportError, NotImplementedError, RuntimeError):
        return True


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "scan":
        scan(*arguments)
    else:
        write(*arguments)
