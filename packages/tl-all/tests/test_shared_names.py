"""One package's names below another's: each is there with or without the other."""

from __future__ import annotations

import pytest

FILES = {
    "tl_upper/__init__.py": "def there(): return 'upper'",
    "tl_lower/__init__.py": "",
    "tl_lower/distributed/__init__.py": "def save(): return 'lower'",
    "tl_lower/distributed/deep.py": "value = 5",
}
PROGRAM = """
from tl import _names
from tl_core.base import name_table
_names.MODULES.update({"distributed": "UPPER", "distributed.checkpoint": "LOWER"})
name_table.FACADE.update({"UPPER": "distributed", "LOWER": "distributed.checkpoint"})
import tl.torch
tl.torch.install()
"""
UPPER = """
import torch
import torch.distributed as upper
assert upper.there() == torch.distributed.there() == "upper"
"""
LOWER = """
import torch.distributed.checkpoint as lower
from torch.distributed.checkpoint import save
from torch.distributed.checkpoint.deep import value
import torch
assert lower.save() == save() == torch.distributed.checkpoint.save() == "lower"
assert value == 5 and lower.deep.value == 5
"""
NO_LOWER = """
assert not hasattr(torch.distributed, "checkpoint")
try:
    import torch.distributed.checkpoint
except ModuleNotFoundError as error:
    assert "pip install tl-missing" in str(error), error
else:
    raise AssertionError("no error")
"""
NO_UPPER = """
assert not hasattr(torch.distributed, "there")
try:
    from torch.distributed import there
except ImportError as error:
    assert "pip install tl-missing" in str(error), error
else:
    raise AssertionError("no error")
"""


@pytest.mark.parametrize(
    ("upper", "lower", "steps"),
    [
        ("tl_upper", "tl_lower.distributed", (UPPER, LOWER)),
        ("tl_upper", "tl_lower.distributed", (LOWER, UPPER)),
        ("tl_upper", "tl_missing.distributed", (UPPER, NO_LOWER)),
        ("tl_missing", "tl_lower.distributed", (LOWER, NO_UPPER)),
    ],
)
def test_a_package_below_another(execute, upper, lower, steps):
    program = PROGRAM.replace("UPPER", upper).replace("LOWER", lower)
    execute("\n".join((program, *steps)), files=FILES)


def test_data_parallel_has_its_names():
    import tl
    import tl_distributed.parallel

    expected = tl_distributed.parallel.DistributedDataParallel
    assert tl.nn.parallel.DistributedDataParallel is expected
    assert tl.nn.parallel.distributed.DistributedDataParallel is expected
    assert tl.distributed is tl_distributed
    assert tl.distributed.distributed_c10d.ProcessGroup is tl_distributed.ProcessGroup
    assert tl.futures.Future.__module__ == "tl_core.futures"
