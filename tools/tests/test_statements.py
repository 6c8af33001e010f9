"""A statement of a page needs a program that shows it, and a false one fails."""

from tools import statements

PAGE = """# Title

A paragraph
of two lines.

| what | here |
|---|---|
| sums | are 2 |
| adds | `nox -s bench` measures it |

```python
>>> 1 + 1
2
```

<!-- figures -->

Made by a tool.

<!-- /figures -->
"""
SHOWN = """
> A paragraph of two lines.

not run: it introduces

> | sums | are 2 |

>>> 1 + 1
2
"""


def test_rows_and_paragraphs_are_statements():
    assert statements.statements(PAGE) == ["A paragraph of two lines.", "| sums | are 2 |"]


def test_items_of_lists_are_statements_and_links_alone_are_none():
    table = "| [a](a.md) | [b](b.md) |\n|---|---|\n| [c](c.md) | [d](d.md) |\n"
    page = f"- one\n  item\n- another\n\n![picture](a.svg)\n\n{table}"
    assert statements.statements(page) == ["- one item", "- another"]


def test_what_is_shown_is_shown_word_for_word():
    shown = statements.proofs(SHOWN)
    assert statements.errors({"page": PAGE}, shown) == []
    changed = PAGE.replace("are 2", "are 3")
    found = statements.errors({"page": changed}, shown)
    assert found == [
        "page: nothing shows: | sums | are 3 |",
        "tools/statements.md: no page states: | sums | are 2 |",
    ]
    bare = statements.proofs(SHOWN.replace(">>> 1 + 1\n2\n", ""))
    assert statements.errors({"page": PAGE}, bare) == [
        "tools/statements.md: neither a program nor a reason: | sums | are 2 |"
    ]


def test_a_false_statement_fails(capsys):
    true, false = (statements.proofs(SHOWN.replace("\n2\n", f"\n{n}\n")) for n in (2, 3))
    assert statements.run(statements.tests(true)).failed == 0
    assert statements.run(statements.tests(false)).failed == 1
    assert "Expected" in capsys.readouterr().out


def test_sessions_and_links_are_there():
    page = "`nox -s docs` and `nox -s kill-checkpoint`, [house](docs/design/house.md#x)"
    assert statements.commands({"README.md": page}) == []
    page = "`nox -s nonsense`, [house](docs/nonsense.md), [web](https://example.org)"
    assert statements.commands({"README.md": page}) == [
        "README.md: there is no session nonsense",
        "README.md: there is no docs/nonsense.md",
    ]
