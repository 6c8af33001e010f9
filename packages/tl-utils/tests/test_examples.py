"""The examples in the documentation of the package run as they are printed."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import tl_core
import tl_utils

WITH_EXTRA = {"tl_utils.tensorboard": "tensorboard"}
MODULES = sorted(
    m.name for m in pkgutil.walk_packages(tl_utils.__path__, "tl_utils.", onerror=lambda name: None)
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of(name, tmp_path, monkeypatch):
    pytest.importorskip("numpy")
    monkeypatch.chdir(tmp_path)
    for prefix, extra in WITH_EXTRA.items():
        if name.startswith(prefix):
            pytest.importorskip(extra)
    module = importlib.import_module(name)
    assert doctest.testmod(module, extraglobs={**vars(module), "tl_core": tl_core}).failed == 0


def test_the_readme():
    text = (Path(__file__).parents[1] / "README.md").read_text()
    examples = doctest.DocTestParser().get_doctest(text.replace("```", ""), {}, "README", "README.md", 0)
    assert examples.examples
    assert doctest.DocTestRunner().run(examples).failed == 0
