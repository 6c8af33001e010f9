"""Errors about libraries and packages that are not installed."""

import sys

import pytest

import tl_core as tl
from tl_core.base import optional


def test_a_name_of_another_package(monkeypatch):
    monkeypatch.setattr(optional, "find_spec", lambda root: None)
    with pytest.raises(
        AttributeError, match=r"tl_nn is in the package tl-nn, which is not installed: pip install tl-nn"
    ):
        _ = tl.nn
    with pytest.raises(AttributeError, match=r"tl_checkpoint.save is in the package tl-checkpoint, which"):
        _ = tl.save
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        _ = tl.nothing
    assert not hasattr(tl, "optim")


def test_a_name_of_a_package_that_is_installed(monkeypatch):
    monkeypatch.setattr(optional, "find_spec", lambda root: object())
    with pytest.raises(AttributeError, match=r"tl_backends.cuda is in the package tl-backends$"):
        _ = tl.cuda


def test_numpy_of_a_tensor_without_numpy(monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs numpy, .*pip install 'tl-core\[numpy\]'") as error:
        tl.ones(2).numpy()
    assert error.value.name == "numpy"


@pytest.mark.parametrize("name", ["fft", "special", "nested", "overrides", "linalg", "sparse", "library"])
def test_modules_need_no_import_of_their_own(name):
    assert getattr(tl, name).__name__ == f"tl_core.{name}"
