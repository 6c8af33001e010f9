"""The schemas of the operators in `torch.ops`, as PyTorch 2.13 had them."""

from pathlib import Path

import pytest

import tl_quantization  # noqa: F401 - defines the operators
from tl_core.operators import packets

RECORDED = (Path(__file__).parent / "data" / "schemas.txt").read_text().splitlines()


@pytest.mark.parametrize("schema", RECORDED)
def test_operators_have_the_recorded_schemas(schema):
    namespace, _, name = schema.partition("(")[0].partition("::")
    base, _, overload = name.partition(".")
    operator = getattr(getattr(getattr(packets, namespace), base), overload or "default")
    assert str(operator._schema) == schema
