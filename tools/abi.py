"""`python -m tools.abi diff|freeze`: the C interface as it was promised, beside the headers as they are.

`packages/tl-core/abi/v1.txt` records every entry of every table (order, name, type, since), every structure, constant
and macro that crosses the packages. `diff` fails when the headers say anything else. `freeze` writes the file; once its
first line says `state frozen`, it refuses to change, move or take away what stands there: a new entry goes to the end,
under a new minor version, and inside `#if TL_API_TARGET >= MINOR`.

While the state is draft, `freeze` also writes a digest of the record into `tl/python.h`. An extension whose digest is
another one than the core's is not imported.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from tools.packages import ROOT

CORE = ROOT / "packages" / "tl-core"
HEADERS = [
    CORE / "include" / "tl" / f"{name}.h"
    for name in (
        "c_api",
        "program",
        "python",
        "rules",
        "recording",
        "extension",
        "view_flags",
        "sparse_gradient",
        "autograd",
    )
]
RECORD = CORE / "abi" / "v1.txt"
# Where the ends of structures that grow are pinned, each for its minor version.
PINS = [
    CORE / "csrc" / "c_abi" / "layout.cpp",
    CORE / "csrc" / "bind" / "python_api.cpp",
    ROOT / "packages" / "tl-autograd" / "csrc" / "bind" / "table.cpp",
]
STRUCTURE = re.compile(r"typedef struct (\w+) \{(.*?)\n?\} \1;", re.DOTALL)
ENUMERATION = re.compile(r"enum (?:\w+ )?\{([^}]*)\}", re.DOTALL)
FUNCTION = re.compile(r"typedef ([^;{}]*?)\(\*(\w+)\)(\([^;]*\));", re.DOTALL)
MACRO = re.compile(r"^#define (TL_\w+)(\([^)]*\))?[ \t]+(\S.*)$", re.MULTILINE)
DIGEST = re.compile(r"(#define TL_API_DIGEST UINT64_C\()0x[0-9a-f]+(\))")
TARGET = re.compile(r"^#if TL_API_TARGET >= (\d+)\n(.*?)^#endif", re.MULTILINE | re.DOTALL)
# Versions and the digest of the record itself.
UNRECORDED = {"TL_API_MINOR", "TL_API_DIGEST", "TL_API_DRAFT", "TL_API_TARGET"}
# What may run on a newer core than it was compiled for.
CLIENTS = [CORE / "include", CORE / "csrc" / "stable_abi"]
CLIENTS += [p for p in sorted(ROOT.glob("packages/*/csrc")) if p.parent != CORE]
LOOSE = {"enum", "typedef", "macro"}  # groups without an order
INDEXED = re.compile(r"\b(info|info_|plain)(->|\.)(args|rets)\[")
PINNED = re.compile(r"static_assert\(offsetof\((\w+), (\w+)\) ==")
POINTER = re.compile(r"^(.*?)\(\*\s*(\w+)\)\s*(\(.*\))$")


@dataclass(frozen=True)
class Entry:
    """A line of the record. `since` is the minor version that brought it."""

    group: str  # the structure, `enum` or `typedef`
    name: str
    type: str
    since: int

    def __str__(self) -> str:
        return f"{self.group} {self.name} 1.{self.since} {self.type}"


def without_comments(text: str) -> str:
    """C source without comments."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)


def fields(body: str) -> list[tuple[str, str]]:
    """(name, type) of each field of a structure; unions keep their text."""
    found = []
    for statement in _statements(body):
        if pointer := POINTER.match(statement):
            found.append((pointer[2], f"{pointer[1].strip()} (*){pointer[3]}"))
        elif statement.startswith("union"):
            found.append((statement.rsplit("}", 1)[1].strip(), statement.rsplit("}", 1)[0] + "}"))
        else:
            kind, first, rest = _declaration(statement)
            found += [(name.strip(), kind) for name in [first, *rest]]
    return found


def _statements(body: str) -> list[str]:
    flat = re.sub(r"(?<=\() | (?=\))", "", re.sub(r"\s+", " ", body))
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(flat):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == ";" and depth == 0:
            parts.append(flat[start:at].strip())
            start = at + 1
    return parts


def _declaration(statement: str) -> tuple[str, str, list[str]]:
    first, *rest = statement.split(",")
    kind, name = re.match(r"^(.*?[\s*])(\w+(?:\[\w+\])?)$", first.strip()).groups()  # type: ignore[union-attr]
    return re.sub(r"\s+", " ", kind).strip(), name, rest


