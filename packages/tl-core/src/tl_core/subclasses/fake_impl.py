"""What results are without elements: the functions that `register_fake` takes, and their context."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["FakeImplCtx", "get_ctx", "set_ctx_getter"]


class FakeImplCtx:
    """What a fake implementation may ask for: sizes that only the values decide.

    Args:
        _fake_mode: the mode of fake tensors, which makes such sizes; None where there is none.
        _op: the operator, for messages.
    """

    def __init__(self, _fake_mode: Any, _op: Any) -> None:
        self._fake_mode, self._op = _fake_mode, _op
        self._shape_env = getattr(_fake_mode, "shape_env", None)

    def create_unbacked_symint(self, *, min: int = 2, max: int | None = None) -> Any:
        """An older name of `new_dynamic_size`."""
        import warnings

        warnings.warn(
            "create_unbacked_symint is deprecated, please use new_dynamic_size instead", stacklevel=2
        )
        return self.new_dynamic_size(min=min, max=max)

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """A size that the values of tensors decide.

        Args:
            min: its least value.
            max: its greatest value; None: any.

        Raises:
            ValueError: a bound is negative or no plain number.
        """
        if self._shape_env is None or not getattr(self._shape_env, "allow_dynamic_output_shape_ops", True):
            from tl_core.base.operator_errors import DynamicOutputShapeException

            raise DynamicOutputShapeException(self._op)
        if not isinstance(min, int) or not isinstance(max, (int, type(None))):
            raise ValueError(
                f"ctx.new_dynamic_size(min={min}, max={max}): expected min and max to be statically known ints but "
                "got SymInt. This is not supported."
            )
        if min < 0:
            raise ValueError(
                f"ctx.new_dynamic_size(min={min}, ...): expected min to be greater than or equal to 0: this API can "
                "only create non-negative sizes."
            )
        return self._shape_env.new_dynamic_size(min, max)


# ---- the context of the fake implementation that runs ---------------------------------------------------------------
_getter: Callable[[], Any] | None = None


@contextlib.contextmanager
def set_ctx_getter(ctx_getter: Callable[[], Any]) -> Iterator[None]:
    """A region in which `get_ctx` asks a function.

    Args:
        ctx_getter: returns the context.
    """
    global _getter
    before, _getter = _getter, ctx_getter
    try:
        yield
    finally:
        _getter = before


def get_ctx() -> FakeImplCtx:
    """The context of the fake implementation that is running.

    Raises:
        RuntimeError: none is running.

    Example:
        >>> get_ctx()
        Traceback (most recent call last):
        RuntimeError: get_ctx() can only be called inside of a fake implementation
    """
    if _getter is None:
        raise RuntimeError("get_ctx() can only be called inside of a fake implementation")
    return _getter()


class FakeKernel:
    """A fake implementation as the function of an operator for the device `meta`.

    Args:
        qualname: the operator's name.
        function: the implementation.
        stacklevel: how far up its registration stands, for messages.
    """

    def __init__(self, qualname: str, function: Callable[..., Any], stacklevel: int = 1) -> None:
        self.qualname, self.function, self.source = qualname, function, caller(stacklevel + 1)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _getter is not None:  # fakes bring a context of their own
            return self.function(*args, **kwargs)
        with set_ctx_getter(self._refuse):
            return self.function(*args, **kwargs)

    def _refuse(self) -> Any:
        raise RuntimeError(
            f"{self.qualname} ({self.source}): You're trying to run this operator with meta Tensors (as opposed to "
            "FakeTensors), but this operator may return an output Tensor with data-dependent shape. Meta Tensors don't "
            "support operators with outputs that have data-dependent shapes but FakeTensors do. If your operator does "
            "not return an output with data-dependent shape, make sure the FakeTensor and/or meta kernel does not call "
            "torch.library.get_ctx(). Otherwise, please use FakeTensors."
        )


# The fake implementations by the operators' names.
entries: dict[str, Any] = {}


def check(qualname: str) -> None:
    """Raises if an operator has a function for `meta` already."""
    if qualname in entries:
        raise RuntimeError(
            f"register_fake(...): the operator {qualname} already has an fake impl registered at "
            f"{entries[qualname].source}."
        )
    from tl_core.dispatch.queries import has_kernel
    from tl_core.operators.names import native_name

    name = native_name(qualname)
    if has_kernel(name, "Meta"):
        raise RuntimeError(
            f"register_fake(...): the operator {qualname} already has an DispatchKey::Meta implementation via a "
            "pre-existing torch.library or TORCH_LIBRARY registration. Please either remove that registration or don't "
            "call register_fake."
        )
    if has_kernel(name, "CompositeImplicitAutograd"):
        raise RuntimeError(
            f"register_fake(...): the operator {qualname} already has an implementation for this device type via a "
            "pre-existing registration to DispatchKey::CompositeImplicitAutograd. CompositeImplicitAutograd operators "
            "do not need an fake impl; instead, the operator will decompose into its constituents and those can have "
            "fake impls defined on them."
        )


def caller(level: int) -> str:
    """`file:line` of who called, `level` frames up.

    Args:
        level: 1 for the caller of this function's caller.
    """
    try:
        frame = sys._getframe(level + 1)
    except ValueError:
        return "<unknown>"
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
