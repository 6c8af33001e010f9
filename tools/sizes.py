"""`python -m tools.sizes [DIST ...]`: the installed size of each package, held against its ceiling."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

from tools.packages import MB, TABLE, TOTAL_CEILING, dist_of
from tools.wheels import wheels


def unpacked(wheel: Path) -> int:
    """Bytes of everything in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return sum(entry.file_size for entry in archive.infolist())


def report(sizes: dict[str, int], ceilings: dict[str, int], total: int) -> tuple[list[str], bool]:
    """The lines to print, and whether every ceiling is kept."""
    rows = [(dist, size, ceilings[dist]) for dist, size in sizes.items()]
    rows.append(("all", sum(sizes.values()), total))
    lines = [f"{dist:14}{size / MB:8.2f} MB of {ceiling / MB:.2f}{'' if size <= ceiling else '  <- too big'}"
             for dist, size, ceiling in rows]  # fmt: skip
    return lines, all(size <= ceiling for _, size, ceiling in rows)


def main() -> int:
    """Prints the sizes; the exit status is 1 if a ceiling is broken."""
    built = {dist_of(w): unpacked(w) for w in wheels(sys.argv[1:] or None)}
    lines, good = report(built, {dist: d.ceiling for dist, d in TABLE.items()}, TOTAL_CEILING)
    print("\n".join(lines))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