def constants(body: str) -> list[tuple[str, str]]:
    """(name, value) of each constant of an enumeration; values are given or counted."""
    found, count = [], 0
    for item in filter(None, (i.strip() for i in body.split(","))):
        name, _, value = (part.strip() for part in item.partition("="))
        count = int(value, 0) if value else count
        found.append((name, str(count)))
        count += 1
    return found


def parse(text: str) -> list[tuple[str, str, str]]:
    """(group, name, type) of everything in a header that crosses the interface."""
    text = without_comments(text).replace("\\\n", " ")
    macros = [
        ("macro", name, " ".join(f"{parameters} {value}".split()))
        for name, parameters, value in MACRO.findall(text)
        if name not in UNRECORDED
    ]
    text = re.sub(r"^#[^\n]*", "", text, flags=re.MULTILINE)
    found = [(name, *field) for name, body in STRUCTURE.findall(text) for field in fields(body)]
    found += [("enum", *c) for body in ENUMERATION.findall(text) for c in constants(body)]
    flat = [(" ".join(part.split()) for part in f) for f in FUNCTION.findall(text)]
    functions = [("typedef", name, f"{result} (*){arguments}") for result, name, arguments in flat]
    return found + functions + macros


def minor_of(text: str) -> int:
    """The minor version that the header states."""
    stated = re.search(r"#define TL_API_MINOR (\d+)", text)
    if stated is None:
        raise ValueError("c_api.h does not define TL_API_MINOR")
    return int(stated[1])


def without_minor(text: str, minor: int) -> str:
    """A header as an extension sees it whose target lacks a minor."""
    return TARGET.sub(lambda match: "" if int(match[1]) == minor else match[0], text)


def unhidden(now: list[Entry], headers: list[Path]) -> list[str]:
    """Entries of newer minors that an extension for an older one sees, in words."""
    hidden: dict[tuple[str, str], int] = {}
    for header in headers:
        text = without_comments(header.read_text()) if header.exists() else ""
        whole = {(group, name) for group, name, _ in parse(text)}
        for minor in sorted({int(m) for m, _ in TARGET.findall(text)}):
            rest = without_minor(text, minor)
            hidden |= dict.fromkeys(whole - {(group, name) for group, name, _ in parse(rest)}, minor)
    return [
        f"seen by all: {e} stands outside of #if TL_API_TARGET >= {e.since}"
        for e in now
        if e.since and e.group not in LOOSE and hidden.get((e.group, e.name), 0) != e.since
    ]


def unpinned(now: list[Entry], pins: list[Path]) -> list[str]:
    """Ends of structures that grow, of each minor version, whose offset no static_assert states, in words."""
    ends = {(e.group, e.since): e for e in now if e.group not in LOOSE}
    growing = {e.group for e in now if e.name == "struct_size"}
    stated = set(PINNED.findall("".join(p.read_text() for p in pins if p.exists())))
    return [
        f"not pinned: no static_assert states the offset of {e}"
        for e in ends.values()
        if e.group in growing and e.name != "minor" and (e.group, e.name) not in stated
    ]


def indexed(folders: list[Path]) -> list[str]:
    """Lines outside of the core that index the descriptions of arguments, whose size the core states, in words."""
    files = (f for folder in folders for p in ("*.cpp", "*.h", "*.hpp") for f in folder.rglob(p))
    return [
        f"indexed: {f.relative_to(ROOT)}:{number} has to step by tl_argument"
        for f in sorted(files)
        for number, line in enumerate(f.read_text().splitlines(), 1)
        if INDEXED.search(line)
    ]


def digest(entries: list[Entry]) -> str:
    """A number for a draft: what an extension and the core must agree on."""
    text = "\n".join(f"{e.group} {e.name} {e.type}" for e in entries)
    return f"0x{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def stated_digest(headers: list[Path]) -> str | None:
    """The digest that the headers state; None without one."""
    for header in headers:
        if header.exists() and (match := DIGEST.search(header.read_text())):
            return match[0].partition("UINT64_C(")[2].rstrip(")")
    return None


def write_digest(headers: list[Path], value: str) -> None:
    """Writes the digest into the header that states it."""
    for header in headers:
        if header.exists() and DIGEST.search(text := header.read_text()):
            header.write_text(DIGEST.sub(rf"\g<1>{value}\g<2>", text))


def read(record: Path) -> tuple[str, list[Entry]]:
    """The state (`draft` or `frozen`) and the entries of a record."""
    if not record.exists():
        return "draft", []
    lines = [line for line in record.read_text().splitlines() if line and not line.startswith("#")]
    entries = []
    for line in lines[1:]:
        group, name, since, kind = line.split(" ", 3)
        entries.append(Entry(group, name, kind, int(since.split(".")[1])))
    return lines[0].split()[1], entries


