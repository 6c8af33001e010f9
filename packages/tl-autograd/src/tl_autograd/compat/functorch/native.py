"""The names of `tl._C._functorch`: levels of transforms by their numbers.

The outermost level has the number 1. Each function that begins a level has a counterpart that ends it.
"""

from __future__ import annotations

from typing import Any

from tl_autograd import _C
from tl_autograd.func.functionalize import outside
from tl_autograd.func.level_stack import (  # noqa: F401 - names for others
    _TYPES,
    CInterpreter,
    RandomnessType,
    TransformType,
    current_level,
    get_dynamic_layer_stack_depth,
    get_interpreter_stack,
    maybe_current_level,
    peek_interpreter_stack,
)
from tl_autograd.func.levels import BATCH, FUNCTIONALIZE, GRAD, JVP, RANDOMNESS
from tl_autograd.func.vmap import loops
from tl_core import Tensor
from tl_core.dispatch.modes import in_transform as are_transforms_active  # noqa: F401 - a name for others


def _serial(level: int) -> int:
    entry = _C.level_numbered(level)
    if entry is None:
        raise RuntimeError(f"there is no transform of level {level} here")
    return entry[0]


def _begin(kind: int, size: int = 0, randomness: str = "error") -> int:
    _C.begin_level(kind, size, RANDOMNESS.index(randomness))
    return _C.top_level()[2]


def _end(kind: int) -> int:
    top = _C.top_level()
    if top is None or top[1] != kind:
        raise RuntimeError(f"the innermost transform is no {_TYPES[kind].name}")
    _C.end_level(top[0])
    return top[2]


def _vmap_increment_nesting(batch_size: int, randomness: str) -> int:
    """Begins a level of a batch."""
    return _begin(BATCH, batch_size, randomness)


def _vmap_decrement_nesting() -> int:
    """Ends a level of a batch."""
    return _end(BATCH)


def _grad_increment_nesting() -> int:
    """Begins a level of gradients."""
    return _begin(GRAD)


def _grad_decrement_nesting() -> int:
    """Ends a level of gradients."""
    return _end(GRAD)


def _jvp_increment_nesting() -> int:
    """Begins a level of tangents."""
    return _begin(JVP)


def _jvp_decrement_nesting() -> int:
    """Ends a level of tangents."""
    return _end(JVP)


def _func_increment_nesting(reapply_views: bool) -> int:
    """Begins a level without writes."""
    return _begin(FUNCTIONALIZE, not reapply_views)


def _func_decrement_nesting() -> int:
    """Ends a level without writes."""
    return _end(FUNCTIONALIZE)


def _add_batch_dim(tensor: Tensor, dim: int, level: int) -> Tensor:
    """The tensor as a batch of that level."""
    if not -tensor.dim() <= dim < tensor.dim():
        raise IndexError(f"Dimension out of range: {dim} of a tensor of {tensor.dim()} dimensions")
    return _C.wrap_batch(tensor, dim % tensor.dim(), _serial(level))


def _remove_batch_dim(tensor: Tensor, level: int, batch_size: int, out_dim: int) -> Tensor:
    """The tensor with a level's batch as a dimension. A tensor without the batch is expanded."""
    contents = _C.unwrap(tensor, _serial(level))
    if contents is None:
        expanded = tensor.unsqueeze(0).expand(batch_size, *tensor.shape)
        return expanded if out_dim == 0 else expanded.movedim(0, out_dim)
    value, dim = contents
    return value if dim == out_dim else value.movedim(dim, out_dim)


def _unwrap_batched(tensor: Tensor, level: int) -> tuple[Tensor, int | None]:
    """(the tensor with its batch, the batch dimension); the dimension is None for a tensor without the batch."""
    contents = _C.unwrap(tensor, _serial(level))
    return (tensor, None) if contents is None else contents


def _wrap_for_grad(tensor: Tensor, level: int) -> Tensor:
    """The tensor at a level of gradients."""
    serial = _serial(level)
    if _C.level_numbered(level)[1] == JVP:  # tangents hang on tensors themselves
        return tensor.view_as(tensor)
    return _C.wrap_for_gradients(tensor, serial)


def _unwrap_for_grad(tensor: Tensor, level: int) -> Tensor:
    """The tensor below a level of gradients."""
    contents = _C.unwrap(tensor, _serial(level))
    return tensor if contents is None else contents[0]


def _wrap_functional_tensor(tensor: Tensor, level: int) -> Tensor:
    """The tensor at a level without writes."""
    return _C.wrap_functional(tensor, _serial(level))


def _unwrap_functional_tensor(tensor: Tensor, reapply_views: bool = True) -> Tensor:
    """The current value of a tensor of a level without writes."""
    return outside(tensor)


def _assert_wrapped_functional(unwrapped: Tensor, wrapped: Tensor) -> None:
    """Raises RuntimeError unless the second tensor alone is of a level without writes."""
    if is_functionaltensor(unwrapped) or not is_functionaltensor(wrapped):
        raise RuntimeError("expected a tensor and the same at a level without writes")


