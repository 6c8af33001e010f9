"""The table of the error catalogue: the message that each page shows, and a link to the page.

The pages are in `errors/`. Their examples raise the errors, and `tools.doc_examples` compares the messages.
"""

from __future__ import annotations

import re
from pathlib import Path

MESSAGE = re.compile(r"^Traceback \(most recent call last\):\n([\w.]*?)(\w+): (.*)", re.MULTILINE)


def title_of(text: str) -> str:
    """The heading of a page."""
    return text.partition("\n")[0].removeprefix("# ")


def message_of(text: str) -> tuple[str, str]:
    """The class of the first error on a page, and the first line of its message."""
    error = MESSAGE.search(text)
    if error is None:
        raise ValueError(f"the page {title_of(text)!r} raises no error")
    return error[2], error[3]


def table(folder: Path) -> str:
    """All pages, sorted by the class of the error and the message."""
    pages = {file.stem: file.read_text() for file in folder.glob("*.md") if file.stem != "index"}
    rows = sorted((*message_of(text), name, title_of(text)) for name, text in pages.items())
    lines = [f"| `{error}` | [{title}](../errors/{name}.md) |" for error, _, name, title in rows]
    return "\n".join(["| error | page |", "|---|---|", *lines, ""])
