"""The tutorials as notebooks: the text of each page, its examples as cells, and their expected output.

The sources of the tutorials are doctests, which no converter of notebooks reads. The examples of a page run as its
notebook does, so `tools.doc_examples` tests both.
"""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import v4

LISTING = re.compile(r"```\{literalinclude\} (\S+)\n:pyobject: (\w+)\n```")
DOWNLOAD = re.compile(r"^.*\{download\}.*\n", re.MULTILINE)
SESSION = re.compile(r"^```python\n(>>> .*?)^```\n", re.MULTILINE | re.DOTALL)
Cell = nbformat.NotebookNode


def listing(file: Path, name: str) -> str:
    """The source of a function or class of a file."""
    text = file.read_text()
    for node in ast.parse(text).body:
        if getattr(node, "name", None) == name:
            return ast.get_source_segment(text, node) or ""
    raise LookupError(f"{file} has no {name}")


def with_listings(text: str, folder: Path) -> str:
    """A page with the source of each listing in the place of the directive."""
    return LISTING.sub(lambda m: f"```python\n{listing(folder / m[1], m[2])}\n```", text)


def output(example: doctest.Example, number: int) -> list[Cell]:
    """The output that the page states for an example."""
    if not example.want:
        return []
    if example.exc_msg is not None:
        name, _, value = example.exc_msg.strip().partition(": ")
        return [v4.new_output("error", ename=name, evalue=value, traceback=example.want.splitlines())]
    if example.source.startswith(("print", "for ", "with ")):
        return [v4.new_output("stream", name="stdout", text=example.want)]
    data = {"text/plain": example.want.rstrip("\n")}
    return [v4.new_output("execute_result", data=data, execution_count=number)]


def code_cells(session: str, number: int) -> Iterator[Cell]:
    """The cells of a session. A cell ends with the statement whose output the page shows."""
    lines: list[str] = []
    examples = doctest.DocTestParser().get_examples(session)
    for example in examples:
        lines.append(example.source.rstrip("\n"))
        if example.want or example is examples[-1]:
            number += 1
            cell = v4.new_code_cell("\n".join(lines), execution_count=number, outputs=output(example, number))
            cell.metadata["tags"] = ["raises-exception"] if example.exc_msg is not None else []
            yield cell
            lines = []


def cells(text: str) -> Iterator[Cell]:
    """The cells of a page."""
    number = 0
    for i, part in enumerate(SESSION.split(text)):
        if i % 2 == 0:
            if part.strip():
                yield v4.new_markdown_cell(part.strip())
            continue
        for cell in code_cells(part, number):
            number = cell.execution_count
            yield cell


def notebook(page: Path) -> Cell:
    """The notebook of a page."""
    listed = list(cells(with_listings(DOWNLOAD.sub("", page.read_text()), page.parent)))
    for i, cell in enumerate(listed):
        cell.id = f"cell-{i}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    result = v4.new_notebook(
        cells=listed, metadata={"kernelspec": kernel, "language_info": {"name": "python"}}
    )
    nbformat.validate(result)
    return result


def write(tutorials: Path, folder: Path) -> None:
    """Writes a notebook for each tutorial; unchanged ones keep their date."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in sorted(tutorials.glob("*.md")):
        file, text = folder / f"{page.stem}.ipynb", nbformat.writes(notebook(page)) + "\n"
        if page.stem != "index" and (not file.exists() or file.read_text() != text):
            file.write_text(text)
