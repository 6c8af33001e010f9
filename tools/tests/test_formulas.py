"""Formulas and shapes in the docstrings of layers and losses."""

import tomllib

import pytest

from tools import formulas

DOC = """The sum of two numbers.

Formula:
    .. math::

        x + y

Shape:
    - Input: (*)
"""

NO_SHAPE = DOC.replace("    - Input: (*)\n", "")


def test_sections_of_a_docstring():
    assert formulas.missing(DOC) == []
    assert formulas.missing("The sum of two numbers.") == ["Formula", "Shape"]
    assert formulas.missing(NO_SHAPE) == ["Shape"]
    assert formulas.missing(DOC.replace(".. math::", "")) == ["math"]


def test_a_class_without_formula_and_a_stale_excuse(monkeypatch):
    pytest.importorskip("tl_nn")
    monkeypatch.setattr(formulas, "layers", lambda: [("Sum", type("Sum", (), {"__doc__": DOC}))])
    monkeypatch.setattr(formulas, "losses", lambda: [("bare", type("bare", (), {"__doc__": "A loss."}))])
    monkeypatch.setattr(formulas, "optimizers", lambda: [("Step", type("Step", (), {"__doc__": NO_SHAPE}))])
    assert list(formulas.problems({})) == ["tl_nn.bare: no Formula, Shape"]
    assert list(formulas.problems({"bare": "a base class", "Sum": "a container"})) == [
        "formulas.toml: Sum needs no excuse"
    ]


def test_every_layer_loss_and_optimizer_states_its_formula():
    pytest.importorskip("tl_nn")
    assert list(formulas.problems(tomllib.loads(formulas.EXCUSES.read_text()))) == []
