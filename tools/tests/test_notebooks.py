"""The notebooks of the tutorials: their cells are the examples of the pages, which `tools.doc_examples` runs."""

import doctest
import sys
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat writes the notebooks")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))

import notebooks  # noqa: E402 - needs the path above

PAGES = sorted(p for p in (ROOT / "docs" / "tutorials").glob("*.md") if p.stem != "index")


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_cells_are_the_examples_of_the_page(page):
    examples = doctest.DocTestParser().get_examples(page.read_text())
    sources = "\n".join(cell.source for cell in code(notebooks.notebook(page)))
    assert sources == "\n".join(example.source.rstrip("\n") for example in examples)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_directive_of_the_site_is_left(page):
    text = "\n".join(cell.source for cell in notebooks.notebook(page).cells if cell.cell_type == "markdown")
    assert "{literalinclude}" not in text
    assert "{download}" not in text


def test_outputs_are_those_of_the_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n```python\n>>> x = 1\n>>> x + 1\n2\n>>> print(x)\n1\n>>> 1 / 0\nTraceback (most recent call last):\n"
        "ZeroDivisionError: division by zero\n\n```\n\nThe end.\n"
    )
    cells = notebooks.notebook(page).cells
    assert [cell.cell_type for cell in cells] == ["markdown", "code", "code", "code", "markdown"]
    assert cells[1].source == "x = 1\nx + 1"
    assert cells[1].outputs[0].data == {"text/plain": "2"}
    assert cells[2].outputs[0].text == "1\n"
    assert cells[3].outputs[0].ename == "ZeroDivisionError"
    assert cells[3].metadata.tags == ["raises-exception"]


def test_a_listing_is_the_source(tmp_path):
    (tmp_path / "code.py").write_text("def f(x):\n    return x\n\n\ndef g():\n    pass\n")
    text = "```{literalinclude} code.py\n:pyobject: f\n```\n"
    assert notebooks.with_listings(text, tmp_path) == "```python\ndef f(x):\n    return x\n```\n"
    with pytest.raises(LookupError, match="has no h"):
        notebooks.listing(tmp_path / "code.py", "h")


def test_every_notebook_can_be_read(tmp_path):
    notebooks.write(ROOT / "docs" / "tutorials", tmp_path)
    files = sorted(tmp_path.glob("*.ipynb"))
    assert [file.stem for file in files] == [page.stem for page in PAGES]
    for file in files:
        nbformat.validate(nbformat.read(file, as_version=4))
