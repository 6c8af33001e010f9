"""The file of `tl explain`, from the pages of the catalogue of errors."""

import re

import pytest

from tools import explanations


@pytest.mark.parametrize(
    ("page", "expression", "rest"),
    [
        ("# no sum (a)\n\nSee [sums](sums.md).\n", r"no\ sum\ \(a\)", "# no sum (a)\n\nSee sums."),
        ("# t\n\n<!-- message: a+b -->\n\n```python\n>>> 1\n1\n```\n", "a+b", "# t\n\n>>> 1\n1"),
    ],
)
def test_a_block(page, expression, rest):
    assert explanations.block("name", page) == f"= name\n{expression}\n{rest}"


def test_the_file_is_fresh_and_has_each_page():
    names = {page.stem for page in explanations.PAGES.glob("*.md")} - {"index"}
    assert {*re.findall(r"^= (\S+)$", explanations.text(), re.MULTILINE)} == names
    assert explanations.FILE.read_text() == explanations.text()
