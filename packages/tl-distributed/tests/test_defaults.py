"""The defaults of arguments and the values of enumerations, as PyTorch 2.13 had them."""

import importlib
import inspect
import json
from operator import attrgetter
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
RECORDED = json.loads((DATA / "defaults.json").read_text())
ENUMERATIONS = json.loads((DATA / "enumerations.json").read_text())


@pytest.mark.parametrize("name", RECORDED)
def test_arguments_have_the_recorded_defaults(name):
    module, _, path = name.partition(":")
    parameters = inspect.signature(attrgetter(path)(importlib.import_module(module))).parameters
    defaults = {argument: parameters[argument].default for argument in RECORDED[name]}
    assert repr(defaults) == repr(RECORDED[name])


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_enumerations_have_the_recorded_values(name):
    module, _, path = name.partition(":")
    members = getattr(importlib.import_module(module), path).__members__
    assert {member: members[member].value for member in ENUMERATIONS[name]} == ENUMERATIONS[name]
