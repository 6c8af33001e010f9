"""Whether plain tensors count as replicas, and whether operators without a rule gather their operands.

`TL_DTENSOR_GATHER=1` lets operators without a rule gather in the whole program.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tl_autograd.graph import current_graph_task_id
from tl_core import Tensor

__all__ = [
    "gathers",
    "implicit_replication",
    "is_implicit",
    "missing_rule_error",
    "mixture_error",
    "warn_of_gathering",
]

_implicit: ContextVar[bool] = ContextVar("plain tensors are replicas", default=False)


@contextmanager
def implicit_replication() -> Iterator[None]:
    """A block in which plain tensors beside distributed ones count as replicas.

    An operator without a rule gathers its operands in it, and computes on all ranks; a warning says so once.

    Example:
        >>> import tl_core, tl_distributed as dist
        >>> from tl_distributed.tensor import ones
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = dist.init_device_mesh("cpu", (1,))
        >>> with implicit_replication():
        ...     (ones(2, device_mesh=mesh) + tl_core.ones(2)).to_local()
        ...
        tensor([2., 2.])
        >>> dist.destroy_process_group()
    """
    token = _implicit.set(True)
    try:
        yield
    finally:
        _implicit.reset(token)


def is_implicit() -> bool:
    """Whether plain tensors count as replicas.

    They do in a backward pass, whose formulas create tensors such as zeros, which are equal on all ranks.
    """
    return _implicit.get() or current_graph_task_id() >= 0


def gathers() -> bool:
    """Whether operators without a rule gather their operands."""
    return _implicit.get() or os.environ.get("TL_DTENSOR_GATHER") == "1"


def warn_of_gathering(func: Any) -> None:
    """Warns that an operator gathers its operands; Python shows a warning of one text once.

    Args:
        func: the operator.
    """
    warnings.warn(
        f"{func}: no rule says how it computes on pieces, so each call gathers its operands on all ranks",
        UserWarning,
        stacklevel=5,
    )


def missing_rule_error(func: Any, specs: Sequence[Any]) -> NotImplementedError:
    """The error of an operator without a rule.

    Args:
        func: the operator.
        specs: the layouts of its operands.
    """
    layouts = ", ".join(str(spec.placements) for spec in specs)
    return NotImplementedError(
        f"Operator {func} does not have a sharding strategy registered: its operands are {layouts}. Declare one with "
        f"tl.distributed.tensor.experimental.register_sharding({func}), or make the operands whole with "
        "x.redistribute(placements=[Replicate()]). Inside implicit_replication(), or with TL_DTENSOR_GATHER=1, such "
        "operators gather their operands"
    )


def mixture_error(func: Any, plain: Tensor, distributed: Any) -> RuntimeError:
    """The error of a plain tensor beside a distributed one.

    Args:
        func: the operator.
        plain: the plain tensor.
        distributed: the distributed one.
    """
    return RuntimeError(
        f"{func}: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling "
        f"distributed operators! A plain tensor of size {tuple(plain.shape)} stands beside a DTensor of size "
        f"{tuple(distributed.shape)} with {distributed.placements}; write distribute_tensor(tensor, mesh, placements) "
        "or DTensor.from_local"
    )
