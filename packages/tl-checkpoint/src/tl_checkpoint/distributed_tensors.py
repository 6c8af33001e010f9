"""Classes of distributed tensors in files, if the program has imported them: their layout and its parts."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any

import tl_core

from .globals import Global
from .unfinished import Unfinished

__all__ = ["find"]

_PLACEMENTS = "torch.distributed.tensor.placement_types"
_MESH = "torch.distributed.device_mesh.DeviceMesh"
_SPEC = "torch.distributed.tensor._dtensor_spec"
_HOMES = {
    "torch.distributed.tensor": "tl_distributed.tensor",
    "torch.distributed.device_mesh": "tl_distributed.groups.device_mesh",
    _PLACEMENTS: "tl_distributed.tensor.placement_types",
    _SPEC: "tl_distributed.tensor.dtensor_spec",
}


def _is_tensor(value: Any) -> bool:
    return isinstance(value, tl_core.Tensor)


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _are_names(value: Any) -> bool:
    return value is None or (type(value) is tuple and all(map(_is_text, value)))


def _are_counts(value: Any) -> bool:
    return isinstance(value, tuple) and all(map(_is_count, value))


def _is_of(path: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, _class_at(path) or ())


def _are_placements(value: Any) -> bool:
    return type(value) is tuple and all(map(_is_of(f"{_PLACEMENTS}.Placement"), value))


def _is_meta(value: Any) -> bool:
    return _is_of(f"{_SPEC}.TensorMeta")(value) and (
        _are_counts(value.shape) and _are_counts(value.stride) and isinstance(value.dtype, tl_core.dtype)
    )


# The attributes of each class, and the checks of their values.
_STATES: dict[str, dict[str, Callable[[Any], bool]]] = {
    _MESH: {"device_type": _is_text, "mesh": _is_tensor, "mesh_dim_names": _are_names},
    f"{_SPEC}.DTensorSpec": {
        "mesh": _is_of(_MESH),
        "placements": _are_placements,
        "tensor_meta": _is_meta,
    },
    f"{_PLACEMENTS}.Shard": {"dim": _is_count},
    f"{_PLACEMENTS}._StridedShard": {"dim": _is_count, "split_factor": _is_count},
    f"{_PLACEMENTS}.Partial": {"reduce_op": _is_text},
}


def find(path: str) -> Any:
    """The entry for a class of distributed tensors in a file that is read as data; None for all others.

    Nothing is imported: the program must have imported the class.

    Args:
        path: the class's path in the file.
    """
    kind = _class_at(path)
    if kind is None:
        return None
    if path == "torch.distributed.tensor.DTensor":
        return kind
    if path in (f"{_PLACEMENTS}.Replicate", f"{_SPEC}.TensorMeta"):
        return Global(path, kind)
    return Global(path, _placeholder(kind, _STATES[path])) if path in _STATES else None


def _class_at(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(sys.modules.get(_HOMES.get(module, "")), name, None)


def _placeholder(kind: Any, attributes: dict[str, Callable[[Any], bool]]) -> type[Unfinished]:
    """A placeholder class for objects of a class until their attributes are read."""

    class Placeholder(Unfinished):
        def finish(self, state: Any) -> Any:
            if type(state) is not dict or state.keys() != attributes.keys():
                raise pickle.UnpicklingError(f"a {kind.__name__} must have {', '.join(attributes)}")
            for name, fits in attributes.items():
                if not fits(state[name]):
                    raise pickle.UnpicklingError(
                        f"{name} of a {kind.__name__} is a {type(state[name]).__name__!r}"
                    )
            instance = kind.__new__(kind)
            if hasattr(kind, "__setstate__"):
                instance.__setstate__(state)
            else:
                vars(instance).update(state)
            return instance

    return Placeholder
