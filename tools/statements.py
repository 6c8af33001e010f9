"""`python -m tools.statements`: runs what the migration page, the README and the benchmarks page state.

`tools/statements.md` holds each statement of the pages, word for word as `> statement`, and below it a program that
shows it, or a line `not run: reason`. A statement is a row of a table or a paragraph. A page that states something else
than what has been shown, a program that fails, and a program whose statement is gone are errors. `--list` prints what
isn't there yet.
"""

from __future__ import annotations

import ast
import doctest
import re
import sys
import warnings
from typing import NamedTuple

from tools.doc_examples import run
from tools.packages import ROOT

PAGES = ("docs/guide/migration.md", "README.md", "docs/benchmarks.md")
FILE = ROOT / "tools" / "statements.md"
_LEFT_OUT = re.compile(r"```.*?```|<!-- (\w+) -->.*?<!-- /\1 -->", re.DOTALL)
_MEASURED = re.compile(
    r"`(CCACHE_DISABLE|nox -s|python -m tl\.torch -m pytest|python -m tools\.)"
)  # rows that name their own command
_LINK = re.compile(r"!?\[[^\]]*\]\([^)]*\)")


class Proof(NamedTuple):
    """What shows a statement.

    Args:
        program: an example as in a docstring; empty where none can be run.
        reason: why none can be run.
        line: where it stands.
    """

    program: str
    reason: str
    line: int


def statements(text: str) -> list[str]:
    """The rows of tables, the items of lists and the paragraphs of a page.

    Headings, programs, links alone and the parts that tools write are no statements.

    Args:
        text: the page.
    """
    found: list[str] = []
    for block in re.split(r"\n\s*\n", _LEFT_OUT.sub("", text)):
        lines = [line.strip() for line in block.strip().splitlines() if not line.startswith("#")]
        if lines and lines[0].startswith("|"):
            found += [
                line for line in lines[2:] if not _MEASURED.search(line)
            ]  # without the heads of the columns
        elif lines and lines[0].startswith("- "):
            found += re.split(r" (?=- )", " ".join(lines))
        elif lines:
            found.append(" ".join(lines))
    return [statement for statement in found if _LINK.sub("", statement).strip("| ")]


def proofs(text: str) -> dict[str, Proof]:
    """What shows each statement.

    Args:
        text: the file of statements.
    """
    found: dict[str, Proof] = {}
    for match in re.finditer(r"^> (.*)\n\n?((?:(?!^> ).*\n?)*)", text, re.MULTILINE):
        body = match[2].strip("\n")
        reason = re.search(r"^not run: (.*)", body, re.MULTILINE)
        line = text[: match.start()].count("\n")
        found[match[1].strip()] = Proof(body if ">>>" in body else "", reason[1] if reason else "", line)
    return found


def errors(pages: dict[str, str], shown: dict[str, Proof]) -> list[str]:
    """Statements that nothing shows, and what shows no statement.

    Args:
        pages: the pages' texts by their names.
        shown: what `proofs` returns.
    """
    stated = {statement: name for name, text in pages.items() for statement in statements(text)}
    found = [f"{name}: nothing shows: {text}" for text, name in stated.items() if text not in shown]
    found += [f"tools/statements.md: no page states: {text}" for text in shown if text not in stated]
    found += [
        f"tools/statements.md: neither a program nor a reason: {text}"
        for text, proof in shown.items()
        if not proof.program and not proof.reason
    ]
    return found


def commands(pages: dict[str, str]) -> list[str]:
    """Sessions of nox that pages name and that aren't there, and links to files that aren't there.

    Args:
        pages: the pages' texts by their names.
    """
    sessions = {
        node.name for node in ast.parse((ROOT / "noxfile.py").read_text()).body if hasattr(node, "name")
    }
    text = (ROOT / "noxfile.py").read_text()
    named = set(re.findall(r'name=f?"([a-z-]+)', text))
    found = []
    for name, page in pages.items():
        for session in set(re.findall(r"nox -s ([a-z-]+)", page)):
            known = session.replace("-", "_") in sessions or session in named or session.startswith("alone-")
            found += [] if known else [f"{name}: there is no session {session}"]
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page):
            if not (ROOT / name).parent.joinpath(link).exists():
                found.append(f"{name}: there is no {link}")
    return found


def tests(shown: dict[str, Proof]) -> list[doctest.DocTest]:
    """The programs as tests.

    Args:
        shown: what `proofs` returns.
    """
    parser = doctest.DocTestParser()
    return [
        parser.get_doctest(proof.program, {}, text[:60], str(FILE), proof.line)
        for text, proof in shown.items()
        if proof.program
    ]


def main() -> int:
    """Prints errors and failures; the exit status is 1 if there are any."""
    pages = {name: (ROOT / name).read_text() for name in PAGES}
    shown = proofs(FILE.read_text() if FILE.exists() else "")
    if "--list" in sys.argv:
        print(
            *(f"> {text}\n" for page in pages.values() for text in statements(page) if text not in shown),
            sep="\n",
        )
        return 0
    found = errors(pages, shown) + commands(pages)
    print(*found, sep="\n")
    warnings.simplefilter("ignore")
    result = run(tests(shown))
    print(f"{len(shown)} statements, {result.attempted} examples, {result.failed} failed")
    return 1 if found or result.failed else 0


if __name__ == "__main__":
    sys.exit(main())
