"""Fakes of real tensors: the converter, and the mode in which `copy.deepcopy` creates fakes."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.dispatch.modes import no_modes
from tl_core.overrides import DisableTorchFunctionSubclass, TorchFunctionMode
from tl_core.subclasses.fake_exceptions import UnsupportedFakeTensorException
from tl_core.subclasses.fake_tensor import CONSTANT_NUMEL_LIMIT, FakeTensor
from tl_core.subclasses.meta_utils import MetaConverter

__all__ = ["FakeCopyMode", "FakeTensorConverter"]


class FakeTensorConverter:
    """Makes fakes of tensors, one of each as long as both live.

    Attributes:
        meta_converter: what makes the storages and geometries.
    """

    def __init__(self, *, copy_data: bool = False, export: bool = False) -> None:
        self.meta_converter = MetaConverter(copy_data=copy_data)
        self.export = export

    @property
    def tensor_memo(self) -> Any:
        """The fakes, by their tensors."""
        return self.meta_converter.tensor_memo

    def from_real_tensor(
        self,
        fake_mode: Any,
        t: Tensor,
        make_constant: bool = False,
        shape_env: Any = None,
        *,
        source: Any = None,
        symbolic_context: Any = None,
        trace: bool = True,
    ) -> Any:
        """The fake of a tensor.

        Args:
            fake_mode: the mode it is to belong to.
            t: the tensor.
            make_constant: whether its elements stay known, if it has few.
            shape_env: where sizes are to be symbols, the mode's environment.
            source: where the tensor comes from.
            symbolic_context: which sizes are symbols.
            trace: taken for compatibility.

        Raises:
            UnsupportedFakeTensorException: there are no fakes of such tensors.
        """
        if isinstance(t, FakeTensor) and t.fake_mode is fake_mode:
            return t
        if t.is_quantized:
            raise UnsupportedFakeTensorException(
                "there are no fakes of quantized tensors (quantized nyi in meta tensors); convert the model with "
                "quantize_pt2e, whose integers are plain tensors"
            )
        cached = self.tensor_memo.get(t) if not make_constant else None
        if cached is not None:
            return cached
        with no_modes():
            constant = t if make_constant and t.numel() <= CONSTANT_NUMEL_LIMIT else None
            real = t.detach().clone() if fake_mode.propagate_real_tensors and not _C._is_hollow(t) else None
        device = t.device

        def fake(elem: Tensor) -> Any:
            return FakeTensor(fake_mode, elem, device, constant, real)

        if shape_env is None:
            return self.meta_converter.convert(t, fake, remember=not make_constant)

        def with_symbols(elem: Tensor) -> Any:
            result = fake(elem)
            if isinstance(t, FakeTensor) and t.fake_mode.shape_env is shape_env:
                return result if t.symbolic is None else t.symbolic.attached_to(result)
            fake_mode.symbolic.name_sizes(result, source, symbolic_context)
            return result

        return self.meta_converter.convert(t, with_symbols, remember=not make_constant, views=False)

    def from_meta_and_device(
        self, fake_mode: Any, t: Tensor, device: Any, pytype: Any = None, dispatch_keys: Any = None
    ) -> Any:
        """The fake with a meta tensor's geometry.

        Args:
            fake_mode: the mode it is to belong to.
            t: a tensor on meta.
            device: where it claims to lie.
            pytype: kept as its attribute.
            dispatch_keys: likewise.
        """
        cached = self.tensor_memo.get(t)
        if cached is not None:
            return cached
        fake = FakeTensor(fake_mode, t, device, pytype=pytype, dispatch_keys=dispatch_keys)
        self.tensor_memo[t] = fake
        return fake


class FakeCopyMode(TorchFunctionMode):
    """Inside, `copy.deepcopy` of tensors makes fakes.

    Args:
        fake_mode: the mode they are to belong to.
    """

    def __init__(self, fake_mode: Any) -> None:
        self.fake_mode = fake_mode

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is Tensor.clone:
            return func(self.fake_mode.from_tensor(args[0], static_shapes=True), **kwargs)
        if func is Tensor.__deepcopy__:
            tensor, memo = args
            if id(tensor) not in memo:
                memo[id(tensor)] = self.fake_mode.from_tensor(tensor, static_shapes=True)
            return memo[id(tensor)]
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs)