def current(recorded: list[Entry], headers: list[Path]) -> list[Entry]:
    """The headers' entries; known ones keep their `since`, new ones get the header's minor version."""
    texts = [h.read_text() for h in headers if h.exists()]
    since = {(e.group, e.name): e.since for e in recorded}
    minor = minor_of("\n".join(texts))
    return [Entry(g, n, t, since.get((g, n), minor)) for text in texts for g, n, t in parse(text)]


def differences(recorded: list[Entry], now: list[Entry]) -> list[str]:
    """What the record and the headers do not agree on, in words."""
    found = []
    then = {(e.group, e.name): e for e in recorded}
    present = {(e.group, e.name): e for e in now}
    found += [f"gone: {e}" for key, e in then.items() if key not in present]
    found += [f"new: {e}" for key, e in present.items() if key not in then]
    for key, e in then.items():
        if key in present and present[key].type != e.type:
            found.append(f"changed: {e.group} {e.name} was {e.type}, is {present[key].type}")
    for group in dict.fromkeys(e.group for e in recorded if e.group not in LOOSE):
        before = [e.name for e in recorded if e.group == group and (group, e.name) in present]
        after = [e.name for e in now if e.group == group and (group, e.name) in then]
        moved = [b for b, a in zip(before, after, strict=True) if a != b]
        if moved:
            found.append(f"moved: {group} has {', '.join(moved)} in another order")
    return found


def broken_promises(recorded: list[Entry], now: list[Entry]) -> list[str]:
    """Differences that a frozen interface does not allow: all but new constants and additions at a structure's end."""
    found = [d for d in differences(recorded, now) if not d.startswith("new:")]
    extensible = {e.group for e in recorded if e.name == "struct_size"}
    for group in {e.group for e in recorded} - LOOSE:
        before = [e.name for e in recorded if e.group == group]
        after = [e.name for e in now if e.group == group]
        if after[: len(before)] != before and sorted(after[: len(before)]) != sorted(before):
            found.append(f"inserted: {group} has a new entry that is not at its end")
        if len(after) > len(before) and group not in extensible:
            found.append(f"grown: {group} carries no struct_size, so it cannot grow")
    newest = max((e.since for e in recorded), default=0)
    known = {(e.group, e.name) for e in recorded}
    stale = [e for e in now if (e.group, e.name) not in known and e.since <= newest]
    return found + [f"not newer: {e} needs a TL_API_MINOR above {newest}" for e in stale]


def write(record: Path, state: str, entries: list[Entry]) -> None:
    """Writes a record."""
    lines = [
        "# What crosses the C interface: the structure, the name, since which version, the type; in order.",
        "# Written by `python -m tools.abi freeze`. While the state is draft, entries may still change.",
        f"state {state}",
        *map(str, entries),
    ]
    record.parent.mkdir(exist_ok=True)
    record.write_text("\n".join(lines) + "\n")


def main(
    arguments: list[str] | None = None,
    headers: list[Path] = HEADERS,
    record: Path = RECORD,
    pins: list[Path] | None = PINS,
) -> int:
    """Compares or writes; without files of pins, no end has to be pinned."""
    parser = argparse.ArgumentParser(prog="python -m tools.abi", description=__doc__)
    parser.add_argument("action", choices=["diff", "freeze"])
    parser.add_argument(
        "--final", action="store_true", help="freeze for good: from now on entries are only added"
    )
    options = parser.parse_args(arguments)
    state, recorded = read(record)
    now = current(recorded, headers)
    if options.action == "diff":
        found = differences(recorded, now) + unhidden(now, headers)
        found += [*unpinned(now, pins), *indexed(CLIENTS)] if pins is not None else []
        if (stated := stated_digest(headers)) not in (None, digest(now)):
            found.append(f"digest: the headers state {stated}, their entries give {digest(now)}")
        print(
            "\n".join([*found, f"{len(now)} entries, {len(found)} differences from {record.name} ({state})"])
        )
        return 1 if found else 0
    if state == "frozen" and (broken := broken_promises(recorded, now) + unhidden(now, headers)):
        print("\n".join(["refused, the interface is frozen:", *broken]), file=sys.stderr)
        return 1
    write(record, "frozen" if options.final else state, now)
    write_digest(headers, digest(now))
    print(f"{record.name}: {len(now)} entries")
    return 0


if __name__ == "__main__":
    sys.exit(main())
