"""The parts of a tensor that have one scale, and the base class of observers by parts."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any

from tl_core import Tensor
from tl_nn import Module

__all__ = [
    "AffineQuantizedObserverBase",
    "Granularity",
    "MappingType",
    "PerAxis",
    "PerBlock",
    "PerGroup",
    "PerRow",
    "PerTensor",
    "PerToken",
    "TorchAODType",
    "ZeroPointDomain",
    "get_block_size",
]


class MappingType(enum.Enum):
    """How a range becomes integers."""

    #: The zero point is in the middle.
    SYMMETRIC = enum.auto()
    #: The same with a scale by the larger of both errors at the ends.
    SYMMETRIC_NO_CLIPPING_ERR = enum.auto()
    #: The integers cover the range.
    ASYMMETRIC = enum.auto()


class ZeroPointDomain(enum.Enum):
    """The type of a zero point."""

    INT = enum.auto()
    FLOAT = enum.auto()
    NONE = enum.auto()


class TorchAODType(enum.Enum):
    """Integers of 1 to 7 bits."""

    INT1 = enum.auto()
    INT2 = enum.auto()
    INT3 = enum.auto()
    INT4 = enum.auto()
    INT5 = enum.auto()
    INT6 = enum.auto()
    INT7 = enum.auto()


@dataclass(frozen=True)
class Granularity:
    """The base class of the kinds of parts."""


@dataclass(frozen=True)
class PerBlock(Granularity):
    """Blocks of one shape.

    Args:
        block_size: the shape.
    """

    block_size: tuple[int, ...]


@dataclass(frozen=True)
class PerTensor(Granularity):
    """The tensor has one scale."""


@dataclass(frozen=True)
class PerAxis(Granularity):
    """Slices along an axis.

    Args:
        axis: the axis.
    """

    axis: int


@dataclass(frozen=True)
class PerGroup(Granularity):
    """Groups of successive elements of a row.

    Args:
        group_size: the number of elements.
    """

    group_size: int


@dataclass(frozen=True)
class PerRow(Granularity):
    """Rows: the last dimension."""


@dataclass(frozen=True)
class PerToken(Granularity):
    """Tokens: the last dimension of activations."""


def get_block_size(input_shape: tuple[int, ...], granularity: Granularity) -> tuple[int, ...]:
    """The shape of the parts with one scale.

    Args:
        input_shape: the shape of the tensor.
        granularity: the kind of parts.

    Raises:
        ValueError: If the kind isn't known.

    Example:
        >>> get_block_size((4, 8), PerAxis(0)), get_block_size((4, 8), PerGroup(2))
        ((1, 8), (1, 2))
    """
    shape, ones = tuple(input_shape), (1,) * (len(input_shape) - 1)
    if isinstance(granularity, PerTensor):
        return shape
    if isinstance(granularity, PerBlock):
        return granularity.block_size
    if isinstance(granularity, PerAxis):
        axis = granularity.axis % len(shape)
        return tuple(1 if i == axis else size for i, size in enumerate(shape))
    if isinstance(granularity, (PerRow, PerToken)):
        return (*ones, shape[-1])
    if isinstance(granularity, PerGroup):
        if len(shape) != 2:
            raise AssertionError(
                f"Expecting input shape dim to be 2 for per group quantization, got shape: {shape}"
            )
        return (1, granularity.group_size)
    raise ValueError(f"Unsupported Granularity: {granularity}")


class AffineQuantizedObserverBase(ABC, Module):
    """The base class of observers of parts of a tensor.

    Args:
        mapping_type (MappingType): How a range becomes integers.
        target_dtype (dtype): The type of the integers.
        granularity (Granularity): The parts.
        quant_min, quant_max (int, optional): The range of the integers.
        eps (float, optional): The smallest scale.
        scale_dtype, zero_point_dtype (dtype, optional): The types of scales and zero points.
        preserve_zero (bool): Whether 0 is exact.
        zero_point_domain (ZeroPointDomain): The type of the zero point.
        kwargs: of no effect.

    Raises:
        AssertionError: If the granularity or the domain is None.

    Example:
        >>> import tl_core
        >>> class Watch(AffineQuantizedObserverBase):
        ...     def forward(self, input):
        ...         return input
        ...     def calculate_qparams(self):
        ...         return tl_core.ones(1), tl_core.zeros(1)
        >>> Watch(MappingType.SYMMETRIC, tl_core.int8, PerTensor()).granularity
        PerTensor()
    """

    def __init__(
        self,
        mapping_type: MappingType,
        target_dtype: Any,
        granularity: Granularity,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float | None = None,
        scale_dtype: Any = None,
        zero_point_dtype: Any = None,
        preserve_zero: bool = True,
        zero_point_domain: ZeroPointDomain | None = ZeroPointDomain.INT,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if granularity is None:
            raise AssertionError("granularity is None")
        if zero_point_domain is None:
            raise AssertionError("zero_point_domain is None")
        self.mapping_type, self.target_dtype, self.granularity = mapping_type, target_dtype, granularity
        self.quant_min, self.quant_max, self.eps = quant_min, quant_max, eps
        self.scale_dtype, self.zero_point_dtype = scale_dtype, zero_point_dtype
        self.preserve_zero, self.zero_point_domain = preserve_zero, zero_point_domain
        self.block_size: Any = None
        self.original_dtype: Any = None

    @classmethod
    def with_args(cls, **kwargs: Any) -> Any:
        """A factory of the class with some of its arguments fixed.

        Args:
            **kwargs: the arguments.
        """
        return partial(cls, **kwargs)

    @abstractmethod
    def forward(self, input: Tensor) -> Tensor:
        """Watches a tensor and returns it.

        Args:
            input: the tensor.
        """

    @abstractmethod
    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """The scales and the zero points."""
