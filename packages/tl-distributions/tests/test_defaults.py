"""The defaults of arguments, as PyTorch 2.13 had them."""

import importlib
import inspect
import json
from operator import attrgetter
from pathlib import Path

import pytest

RECORDED = json.loads((Path(__file__).parent / "data" / "defaults.json").read_text())


@pytest.mark.parametrize("name", RECORDED)
def test_arguments_have_the_recorded_defaults(name):
    module, _, path = name.partition(":")
    parameters = inspect.signature(attrgetter(path)(importlib.import_module(module))).parameters
    defaults = {argument: parameters[argument].default for argument in RECORDED[name]}
    assert repr(defaults) == repr(RECORDED[name])
