"""`python -m tools.vocabulary`: retired words, and terms that name nothing.

Retired words are looked for in names, docstrings, headings and changelogs.

The glossary (docs/design/glossary.md) lists the terms of the field that this repository uses: each must name a file, a
folder or a heading, so that whoever searches for it lands where it is. RETIRED lists words that once stood for such
terms: none may come back. Names are compared token by token: `TileIndex` and `tile_index` are `tile index`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from tools.kernel_rules import without_comments
from tools.packages import ROOT

GLOSSARY = "docs/design/glossary.md"
MAY_BE_MISSING = 5
KERNELS = "packages/tl-core/csrc/kernels/*"
NATIVE = "packages/*/csrc/*"
EVERYWHERE = "*"


@dataclass(frozen=True)
class Retired:
    """A word that gave way to a term of the field."""

    words: str  # as tokens, with spaces between
    instead: str
    where: str = EVERYWHERE  # a pattern of paths
    names_only: bool = False  # it is an ordinary word in a sentence


RETIRED = (
    Retired("place", "index, tile index, sampling coordinate, rank, slot or position", names_only=True),
    Retired("places", "indices"),
    Retired("call for", "prefetch"),
    Retired("called for", "prefetched"),
    Retired("calls for", "prefetches"),
    Retired("calls ahead", "prefetch"),
    Retired("near", "prefetch", KERNELS, names_only=True),
    Retired("sides", "packed operands", NATIVE),
    Retired("in parts", "split-bfloat16", NATIVE),
    Retired("float parts", "split-bfloat16"),
    Retired("mend", "exact recompute"),
    Retired("doubtful", "suspect"),
    Retired("slope", "derivative", names_only=True),
    Retired("slopes", "derivatives"),
    Retired("bend", "double_backward"),
    Retired("by reset", "gru_cell_backward"),
    Retired("turned", "transposed", NATIVE),
    Retired("square", "in-register transpose", KERNELS, names_only=True),
    Retired("gathered", "scatter_add", "packages/tl-core/csrc/ops/sparse/*", names_only=True),
    Retired("kept", "dropout mask, saved, cached or retained", NATIVE, names_only=True),
    Retired("draws", "RNG state", names_only=True),
    Retired("tops", "row_max", NATIVE, names_only=True),
    Retired("peaks", "block_max", NATIVE, names_only=True),
    Retired("decays", "rescale", NATIVE, names_only=True),
    Retired("computing type", "opmath_type"),
    Retired("loss type", "opmath_type", NATIVE),
    Retired("number dtype", "scalar_dtype"),
    Retired("adding type", "accumulate_type"),
    Retired("statistics type", "opmath_type"),
    Retired("reflections", "Householder vectors (geqrf)"),
    Retired("turns", "Jacobi rotations", NATIVE, names_only=True),
    Retired("key lines", "radix keys"),
    Retired("marks", "conjugate and negative bits", names_only=True),
    Retired("hooked", "hooks", names_only=True),
    Retired("traversable", "named_modules", names_only=True),
    Retired("convertible", "to", names_only=True),
    Retired("explained", "error notes", names_only=True),
    Retired("unwritten", "uninitialized"),
    Retired("providers", "backend registry", names_only=True),
    Retired("observing", "operator observer", names_only=True),
    Retired("the peer", "torch"),
    Retired("few rows", "skinny GEMM"),
)

# Names that the API of the framework or of Python has.
ALLOWED = {"negative_slope", "negative slope", "linear slope", "placement", "square", "squares", "hooked"}
# Terms that hold a retired word in a sense of its own: of mathematics, of C++'s library, of the public C interface.
TERMS = (
    "in place(?! of)",
    "half square",
    "inverse square",
    "quarter turns",
    "convertible to",
    "tensor marks",
    "call for per sample grads",
)

TERM_PATTERN = re.compile("|".join(rf"\b{term}\b" for term in TERMS))
ANY_RETIRED = re.compile(rf"\b(?:{'|'.join(entry.words for entry in RETIRED)})\b")

SUFFIXES = {".h", ".hpp", ".c", ".cpp", ".py", ".pyi", ".md"}
WATCHED = ("packages", "tools", "docs", ".github")
MADE = {"build", "dist", "vendor", "generated", "_build", "__pycache__", ".venv"}
OURS = "tools/vocabulary.py", "tools/tests/test_vocabulary.py", GLOSSARY

Found = tuple[str, int, str]


def tokens(name: str) -> str:
    """The words of an identifier or a sentence, in small letters: `TileIndex` → `tile index`."""
    parts = re.sub(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3 \2\4", name)
    return " ".join(re.findall(r"[a-z0-9]+", parts.lower()))


@cache
def retired_words(text: str) -> tuple[Retired, ...]:
    """The entries of the retired words in a text, whatever it is and wherever it stands."""
    words = TERM_PATTERN.sub("", tokens(text))
    if text in ALLOWED or not ANY_RETIRED.search(words):
        return ()
    return tuple(entry for entry in RETIRED if re.search(rf"\b{entry.words}\b", words))


def retired_in(text: str, path: str, is_name: bool) -> Iterator[Retired]:
    """The retired words of a name, or of a sentence."""
    for entry in retired_words(text):
        if (is_name or not entry.names_only) and fnmatch(path, entry.where):
            yield entry


# ---- what a file says ----------------------------------------------------------------------------------------------


def names_of_cpp(text: str) -> Iterator[tuple[int, str]]:
    """(line, identifier), once each."""
    seen: set[str] = set()
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        if line.startswith("#include"):
            continue
        for name in re.findall(r"[A-Za-z_]\w*", line):
            if name not in seen:
                seen.add(name)
                yield number, name


def texts_of_python(tree: ast.AST) -> Iterator[tuple[int, str, bool]]:
    """(line, text, whether it is a name) of what a module defines and of its docstrings' lines."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.lineno, node.name, True
            case ast.arg():
                yield node.lineno, node.arg, True
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, node.id, True
            case ast.Attribute(ctx=ast.Store()):
                yield node.lineno, node.attr, True
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            for line in (ast.get_docstring(node) or "").splitlines():
                yield getattr(node, "lineno", 1), line, False


