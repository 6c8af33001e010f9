"""What is around fakes: comparing them with real tensors, and finding the tensors they were made of."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.subclasses.fake_mode import FakeTensorMode
from tl_core.subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    MetadataMismatchError,
    UnsupportedOperatorException,
)
from tl_core.subclasses.python_dispatch import TorchDispatchMode, no_dispatch
from tl_core.subclasses.tensor_structures import map_tensors, tensors_in

__all__ = [
    "CrossRefFakeMode",
    "outputs_alias_inputs",
    "outputs_are_inputs",
    "output_alias_each_other",
    "try_convert_fake_to_real",
]


def _storages(x: Any) -> set[int]:
    return {_C._memory_of(t)[0] for t in tensors_in(x)}


def outputs_alias_inputs(outputs: Any, inputs: Any) -> bool:
    """Whether a result lies in the storage of an argument.

    Args:
        outputs: tensors, or structures of them.
        inputs: likewise.
    """
    return bool(_storages(outputs) & _storages(inputs))


def outputs_are_inputs(outputs: Any, inputs: Any) -> bool:
    """Whether a result is an argument itself.

    Args:
        outputs: tensors, or structures of them.
        inputs: likewise.
    """
    input_ids = {id(t) for t in tensors_in(inputs)}
    return any(id(t) in input_ids for t in tensors_in(outputs))


def output_alias_each_other(outputs: Any) -> bool:
    """Whether two results lie in one storage.

    Args:
        outputs: tensors, or structures of them.
    """
    storages = [_C._memory_of(t)[0] for t in tensors_in(outputs)]
    return len(set(storages)) < len(storages)


def try_convert_fake_to_real(ten_list: list[Any]) -> list[Any]:
    """In place of fakes, views of the tensors that their storages were made of, where those still live.

    Args:
        ten_list: tensors.

    Returns:
        A list as long; a fake of which nothing real is left stays as it is.
    """
    return [_real(t) if isinstance(t, FakeTensor) else t for t in ten_list]


def _real(fake: FakeTensor) -> Tensor:
    key = _C._memory_of(fake)[0]
    converter = fake.fake_mode.fake_tensor_converter.meta_converter
    for storage, refs in converter._storages.values():
        if _C._memory_of(storage)[0] != key:
            continue
        for ref in refs:
            t = ref()
            if t is not None:
                with no_dispatch():
                    return _C._with_storage(
                        t.detach(), fake.dtype, tuple(fake.shape), fake.stride(), fake.storage_offset()
                    )
    return fake


class CrossRefFakeMode(TorchDispatchMode):
    """Runs each operator on fakes, too, and compares what they say with what the real tensors are.

    Args:
        ignore_op_fn: gets an operator; true leaves it out.
        check_strides: whether strides are compared.
        check_aliasing: whether it is compared which results lie in the storage of an argument.
        only_check_ops_with_meta: leave out operators that have no meta kernel.

    Raises:
        MetadataMismatchError: they differ; the message has the operator.
    """

    def __init__(
        self,
        ignore_op_fn: Any = None,
        *,
        check_strides: bool = True,
        check_aliasing: bool = True,
        only_check_ops_with_meta: bool = True,
    ) -> None:
        super().__init__()
        self.ignore_op_fn = ignore_op_fn or (lambda func: False)
        self.check_strides, self.check_aliasing = check_strides, check_aliasing
        self.only_check_ops_with_meta = only_check_ops_with_meta

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        fake = None if self.ignore_op_fn(func) else self._of_fakes(func, args, kwargs)
        out = func(*args, **kwargs)
        if fake is not None:
            self._compare(func, out, *fake)
        return out

    def _of_fakes(self, func: Any, args: Any, kwargs: Any) -> Any:
        mode = FakeTensorMode(
            allow_fallback_kernels=not self.only_check_ops_with_meta, allow_non_fake_inputs=True
        )
        fakes = map_tensors((args, kwargs), lambda t: mode.from_tensor(t))
        try:
            with mode:
                return func(*fakes[0], **fakes[1]), fakes, (args, kwargs)
        except (DataDependentOutputException, DynamicOutputShapeException, UnsupportedOperatorException):
            return None

    def _compare(self, func: Any, real: Any, fake: Any, fake_inputs: Any, inputs: Any) -> None:
        reals, fakes = tensors_in(real), tensors_in(fake)
        self._same(func, "the number of results", len(reals), len(fakes))
        for r, f in zip(reals, fakes, strict=True):
            self._same(func, "the shape", tuple(r.shape), tuple(f.shape))
            self._same(func, "the dtype", r.dtype, f.dtype)
            self._same(func, "the device", r.device, f.device)
            if self.check_strides and r.layout is _C.strided and r.numel() > 1:
                self._same(func, "the strides", r.stride(), f.stride())
        if self.check_aliasing and all(r.layout is _C.strided for r in reals):
            self._same(
                func, "whether a result lies in the storage of an argument",
                outputs_alias_inputs(real, inputs), outputs_alias_inputs(fake, fake_inputs),
            )  # fmt: skip

    def _same(self, func: Any, what: str, real: Any, fake: Any) -> None:
        if real != fake:
            raise MetadataMismatchError(
                f"{func}: {what} of the real result is {real}, of the fake one {fake}"
            )
