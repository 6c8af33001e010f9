"""`python -m tools.explanations [--write]`: the pages of the catalogue of errors, as the file that `tl explain` reads.

Each page of `docs/errors` becomes a block: its name, a regular expression that finds its message, and its text. The
expression is the title, or the comment `<!-- message: … -->` below it. Without --write, a stale file is an error.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tools.packages import ROOT

PAGES = ROOT / "docs" / "errors"
FILE = ROOT / "packages" / "tl-all" / "src" / "tl_commands" / "explanations.txt"
MESSAGE = re.compile(r"^<!-- message: (.*) -->\n\n", re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


def block(name: str, page: str) -> str:
    r"""The block of a page.

    Args:
        name: the name of the page.
        page: its text.

    Example:
        >>> print(block("no-sum", "# no sum\n\nSee [sums](sums.md).\n"))
        = no-sum
        no\ sum
        # no sum
        <BLANKLINE>
        See sums.
    """
    own = MESSAGE.search(page)
    title = page.partition("\n")[0].removeprefix("# ")
    text = LINK.sub(r"\1", MESSAGE.sub("", page))
    lines = [line for line in text.splitlines() if not line.startswith("```")]
    return "\n".join([f"= {name}", own[1] if own else re.escape(title), *lines]).strip()


def text() -> str:
    """The file for the pages as they are."""
    pages = [page for page in sorted(PAGES.glob("*.md")) if page.stem != "index"]
    return "\n\n".join(block(page.stem, page.read_text()) for page in pages) + "\n"


def main() -> int:
    """Writes or compares; the exit status is 1 if the file is stale."""
    if "--write" in sys.argv[1:]:
        FILE.write_text(text())
    elif not FILE.exists() or FILE.read_text() != text():
        print(f"{Path(FILE).relative_to(ROOT)} is stale: python -m tools.explanations --write")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
