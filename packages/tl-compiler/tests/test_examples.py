"""The examples in the documentation of the package run as they are printed."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import tl_compiler
import tl_core

MODULES = sorted(m.name for m in pkgutil.walk_packages(tl_compiler.__path__, "tl_compiler."))


@pytest.mark.parametrize("name", ["tl_compiler", *MODULES])
def test_examples_of(name):
    if name.startswith("tl_compiler.onnx.lowering."):
        pytest.importorskip("onnxscript", reason="the export to ONNX is an extra")
    module = importlib.import_module(name)
    names = {**vars(tl_compiler), **vars(module), "tl_core": tl_core}
    assert doctest.testmod(module, extraglobs=names).failed == 0


def test_the_readme():
    text = (Path(__file__).parents[1] / "README.md").read_text()
    examples = doctest.DocTestParser().get_doctest(text.replace("```", ""), {}, "README", "README.md", 0)
    assert examples.examples
    assert doctest.DocTestRunner().run(examples).failed == 0
