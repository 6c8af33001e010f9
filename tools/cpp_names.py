"""`python -m tools.cpp_names`: the headers under PyTorch's names, and the names that each of them brings.

The site writes the table into the guide to C++ extensions.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from tools.packages import ROOT, packages

PARTS = ROOT / "packages" / "tl-core" / "include" / "tl" / "torch"
OPENED = re.compile(r"^\s*(?:inline )?namespace (\w+) \{")
CLOSED = re.compile(r"\}\s*// namespace (\w+)$")
OWN = {"face", "detail", "impl", "internal"}  # namespaces without names for extensions
NAMES = (
    re.compile(r"^  (?:template <.*> )?(?:class|struct|enum class|enum) (?:\[\[\w+\]\] )?(\w+)"),
    re.compile(r"^  using (\w+) = "),
    re.compile(r"^  using [\w:]+::(\w+);"),
    re.compile(r"^  (?:\[\[[^\]]*\]\] )?(?:inline|constexpr|template <[^>]*>).*?\b(\w+)\("),
    re.compile(r"^  inline constexpr .*?\b(\w+)(?: =|\{)"),
    re.compile(r"^#define ((?!TL_|tl)[A-Z]\w+)"),
)
SKIPPED = {"operator", "decltype", "enable_if_t", "gnu", "alignas", "F", "T", "OP", "Traits"}
INCLUDED = re.compile(r"^#include <tl/torch/(\w+)\.hpp>", re.MULTILINE)


def names_of(part: str) -> list[str]:
    """The names that a part of the headers defines, sorted.

    Args:
        part (str): The part, such as `scalar`.

    Returns:
        list[str]: The names of types, functions, constants and macros.
    """
    open_: list[str] = []
    found: set[str] = set()
    for line in (PARTS / f"{part}.hpp").read_text().splitlines():
        if match := OPENED.match(line):
            open_.append(match[1])
        elif (match := CLOSED.search(line)) and match[1] in open_:
            open_.remove(match[1])
        elif not OWN & set(open_):
            found |= {match[1] for pattern in NAMES if (match := pattern.match(line))}
    return sorted(found - SKIPPED, key=str.casefold)


def parts_of(part: str, forwarded: set[str]) -> set[str]:
    """A part, and the parts that it includes and that no header of PyTorch's name includes by itself.

    Args:
        part (str): The part.
        forwarded (set[str]): The parts that headers of PyTorch's names include.

    Returns:
        set[str]: The parts.
    """
    found, waiting = {part}, [part]
    while waiting:
        text = (PARTS / f"{waiting.pop()}.hpp").read_text()
        new = {p for p in INCLUDED.findall(text) if (PARTS / f"{p}.hpp").exists()} - forwarded - found
        found |= new
        waiting += new
    return found


def rows() -> Iterator[tuple[str, list[str], list[str]]]:
    """For each part of the headers: the part, PyTorch's headers that include it, and its names.

    Yields:
        tuple[str, list[str], list[str]]: The three.
    """
    sys.path.insert(0, str(packages()["tl-core"].folder))
    from opgen import cpp_headers

    by_part: dict[str, list[str]] = {}
    for header, part in cpp_headers.names().items():
        by_part.setdefault(part, []).append(header)
    for part, headers in by_part.items():
        names = {name for p in parts_of(part, set(by_part)) for name in names_of(p)}
        yield part, sorted(headers), sorted(names, key=str.casefold)


def page() -> str:
    """The table, in Markdown.

    Returns:
        str: The table. The functions of `at::` that opgen writes from the rows are not in it.
    """
    lines = ["| headers | names |", "|---|---|"]
    for _, headers, names in rows():
        listed = " ".join(f"`{name}`" for name in names)
        lines.append(
            f"| {' '.join(f'`{h}`' for h in headers)} | {listed or 'those of the headers that it includes'} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page())
