"""`tl explain MESSAGE`: causes and fixes of common errors, from the catalogue of errors of the documentation.

`explanations.txt` has the pages of `docs/errors`, each with a regular expression that finds its message.
"""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import NamedTuple

FILE = os.path.join(os.path.dirname(__file__), "explanations.txt")
_BLOCK = re.compile(r"^= (\S+)\n(.+)\n(# (.+)\n(?:(?!= ).*\n?)*)", re.MULTILINE)


class Page(NamedTuple):
    """A page of the catalogue.

    Args:
        name: its name.
        message: a regular expression, which finds the message.
        title: its heading.
        text: the whole page.
    """

    name: str
    message: str
    title: str
    text: str


def pages() -> list[Page]:
    """All pages of the catalogue."""
    with open(FILE, encoding="utf-8") as file:
        return [
            Page(name, message, title, text.rstrip())
            for name, message, text, title in _BLOCK.findall(file.read())
        ]


def page_of(message: str) -> Page | None:
    """The page of a message: the one whose expression finds the longest part of it, or None.

    Args:
        message: the message, or a traceback with it.

    Example:
        >>> page_of("RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x32 and 33x10)").name
        'matmul-shapes'
        >>> page_of("no message of the catalogue") is None
        True
    """
    matches = [(match, page) for page in pages() if (match := re.search(page.message, message))]
    return max(matches, key=lambda pair: len(pair[0][0]))[1] if matches else None


def get_parser(program: str) -> argparse.ArgumentParser:
    """The parser of the command."""
    about = "Describes causes and fixes of an error. Without words, it lists the errors."
    parser = argparse.ArgumentParser(program, description=about)
    parser.add_argument(
        "words", nargs="*", help="the name of a page, a message, or - for a traceback on stdin"
    )
    return parser


def main(arguments: Sequence[str], program: str) -> int:
    """Runs the command. Returns the exit status: 1 if no page fits."""
    words = " ".join(get_parser(program).parse_args(arguments).words)
    every = pages()
    if not words:
        width = max(len(page.name) for page in every)
        print(*(f"  {page.name.ljust(width)}  {page.title}" for page in every), sep="\n")
        print(f"\n`{program} NAME` describes causes and fixes.")
        return 0
    message = sys.stdin.read() if words == "-" else words
    page = next((page for page in every if page.name == words), None) or page_of(message)
    if page is None:
        print(f"{program}: no page describes this error; `{program}` lists the pages", file=sys.stderr)
        return 1
    print(page.text)
    return 0
