"""ONNX files: with tensors inside, in a second file, or without tensors."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["check_tensors", "save_model", "size_of"]

_LIMIT = 1536 * 2**20  # bytes; protobuf accepts messages below 2 GiB


def size_of(model: Any) -> int:
    """The number of bytes of a model's tensors.

    Args:
        model: the model.
    """
    tensors = (v.const_value for v in model.graph.initializers.values())
    return sum(tensor.nbytes for tensor in tensors if tensor is not None)


def check_tensors(model: Any) -> None:
    """Raises if a tensor of a model has no numbers.

    Args:
        model: the model.

    Raises:
        OnnxExporterError: the model was exported from fake tensors, and got no numbers yet.
    """
    for value in model.graph.initializers.values():
        tensor = value.const_value
        if tensor is not None and tensor.meta.get("pending"):
            tensor.numpy()


def save_model(
    model: Any,
    destination: Any,
    include_initializers: bool,
    keep_initializers_as_inputs: bool,
    external_data: bool | None,
) -> None:
    """Writes a model.

    Args:
        model: the model.
        destination: a path, or a file that is open for writing.
        include_initializers: whether the file contains the weights.
        keep_initializers_as_inputs: whether the weights are inputs of the graph as well.
        external_data: whether the weights are in a file beside the model. None: if the model is too large for one file.
    """
    import onnx_ir as ir

    if include_initializers:
        check_tensors(model)
    is_path = isinstance(destination, (str, os.PathLike))
    with (
        _inputs_changed(model, keep_initializers_as_inputs),
        _without_tensors(model, not include_initializers),
    ):
        large = include_initializers and size_of(model) > _LIMIT
        if not is_path:
            if external_data or large:
                raise TypeError(
                    "save(): external data, which models above 1.5 GiB need, is written beside a path, "
                    f"but destination is a {type(destination).__name__}"
                )
            destination.write(ir.serde.serialize_model(model).SerializeToString())
        elif large or (external_data and include_initializers):
            path = Path(destination)
            ir.save(model, path, external_data=f"{path.name}.data")
        else:
            ir.save(model, Path(destination))


@contextlib.contextmanager
def _inputs_changed(model: Any, with_initializers: bool) -> Iterator[None]:
    """The initializers are inputs too, inside."""
    inputs = list(model.graph.inputs)
    if with_initializers:
        present = {id(value) for value in inputs}
        model.graph.inputs.extend(v for v in model.graph.initializers.values() if id(v) not in present)
    try:
        yield
    finally:
        if with_initializers:
            model.graph.inputs.clear()
            model.graph.inputs.extend(inputs)


@contextlib.contextmanager
def _without_tensors(model: Any, active: bool) -> Iterator[None]:
    """The model has no initializers, inside."""
    initializers = dict(model.graph.initializers)
    if active:
        for name in initializers:
            model.graph.initializers.pop(name)
    try:
        yield
    finally:
        if active:
            model.graph.initializers.update(initializers)
