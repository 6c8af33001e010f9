"""`python -m tools.add_operator FOLDER`: a copy of the native packages with the operator that the guide adds.

The row and the function are the texts that stand in docs/design/adding-an-operator.md, so the page is proven as well.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from tools.packages import ROOT

GUIDE = ROOT / "docs" / "design" / "adding-an-operator.md"
COPIED = ("tl-core", "tl-autograd")
MADE = shutil.ignore_patterns("build", "vendor", "__pycache__", ".*", "*.so")
# Where the guide says each text belongs, and the line before which it goes in.
ROW = (r"The row, in `([\w/.]+)`:\n\n```text\n(.*?)```", "]  # fmt: skip")
FUNCTION = (r"The function of one element, in `([\w/.]+)`.*?```text\n(.*?)```", "\n#undef TL_UNARY\n")


def inserted(text: str, new: str, before: str) -> str:
    """`text` with `new` before the last occurrence of `before`."""
    position = text.rindex(before)
    return text[:position] + new + text[position:]


def add(package: Path, guide: str, pattern: str, before: str) -> None:
    """Puts one of the guide's texts into the file that it names."""
    found = re.search(pattern, guide, re.DOTALL)
    if found is None:
        raise ValueError(f"{GUIDE}: expected text like {pattern!r}")
    file = package / found[1]
    file.write_text(inserted(file.read_text(), found[2], before))


def main() -> None:
    """Copies and adds."""
    (folder,) = map(Path, sys.argv[1:])
    shutil.rmtree(folder, ignore_errors=True)
    for dist in COPIED:
        shutil.copytree(ROOT / "packages" / dist, folder / "packages" / dist, ignore=MADE)
    guide = GUIDE.read_text()
    for pattern, before in (ROW, FUNCTION):
        add(folder / "packages" / "tl-core", guide, pattern, before)


if __name__ == "__main__":
    main()
