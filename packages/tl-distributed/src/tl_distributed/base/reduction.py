"""Reductions of the tensors of several processes to one."""

from __future__ import annotations

import warnings
from typing import Any

import tl_core
from tl_core.base.native_enum import NativeEnum


class ReduceOp:
    """The operations of a reduction by name, such as `ReduceOp.SUM`.

    `AVG` is the sum divided by the number of processes. `BAND`, `BOR` and `BXOR` are for integers and booleans;
    complex tensors know `SUM` and `AVG` only.

    Example:
        >>> import tl_core
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> largest = tl_core.tensor([1.0, 5.0])
        >>> dist.all_reduce(largest, op=dist.ReduceOp.MAX)
        >>> largest
        tensor([1., 5.])
        >>> dist.destroy_process_group()
    """

    class RedOpType(NativeEnum):
        """The operations of a reduction."""

        SUM = 0
        AVG = 1
        PRODUCT = 2
        MIN = 3
        MAX = 4
        BAND = 5
        BOR = 6
        BXOR = 7
        PREMUL_SUM = 8

    SUM = RedOpType.SUM
    AVG = RedOpType.AVG
    PRODUCT = RedOpType.PRODUCT
    MIN = RedOpType.MIN
    MAX = RedOpType.MAX
    BAND = RedOpType.BAND
    BOR = RedOpType.BOR
    BXOR = RedOpType.BXOR
    PREMUL_SUM = RedOpType.PREMUL_SUM

    def __new__(cls, op: Any) -> Any:
        """The operation with this value."""
        return RedOpType(op)


RedOpType = ReduceOp.RedOpType


def _make_nccl_premul_sum(factor: float | tl_core.Tensor) -> RedOpType:
    """The sum of products with a factor, an operation of NCCL: collectives of the CPU refuse it.

    Args:
        factor: the factor, a number or a tensor of one.

    Raises:
        TypeError: If the factor is neither.

    Example:
        >>> _make_nccl_premul_sum(0.5) == ReduceOp.PREMUL_SUM
        True
    """
    if not isinstance(factor, (int, float, tl_core.Tensor)):
        raise TypeError(
            f"_make_nccl_premul_sum(): factor must be a number or a tensor, got {type(factor).__name__}"
        )
    return RedOpType.PREMUL_SUM


def operation_named(name: str) -> RedOpType:
    """The operation of a lower-case name, as functional collectives and `Partial` say it.

    Args:
        name: "sum", "avg", "product", "max", "min", "band", "bor" or "bxor", in any case.

    Raises:
        ValueError: it is none of them.
    """
    named = {each.name.lower(): each for each in RedOpType if each != RedOpType.PREMUL_SUM}
    op = named.get(name.lower())
    if op is None:
        raise ValueError(f"reduceOp: expected one of {', '.join(named)}, got {name!r}")
    return op


class _DeprecatedNames(type):
    def __getattribute__(cls, name: str) -> Any:
        if name in RedOpType.__members__:
            warnings.warn(
                "torch.distributed.reduce_op is deprecated, please use torch.distributed.ReduceOp",
                FutureWarning,
                stacklevel=2,
            )
            return RedOpType.__members__[name]
        return super().__getattribute__(name)


class reduce_op(metaclass=_DeprecatedNames):
    """The old name of `ReduceOp`.

    Example:
        >>> import tl_distributed as dist, warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     dist.reduce_op.SUM == dist.ReduceOp.SUM
        ...
        True
    """


_BITWISE = (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR)
_COMPLEX = (RedOpType.SUM, RedOpType.AVG, RedOpType.PREMUL_SUM)


def supports_complex(reduceOp: RedOpType) -> bool:
    """True if complex tensors can be reduced so.

    Example:
        >>> from tl_distributed.base.reduction import ReduceOp
        >>> supports_complex(ReduceOp.SUM), supports_complex(ReduceOp.MAX)
        (True, False)
    """
    return reduceOp in _COMPLEX


def check(op: RedOpType, dtype: tl_core.dtype, function: str) -> None:
    """Raises for an operation that tensors of this type don't have.

    Args:
        op: the operation.
        dtype: the type of the tensors.
        function: the function, for errors.
    """
    if not isinstance(op, RedOpType):
        raise TypeError(f"{function}: op must be a ReduceOp such as ReduceOp.SUM, got {op!r}")
    if dtype.is_complex and not supports_complex(op):
        raise ValueError(f"{function} does not support {op} on complex tensors")
    if op in _BITWISE and dtype.is_floating_point:
        raise RuntimeError(f"{function}: cannot use ReduceOp.{op.name} with {dtype}, which is not integral")
    if op == RedOpType.AVG and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(f"{function}: cannot use ReduceOp.AVG with {dtype}, which can't hold an average")
    if op == RedOpType.PREMUL_SUM:
        raise NotImplementedError(f"{function}: ReduceOp.PREMUL_SUM belongs to NCCL, which is not there")
