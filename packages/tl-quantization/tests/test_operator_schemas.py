"""The schemas of the operators in `torch.ops`, as PyTorch 2.13 had them."""

import inspect
from pathlib import Path

import pytest

import tl_quantization  # noqa: F401 - defines the operators
from tl_core.operators import packets
from tl_quantization.libraries import registry

RECORDED = (Path(__file__).parent / "data" / "schemas.txt").read_text().splitlines()


@pytest.mark.parametrize("schema", RECORDED)
def test_operators_have_the_recorded_schemas(schema):
    namespace, _, name = schema.partition("(")[0].partition("::")
    base, _, overload = name.partition(".")
    operator = getattr(getattr(getattr(packets, namespace), base), overload or "default")
    assert str(operator._schema) == schema


@pytest.mark.parametrize("schema", RECORDED)
def test_defaults_of_the_functions_are_those_of_the_schemas(schema):
    namespace, _, name = schema.partition("(")[0].partition("::")
    base, _, overload = name.partition(".")
    operator = getattr(getattr(getattr(packets, namespace), base), overload or "default")
    defaults = {a.name: a.default_value for a in operator._schema.arguments if a.has_default_value()}
    function = registry._FUNCTIONS[f"{namespace}::{base}"][overload or "default"]
    for argument, parameter in inspect.signature(function).parameters.items():
        if parameter.default is not parameter.empty and argument in defaults:
            assert parameter.default == defaults[argument], argument
