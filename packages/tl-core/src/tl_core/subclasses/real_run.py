"""Running operators on the tensors that fakes stand for: values are known, and kernels are checked."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.dispatch.modes import no_modes
from tl_core.subclasses.tensor_structures import map_tensors, tensors_in

__all__ = ["RealRun"]


class RealRun:
    """A call of an operator on the tensors that its arguments stand for.

    Args:
        func: the operator.
        names: the names of its arguments.
        mutated: the indices of the arguments that it may write to.
        args: its arguments, of which all tensors are fakes.
        kwargs: those by name.
    """

    def __init__(self, func: Any, names: list[str], mutated: list[int], args: Any, kwargs: Any) -> None:
        self.func, self.names, self.written = func, names, mutated
        self.fakes = tensors_in((args, kwargs))
        self.known = all(t.real_tensor is not None for t in self.fakes)
        self._of_library = "::" in func._native_name
        if self.known:
            self.args, self.kwargs = map_tensors(args, _real), map_tensors(kwargs, _real)

    def result(self) -> Any:
        """What the operator returns.

        Raises:
            RuntimeError: it belongs to a library, and does what its schema does not say.
        """
        with no_modes():
            before = map_tensors((self.args, self.kwargs), Tensor.clone) if self._of_library else None
            out = self.func(*self.args, **self.kwargs)
            if before is not None:
                self._check_writes(before)
                self._check_aliases(out)
        return out

    def _check_writes(self, before: Any) -> None:
        arguments = {**dict(zip(self.names, self.args, strict=False)), **self.kwargs}
        were = {**dict(zip(self.names, before[0], strict=False)), **before[1]}
        for i, name in enumerate(self.names):
            if i in self.written or name not in arguments:
                continue
            for now, was in zip(tensors_in([arguments[name]]), tensors_in([were[name]]), strict=True):
                same = now.shape == was.shape and bool(((now == was) | ((now != now) & (was != was))).all())
                if not same:
                    raise RuntimeError(
                        f"{self.func}: for argument '{name}': the operator's schema says that it is not written, but "
                        "its kernel wrote to it. Name it in mutates_args, or clone it first."
                    )

    def _check_aliases(self, out: Any) -> None:
        inputs = {_C._memory_of(t)[0] for t in tensors_in((self.args, self.kwargs))}
        outputs = [_C._memory_of(t)[0] for t in tensors_in([out])]
        says = any(r.alias_info is not None for r in self.func._schema.returns)
        if not says and (inputs & set(outputs) or len(set(outputs)) < len(outputs)):
            raise RuntimeError(
                f"{self.func}: The output of this custom operator (1) must not also be an input to this custom "
                "operator and (2) may not alias any inputs to this custom operator or other returns. Return clones."
            )


def _real(t: Any) -> Any:
    return t.real_tensor
