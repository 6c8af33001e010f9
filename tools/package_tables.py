"""`python -m tools.package_tables [--write]`: the tables and lists that follow tools/packages.py.

The files are docs/install.md, docs/design/house.md, pyproject.toml and the workflow of the wheels. Without --write, the
command names the files that differ, and its exit status is 1.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.packages import ROOT, TABLE, packages

INSTALL, HOUSE, SETTINGS = "docs/install.md", "docs/design/house.md", "pyproject.toml"
WHEELS = ".github/workflows/wheels.yml"
BEGIN, END = "<!-- packages -->\n", "<!-- /packages -->"


def table(columns: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(r)} |" for r in [columns, *rows]).replace(
        "\n", f"\n|{'---|' * len(columns)}\n", 1
    )


def install_table(imports: dict[str, str]) -> str:
    """Distribution, import name, contents."""
    rows = [[d, f"`{imports[d]}`", design.holds] for d, design in TABLE.items()]
    return table(["package", "import name", "contents"], rows)


def house_table(imports: dict[str, str]) -> str:
    """Import name and whom it may import; what may import all others says so."""
    rows = []
    for dist, design in TABLE.items():
        parts: dict[str, list[str]] = {}
        for part, extra in design.extras_of_parts.items():
            parts.setdefault(extra, []).append(f"`{part.partition('.')[2]}`")
        others = len(TABLE) - 1
        allowed = "all others" if len(design.may_import) == others else ", ".join(design.may_import)
        more = "".join(f"; the extra `{extra}` only in {', '.join(names)}" for extra, names in parts.items())
        rows.append([f"`{imports[dist]}`", (allowed or "numpy, when it is asked for") + more])
    return table(["package", "may import"], rows)


def marked(text: str, rows: str) -> str:
    """The text with another table between the marks."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{rows}\n\n{END}{rest.partition(END)[2]}"


def listed(text: str, before: str, names: list[str]) -> str:
    """The text with the one-line list after `before` exchanged."""
    return re.sub(rf"({re.escape(before)})\[[^\]]*\]", lambda m: f"{m[1]}[{', '.join(names)}]", text)


def wheel_lists(text: str) -> str:
    """The workflow's matrices: native packages with what each needs, pure ones, all."""
    native = {p.dist for p in packages().values() if p.is_native}
    wanted = iter([[d for d in TABLE if d in native], [d for d in TABLE if d not in native], list(TABLE)])
    text = re.sub(r"(?<= package: )\[[^\]]*\]", lambda m: f"[{', '.join(next(wanted))}]", text)
    rows = "".join(
        f'          - {{ package: {dist}, needs: "{" ".join(f"./{each}" for each in needs)}" }}\n'
        for dist in TABLE
        if dist in native and (needs := requirements(dist))
    )
    return re.sub(r"(?m)(?:^ +- \{ package: .*\n)+", lambda _: rows, text)


def requirements(dist: str) -> list[str]:
    """The packages of the repository that a package needs, with theirs, in the order of the table."""
    every, found = packages(), set[str]()
    ahead = [dist]
    while ahead:
        new = {name for name in every[ahead.pop()].dependencies if name in every} - found
        found |= new
        ahead += new
    return [name for name in TABLE if name in found]


def updated(root: Path) -> Iterator[tuple[Path, str]]:
    """Each file with the text that it must have."""
    imports = {p.dist: p.import_name for p in packages(root).values()}
    for name, rows in ((INSTALL, install_table(imports)), (HOUSE, house_table(imports))):
        yield root / name, marked((root / name).read_text(), rows)
    first_party = [f'"{name}"' for name in sorted([*imports.values(), "tools"])]
    yield root / SETTINGS, listed((root / SETTINGS).read_text(), "known-first-party = ", first_party)
    yield root / WHEELS, wheel_lists((root / WHEELS).read_text())


def main() -> int:
    """Writes or compares."""
    missing = set(packages()) ^ set(TABLE)
    stale = [(path, text) for path, text in updated(ROOT) if path.read_text() != text]
    for path, text in stale:
        if "--write" in sys.argv:
            path.write_text(text)
        print(
            f"{path.relative_to(ROOT)}: {'written' if '--write' in sys.argv else 'differs from tools/packages.py'}"
        )
    for dist in sorted(missing):
        print(f"{dist}: in packages/ or in tools/packages.py, but not in both")
    return 1 if missing or (stale and "--write" not in sys.argv) else 0


if __name__ == "__main__":
    sys.exit(main())
