"""Specifications of the integers of a value, annotations of nodes, the base class of quantizers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tl_compiler.fx import GraphModule, Node

__all__ = [
    "DerivedQuantizationSpec",
    "EdgeOrNode",
    "FixedQParamsQuantizationSpec",
    "QuantizationAnnotation",
    "QuantizationSpec",
    "QuantizationSpecBase",
    "Quantizer",
    "SharedQuantizationSpec",
]

#: The value of a node, or the value of a node as the argument of another one.
EdgeOrNode: TypeAlias = tuple[Node, Node] | Node


class QuantizationSpecBase(ABC):  # noqa: B024 - abstract in PyTorch, too
    """The base class of specifications."""


@dataclass(eq=True, frozen=True)
class QuantizationSpec(QuantizationSpecBase):
    """A specification with an observer of its own.

    Args:
        dtype: the type of the integers, such as `int8`.
        observer_or_fake_quant_ctr: the class of the observer or of the fake quantizer, or its `with_args`.
        quant_min: the smallest integer.
        quant_max: the largest integer.
        qscheme: the scheme, such as `per_tensor_affine`.
        ch_axis: the axis with a scale for each entry.
        is_dynamic: whether the scale is computed at each call.

    Raises:
        ValueError: If `quant_min` is above `quant_max`, or `ch_axis` is negative.

    Example:
        >>> import tl_core, tl_quantization as tq
        >>> QuantizationSpec(tl_core.int8, tq.MinMaxObserver, -128, 127, tq.per_tensor_affine).quant_max
        127
    """

    dtype: Any
    observer_or_fake_quant_ctr: Any
    quant_min: int | None = None
    quant_max: int | None = None
    qscheme: Any = None
    ch_axis: int | None = None
    is_dynamic: bool = False

    def __post_init__(self) -> None:
        low, high = self.quant_min, self.quant_max
        if low is not None and high is not None and low > high:
            raise ValueError(f"quant_min {low} must be <= quant_max {high}.")
        if self.ch_axis is not None and self.ch_axis < 0:
            raise ValueError(f"Ch_axis is < 0: {self.ch_axis}")


@dataclass(eq=True, frozen=True)
class FixedQParamsQuantizationSpec(QuantizationSpecBase):
    """A specification with a scale that is known.

    Args:
        dtype: the type of the integers.
        scale: the scale.
        zero_point: the zero point.
        quant_min: the smallest integer.
        quant_max: the largest integer.
        qscheme: the scheme.
        is_dynamic: whether the scale is computed at each call.
    """

    dtype: Any
    scale: float
    zero_point: int
    quant_min: int | None = None
    quant_max: int | None = None
    qscheme: Any = None
    is_dynamic: bool = False


@dataclass(eq=True, frozen=True)
class SharedQuantizationSpec(QuantizationSpecBase):
    """A specification that shares the observer of another value.

    Args:
        edge_or_node: the other value: a node, or a node and its user.
    """

    edge_or_node: EdgeOrNode


@dataclass(eq=True, frozen=True)
class DerivedQuantizationSpec(QuantizationSpecBase):
    """A specification whose scale is a function of other observers, such as that of a bias.

    Args:
        derived_from: the other values.
        derive_qparams_fn: the function from the list of their observers to the scale and the zero point.
        dtype: the type of the integers.
        quant_min: the smallest integer.
        quant_max: the largest integer.
        qscheme: the scheme.
        ch_axis: the axis with a scale for each entry.
        is_dynamic: whether the scale is computed at each call.
    """

    derived_from: list[EdgeOrNode]
    derive_qparams_fn: Callable[[list[Any]], tuple[Any, Any]]
    dtype: Any
    quant_min: int | None = None
    quant_max: int | None = None
    qscheme: Any = None
    ch_axis: int | None = None
    is_dynamic: bool = False


@dataclass
class QuantizationAnnotation:
    """The specifications of a node, in its `meta["quantization_annotation"]`.

    Args:
        input_qspec_map: the specification of each argument; None leaves an argument as it is.
        output_qspec: the specification of the result.
        allow_implicit_sharing: whether arguments share the observer of an equal specification of the same value.
        _annotated: whether a quantizer has decided on the node.

    Example:
        >>> QuantizationAnnotation().allow_implicit_sharing
        True
    """

    input_qspec_map: dict[Node, QuantizationSpecBase | None] = field(default_factory=dict)
    output_qspec: QuantizationSpecBase | None = None
    allow_implicit_sharing: bool = True
    _annotated: bool = False


class Quantizer(ABC):
    """The base class of quantizers: `annotate` writes annotations, `validate` rejects models."""

    def transform_for_annotation(self, model: GraphModule) -> GraphModule:
        """Changes the graph ahead of the annotation, such as a decomposition.

        Args:
            model: the model.

        Returns:
            The changed model.
        """
        return model

    @abstractmethod
    def annotate(self, model: GraphModule) -> GraphModule:
        """Writes annotations to the nodes.

        Args:
            model: the model.

        Returns:
            The same model.
        """

    @abstractmethod
    def validate(self, model: GraphModule) -> None:
        """Checks that the backend supports the annotated model.

        Args:
            model: the model.
        """

    def prepare_obs_or_fq_callback(
        self, model: GraphModule, edge_or_node_to_obs_or_fq: dict[EdgeOrNode, Any]
    ) -> None:
        """Changes the observers of values ahead of their insertion.

        Args:
            model: the model.
            edge_or_node_to_obs_or_fq: the observer of each value.
        """
        return