def headings(text: str) -> Iterator[tuple[int, str]]:
    """(line, text) of the headings of a page."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#"):
            yield number, line.lstrip("# ")


def files(root: Path) -> list[str]:
    """The paths of the texts in the repository, without what builds leave behind."""
    found = [f for name in WATCHED for f in (root / name).rglob("*")] + list(root.glob("*"))
    relative = (f.relative_to(root) for f in found if f.suffix in SUFFIXES and f.is_file())
    return sorted(str(f) for f in relative if not MADE.intersection(f.parts))


def said_in(path: str, text: str) -> Iterator[tuple[int, str, bool]]:
    """(line, text, whether it is a name) of all that is checked in a file."""
    yield 1, Path(path).stem, True
    if path.endswith(".md"):
        is_changelog = "/changes/" in path or path.endswith("CHANGELOG.md")
        lines = enumerate(text.splitlines(), 1) if is_changelog else headings(text)
        yield from ((n, line, False) for n, line in lines)
    elif path.endswith((".py", ".pyi")):
        yield from texts_of_python(ast.parse(text))
    else:
        yield from ((n, name, True) for n, name in names_of_cpp(text))


def violations(root: Path = ROOT) -> Iterator[Found]:
    """Every retired word, file by file."""
    for path in files(root):
        if path in OURS:
            continue
        for line, text, is_name in said_in(path, (root / path).read_text()):
            for entry in retired_in(text, path, is_name):
                yield (
                    path,
                    line,
                    f'"{text.strip()}": {entry.words} is retired, the field says {entry.instead}',
                )


# ---- the glossary's terms ------------------------------------------------------------------------------------------


def terms(root: Path = ROOT) -> list[list[str]]:
    """The terms of the glossary's tables, each with its other spellings."""
    rows = re.findall(r"^\| \*\*(.+?)\*\*([^|]*) \|", (root / GLOSSARY).read_text(), re.MULTILINE)
    return [[tokens(word) for word in f"{term}{others}".split(" / ")] for term, others in rows]


def named(root: Path) -> set[str]:
    """The tokens of every file, folder and heading."""
    found: set[str] = set()
    for path in files(root):
        if path == GLOSSARY:
            continue
        found.update(tokens(part.partition(".")[0]) for part in Path(path).parts)
        if path.endswith(".md") and "/changes/" not in path:
            found.update(tokens(text) for _, text in headings((root / path).read_text()))
    return found


def nameless(root: Path = ROOT) -> list[str]:
    """The terms that name no file, folder or heading."""
    texts = "\n".join(sorted(named(root)))
    return [names[0] for names in terms(root) if not any(re.search(rf"\b{n}s?\b", texts) for n in names)]


def main() -> int:
    """Prints both; the exit status is 1 if there are retired words or too many terms name nothing."""
    found, missing = sorted(violations()), nameless()
    for path, line, message in found:
        print(f"{path}:{line}: {message}")
    print(
        f"{len(found)} retired words; {len(missing)} of {len(terms())} terms name nothing: {', '.join(missing)}"
    )
    return 1 if found or len(missing) > MAY_BE_MISSING else 0


if __name__ == "__main__":
    sys.exit(main())
