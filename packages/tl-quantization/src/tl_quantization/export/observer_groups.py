"""Observers of values: specifications that share an observer form a group."""

from __future__ import annotations

from typing import Any

from tl_compiler.fx import GraphModule, Node

from ..fake_quantize import FixedQParamsFakeQuantize
from ..observer_base import _Partial
from ..quantizer.quantizer import (
    DerivedQuantizationSpec,
    EdgeOrNode,
    FixedQParamsQuantizationSpec,
    QuantizationAnnotation,
    QuantizationSpec,
    SharedQuantizationSpec,
)
from ..rangeless_observers import FixedQParamsObserver
from .derived_observer import DerivedObserver
from .graph_facts import annotation_of

__all__ = ["group_numbers", "observers_of_values", "specifications"]

_FIELDS = ("dtype", "is_dynamic", "quant_min", "quant_max", "qscheme", "ch_axis", "scale", "zero_point")


def specifications(model: GraphModule) -> dict[EdgeOrNode, Any]:
    """The specification of each annotated value: a node, or a node and its user.

    Args:
        model: a model with annotations.
    """
    table: dict[EdgeOrNode, Any] = {}
    for node in model.graph.nodes:
        annotation: QuantizationAnnotation | None = annotation_of(node)
        if annotation is None:
            continue
        for source, spec in annotation.input_qspec_map.items():
            table[source, node] = spec
        if annotation.output_qspec is not None:
            table[node] = annotation.output_qspec
    return table


class _Groups:
    """Sets of values with one observer, as a forest: each value points to another one of its set, roots to themselves.

    Args:
        specs: the specification of each value.
    """

    def __init__(self, specs: dict[EdgeOrNode, Any]) -> None:
        self.specs = specs
        self.parent = {value: value for value in specs}

    def root(self, value: EdgeOrNode) -> EdgeOrNode:
        """The root of a value's set."""
        if value not in self.parent:
            raise RuntimeError(
                f"a SharedQuantizationSpec refers to {value}, which has no specification of its own"
            )
        while self.parent[value] != value:
            value = self.parent[value]
        return value

    def join(self, parent: EdgeOrNode, child: EdgeOrNode) -> None:
        """Makes two sets one, whose root is that of the first."""
        root = self.root(parent)
        self.parent[self.root(child)] = root

    def own_spec(self, spec: Any) -> Any:
        """The specification that a shared one leads to."""
        earlier_specs: list[Any] = []
        while isinstance(spec, SharedQuantizationSpec):
            if spec in earlier_specs:
                raise RuntimeError(f"SharedQuantizationSpec of {spec.edge_or_node} refers to itself")
            earlier_specs.append(spec)
            other = spec.edge_or_node
            if other not in self.specs:
                raise RuntimeError(f"sharing with {other}, which isn't annotated with a specification")
            spec = self.specs[other]
        return spec

    def join_if_equal(self, edge: EdgeOrNode, own: Any, other: EdgeOrNode) -> None:
        """Joins a value with another one of an equal specification."""
        if other not in self.specs:
            return
        spec = self.own_spec(self.specs[other])
        if spec is not None and all(_same(spec, own, name) for name in _FIELDS):
            self.join(other, edge)


def _same(first: Any, second: Any, name: str) -> bool:
    """Whether two specifications agree in a field: both lack it, or it is equal."""
    has_first, has_second = hasattr(first, name), hasattr(second, name)
    if has_first != has_second:
        return False
    return not has_first or getattr(first, name) == getattr(second, name)


def group_numbers(specs: dict[EdgeOrNode, Any]) -> dict[EdgeOrNode, int]:
    """The number of each value's group. Values of a group have one observer.

    Args:
        specs: the specification of each value.

    Raises:
        RuntimeError: If a shared specification refers to a value without one.
    """
    groups = _Groups(specs)
    for value, spec in specs.items():
        if not isinstance(value, Node):
            source, node = value
            own = groups.own_spec(spec)
            annotation: QuantizationAnnotation | None = annotation_of(node)
            if annotation is not None and annotation.allow_implicit_sharing and own is not None:
                for user in source.users:
                    if user is not node:
                        groups.join_if_equal(value, own, (source, user))
                groups.join_if_equal(value, own, source)
        if isinstance(spec, SharedQuantizationSpec):
            groups.join(spec.edge_or_node, value)
    numbers: dict[EdgeOrNode, int] = {}
    for value in specs:
        root = groups.root(value)
        numbers.setdefault(root, len(set(numbers.values())))
        numbers[value] = numbers[root]
    return numbers


def observers_of_values(
    numbers: dict[EdgeOrNode, int], specs: dict[EdgeOrNode, Any], is_qat: bool
) -> dict[EdgeOrNode, Any]:
    """The observer of each value, or None for a value that stays as it is.

    Args:
        numbers: the number of each value's group.
        specs: the specification of each value.
        is_qat: whether observers round.
    """
    by_group: dict[int, Any] = {}
    result: dict[EdgeOrNode, Any] = {}
    # A derived scale is a function of observers, which must exist: values with it come last.
    later = [value for value, spec in specs.items() if isinstance(spec, DerivedQuantizationSpec)]
    for value in [*(value for value in specs if value not in later), *later]:
        number = numbers[value]
        if number not in by_group:
            by_group[number] = _observer(_root_spec(value, specs), result, is_qat)
        result[value] = by_group[number]
    return {value: result[value] for value in specs}


def _root_spec(value: EdgeOrNode, specs: dict[EdgeOrNode, Any]) -> Any:
    return _Groups(specs).own_spec(specs[value])


def _observer(spec: Any, observers: dict[EdgeOrNode, Any], is_qat: bool) -> Any:
    if spec is None:
        return None
    if isinstance(spec, DerivedQuantizationSpec):
        sources = [observers[value] for value in spec.derived_from]
        return DerivedObserver(
            sources, spec.derive_qparams_fn, spec.dtype, spec.quant_min, spec.quant_max, spec.qscheme,
            spec.ch_axis,
        )  # fmt: skip
    if isinstance(spec, FixedQParamsQuantizationSpec):
        kwargs = {
            name: value for name, value in vars(spec).items() if name != "is_dynamic" and value is not None
        }
        factory = FixedQParamsObserver.with_args(**kwargs)
        return FixedQParamsFakeQuantize(observer=factory) if is_qat else factory()
    if not isinstance(spec, QuantizationSpec):
        raise TypeError(f"the specification of a value must be a QuantizationSpec, but got {spec!r}")
    return _observer_of_spec(spec)


def _observer_of_spec(spec: QuantizationSpec) -> Any:
    """The observer of a specification."""
    factory = spec.observer_or_fake_quant_ctr
    kwargs = {name: value for name, value in vars(spec).items() if name != "observer_or_fake_quant_ctr"}
    kind = factory.p.func if isinstance(factory, _Partial) else factory
    if "PerChannel" not in getattr(kind, "__name__", ""):
        kwargs.pop("ch_axis")
    kwargs = {name: value for name, value in kwargs.items() if value is not None}
    return factory.with_args(**kwargs)()
