"""Dynamic sizes: what `export` of ONNX takes, as what the tracer takes, and the names of sizes in the model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import tl_core
from tl_core.pytree import tree_map
from tl_core.symbolic.numbers import SymInt

from ..export.dynamic_shapes import Dim, _combine_args, check_spec, spec_by_name
from ..symbolic.expression import Symbol
from .errors import OnnxExporterError, OnnxExporterWarning

__all__ = ["NamedAxes", "axes_of_shapes", "shapes_of_axes"]


class NamedAxes:
    """The dynamic sizes of a call.

    Args:
        shapes: what the tracer takes as `dynamic_shapes`.
        declared: for each leaf of the arguments, the name by dimension. The name is None if the user gave none.

    Args:
        shapes, declared: as above.
    """

    def __init__(self, shapes: Any = None, declared: Sequence[Mapping[int, str | None]] = ()) -> None:
        self.shapes, self.declared = shapes, declared

    def symbol_names(self, inputs: Sequence[Any]) -> dict[Any, str]:
        """The names of symbols, and a warning for each dynamic size that became a number.

        Args:
            inputs: what stands for each leaf of the arguments in the program.
        """
        names: dict[Any, str] = {}
        if len(inputs) != len(self.declared):
            return names
        for position, (value, declared) in enumerate(zip(inputs, self.declared, strict=True)):
            for dim, name in declared.items():
                size: Any = value.shape[dim] if isinstance(value, tl_core.Tensor) else value
                number = size.node.maybe_as_int() if isinstance(size, SymInt) else size
                if number is not None:
                    shown = f" ({name})" if name else ""
                    warnings.warn(
                        f"dimension {dim} of input {position}{shown} was declared dynamic, but the program requires "
                        f"the size {number}, so it is a constant of the model",
                        OnnxExporterWarning,
                        stacklevel=2,
                    )
                elif name is not None and isinstance(size.node.expr, Symbol):
                    names.setdefault(size.node.expr, name)
        return names


def axes_of_shapes(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Any, input_names: Sequence[str] = ()
) -> NamedAxes:
    """The dynamic sizes of `dynamic_shapes`, in which a name may be a text.

    Args:
        model: the module.
        args: the example inputs.
        kwargs: those by keyword.
        shapes: what the user gave.
        input_names: names of the inputs, which may be keys of `shapes` instead of the names of arguments.
    """
    if hasattr(shapes, "dynamic_shapes"):
        shapes = shapes.dynamic_shapes(model, args, kwargs)
    combined = _combine_args(model, args, kwargs)
    if isinstance(shapes, dict) and set(shapes) != set(combined) and list(shapes) == list(input_names):
        shapes = dict(zip(combined, shapes.values(), strict=False))
    texts = isinstance(shapes, (dict, tuple, list))
    plain = tree_map(_plain, shapes, is_leaf=_is_dim) if texts else shapes
    leaves = check_spec(combined, spec_by_name(combined, plain))
    named = check_spec_texts(combined, spec_by_name(combined, tree_map(_texts, shapes, is_leaf=_is_dim)))
    declared = [_dims(leaf, spec) for (leaf, _, _), spec in zip(leaves, named, strict=True)]
    return NamedAxes(plain, declared)


def check_spec_texts(combined: dict[str, Any], spec: Any) -> list[Any]:
    """What was said of each leaf of the arguments, with names as `Dim`s.

    Args:
        combined: the arguments by name.
        spec: what was said of each.
    """
    return [shape for _, shape, _ in check_spec(combined, spec)]


def _is_dim(value: Any) -> bool:
    return isinstance(value, (Dim, str)) or value is None


def _plain(value: Any) -> Any:
    return Dim.DYNAMIC if isinstance(value, str) else value


def _texts(value: Any) -> Any:
    if isinstance(value, str) and not value.isidentifier():
        raise OnnxExporterError(
            f"dynamic_shapes: the name of a dimension must be an identifier, got {value!r}"
        )
    return Dim(value) if isinstance(value, str) else value


def _dims(leaf: Any, spec: Any) -> dict[int, str | None]:
    if not isinstance(leaf, tl_core.Tensor) or spec is None:
        return {}
    if not isinstance(spec, (dict, tuple, list)):
        spec = dict.fromkeys(range(leaf.dim()), spec)
    items = spec.items() if isinstance(spec, dict) else enumerate(spec)
    result: dict[int, str | None] = {}
    for dim, value in items:
        if value is None or isinstance(value, int) or value == Dim.STATIC:
            continue
        if isinstance(value, Dim):
            result[dim] = value.__name__ if value.__name__.isidentifier() else None
        elif value == Dim.DYNAMIC:
            result[dim] = None
    return result


def shapes_of_axes(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic_axes: Mapping[str, Any],
    input_names: Sequence[str],
    output_names: Sequence[str],
) -> NamedAxes:
    """The dynamic sizes of `dynamic_axes`.

    Args:
        model: the module.
        args: the example inputs.
        kwargs: those by keyword.
        dynamic_axes: for names of inputs and outputs, names of dimensions or dimensions alone.
        input_names: names of the inputs, in order.
        output_names: names of the outputs.
    """
    combined = _combine_args(model, args, kwargs)
    leaves = check_spec(combined, None)
    tensors = [i for i, (leaf, _, _) in enumerate(leaves) if isinstance(leaf, tl_core.Tensor)]
    positions = _positions(leaves, tensors, input_names)
    declared: list[dict[int, str | None]] = [{} for _ in leaves]
    for name, axes in dynamic_axes.items():
        if name in positions:
            declared[positions[name]] = _named_axes(name, axes, leaves[positions[name]][0])
        elif name not in output_names:
            warnings.warn(
                f"dynamic_axes names {name!r}, which is neither an input nor an output",
                OnnxExporterWarning,
                stacklevel=3,
            )
    entries = iter(range(len(leaves)))

    def spec_of(leaf: Any) -> Any:
        position = next(entries)
        return dict.fromkeys(declared[position], Dim.AUTO) if declared[position] else None

    shapes = {name: tree_map(spec_of, value) for name, value in combined.items()}
    return NamedAxes(shapes, declared)


def _positions(leaves: Sequence[Any], tensors: Sequence[int], input_names: Sequence[str]) -> dict[str, int]:
    """The leaf of each name: names of arguments, and those that the user gave to tensors in order."""
    from ..export.naming import input_names as names_of_paths

    names = dict(zip(names_of_paths([path for _, _, path in leaves]), range(len(leaves)), strict=True))
    names.update(zip(input_names, tensors, strict=False))
    return names


def _named_axes(name: str, axes: Any, leaf: Any) -> dict[int, str | None]:
    items = (
        axes
        if isinstance(axes, Mapping)
        else {axis: f"{name}_dynamic_axes_{i + 1}" for i, axis in enumerate(axes)}
    )
    result: dict[int, str | None] = {}
    for axis, text in items.items():
        if not isinstance(axis, int) or not -leaf.dim() <= axis < leaf.dim():
            raise OnnxExporterError(
                f"dynamic_axes[{name!r}] has the dimension {axis!r}, but the input has {leaf.dim()} dimensions"
            )
        result[axis % leaf.dim()] = str(text)
    return result
