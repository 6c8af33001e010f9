"""A name of PyTorch that isn't built yet is refused with a sentence, in an import and as an attribute."""

import importlib

import pytest

import tl
from tl import _names


def absent(prefix):
    """Names in a part that isn't built."""
    names = {
        "ao.pruning": "ao.pruning._experimental.data_sparsifier.lightning",
        "ao.quantization": "ao.quantization.mobile",
        "jit": "jit.supported_ops",
    }
    return names.get(prefix, prefix)


@pytest.mark.parametrize("prefix", _names.UNBUILT)
def test_an_import_says_why(prefix):
    dotted = absent(prefix)
    with pytest.raises(
        ModuleNotFoundError, match=r"has no|aren't|runs the code|computes on the CPU|not a package"
    ) as raised:
        importlib.import_module(f"tl.{dotted}")
    assert raised.value.name == f"tl.{dotted}"


@pytest.mark.parametrize("prefix", _names.UNBUILT)
def test_an_attribute_says_why(prefix):
    parent, _, name = absent(prefix).rpartition(".")
    module = importlib.import_module(f"tl.{parent}")
    assert not hasattr(module, name)
    with pytest.raises(AttributeError, match=r"has no|aren't|computes on the CPU"):
        getattr(module, name)


def test_other_names_are_refused_as_ever():
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'tl.nonsense'$"):
        importlib.import_module("tl.nonsense")
    with pytest.raises(AttributeError, match=r"has no attribute 'nonsense'$"):
        tl.nn.nonsense  # noqa: B018