def _propagate_functional_input_mutation(unwrapped: Tensor, wrapped: Tensor) -> None:
    """Copies the value of a wrapper that was written to into the tensor."""
    value, changed = _C.functional_value(wrapped)
    if changed:
        unwrapped.resize_(value.shape).copy_(value)


# ---- kinds of tensors -----------------------------------------------------------------------------------------------


def _kind(tensor: Tensor) -> int | None:
    wrapper = _C.wrapping(tensor)
    return None if wrapper is None else wrapper[1]


def is_batchedtensor(tensor: Tensor) -> bool:
    """Whether the innermost level that wraps the tensor is a batch."""
    return _kind(tensor) == BATCH


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """Whether the innermost level that wraps the tensor computes gradients."""
    return _kind(tensor) == GRAD


def is_functionaltensor(tensor: Tensor) -> bool:
    """Whether the innermost level that wraps the tensor is a level without writes."""
    return _kind(tensor) == FUNCTIONALIZE


def is_functorch_wrapped_tensor(tensor: Tensor) -> bool:
    """Whether a level wraps the tensor."""
    return _kind(tensor) is not None


def is_legacy_batchedtensor(tensor: Tensor) -> bool:
    """False: tl has one kind of batch."""
    return False


def get_unwrapped(tensor: Tensor) -> Tensor:
    """The tensor below the innermost level."""
    wrapper = _C.wrapping(tensor)
    if wrapper is None:
        raise RuntimeError("get_unwrapped: the tensor is in no transform")
    return wrapper[3]


def maybe_get_level(tensor: Tensor) -> int:
    """The number of the innermost level that wraps the tensor; -1 without one."""
    wrapper = _C.wrapping(tensor)
    return -1 if wrapper is None else wrapper[2]


def dlevel(tensor: Tensor) -> int:
    """The number of the innermost level that wraps the tensor; 0 without one, -1 if the level has ended."""
    wrapper = _C.wrapping(tensor)
    if wrapper is None:
        return 0
    return -1 if wrapper[5] else wrapper[2]


def maybe_get_bdim(tensor: Tensor) -> int:
    """The dimension of the hidden batch; -1 without one."""
    wrapper = _C.wrapping(tensor)
    return wrapper[4] if wrapper is not None and wrapper[1] == BATCH else -1


def unwrap_if_dead(tensor: Tensor) -> Tensor:
    """The value of a tensor whose level of gradients has ended; any other tensor itself."""
    wrapper = _C.wrapping(tensor)
    return wrapper[3] if wrapper is not None and wrapper[5] and wrapper[1] == GRAD else tensor


# ---- switches -------------------------------------------------------------------------------------------------------


def _set_vmap_fallback_warning_enabled(enabled: bool) -> None:
    """Sets whether an operator that runs one example of a batch after the other warns."""
    loops["warned"] = bool(enabled)


def _set_vmap_fallback_enabled(enabled: bool) -> None:
    """Sets whether operators may run one example of a batch after the other. Otherwise they raise."""
    loops["allowed"] = bool(enabled)


def _is_vmap_fallback_enabled() -> bool:
    """Whether operators may run one example of a batch after the other."""
    return loops["allowed"]


_allowed = {"inplace_requires_grad": False, "single_level_function": False}


def set_inplace_requires_grad_allowed(allowed: bool) -> None:
    """Sets a flag without effect: `requires_grad_()` inside of a transform changes only its level."""
    _allowed["inplace_requires_grad"] = bool(allowed)


def get_inplace_requires_grad_allowed() -> bool:
    """The value of `set_inplace_requires_grad_allowed`."""
    return _allowed["inplace_requires_grad"]


def set_single_level_autograd_function_allowed(allowed: bool) -> None:
    """Sets a flag without effect."""
    _allowed["single_level_function"] = bool(allowed)


def get_single_level_autograd_function_allowed() -> bool:
    """The value of `set_single_level_autograd_function_allowed`."""
    return _allowed["single_level_function"]


# ---- dimensions -----------------------------------------------------------------------------------------------------


def reshape_dim_into(src: int, dst: int, x: Tensor) -> Tensor:
    """Merges dimension `src` into dimension `dst` of the remaining dimensions, as its slower part.

    Args:
        src: the dimension to move.
        dst: the dimension to merge into, counted without `src`.
        x: a tensor of at least two dimensions.
    """
    src %= x.dim()
    dst %= x.dim() - 1
    moved = x.movedim(src, dst)
    return moved.flatten(dst, dst + 1)


def reshape_dim_outof(src: int, size: int, x: Tensor) -> Tensor:
    """Splits dimension `src` in two. The first part has size `size`.

    Args:
        src: the dimension to split.
        size: the size of the first part, a divisor of the dimension's size.
        x: a tensor of any type.
    """
    src %= x.dim()
    if x.shape[src] % size != 0:
        raise RuntimeError(f"a dimension of size {x.shape[src]} has no part of size {size}")
    return x.unflatten(src, (size, x.shape[src] // size))


__all__: list[Any] = [
    name for name in dir() if not name.startswith("__") and name not in ("Any", "Tensor", "annotations")
]
