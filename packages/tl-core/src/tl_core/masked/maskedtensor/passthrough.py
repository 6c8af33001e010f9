"""Views and rearrangements, which do the same to data and mask."""

from __future__ import annotations

from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.masked.maskedtensor.core import HANDLERS, MaskedTensor, as_masked, densify, plain

__all__: list[str] = []

PASSTHROUGH_NAMES = """
    select transpose split t slice slice_backward select_backward index expand view _unsafe_view _reshape_alias cat
    unsqueeze unfold unfold_backward im2col stack atleast_1d atleast_2d atleast_3d broadcast_tensors broadcast_to chunk
    column_stack dsplit flatten hsplit hstack kron meshgrid narrow ravel tensor_split vsplit vstack expand_as reshape
    reshape_as view_as permute squeeze movedim moveaxis swapaxes swapdims repeat tile flip roll unbind unflatten
    index_select __getitem__ split_with_sizes concat concatenate dstack row_stack contiguous take_along_dim fliplr
    flipud rot90 diagonal
""".split()  # noqa: SIM905 - a list of fifty strings would take fifty lines


def _part(a: Any, of_mask: bool) -> Any:
    """An argument with the data, or the mask, in the place of masked tensors."""
    if isinstance(a, MaskedTensor):
        return a._masked_mask if of_mask else plain(a)
    if isinstance(a, (list, tuple)) and any(isinstance(x, Tensor) for x in a):
        return type(a)([_part(x, of_mask) for x in a])
    return a


def _both(result: Any, masks: Any) -> Any:
    if isinstance(result, Tensor):
        return as_masked(result, masks)
    return type(result)([_both(m, k) for m, k in zip(result, masks, strict=True)])


@HANDLERS.rule(*PASSTHROUGH_NAMES)
def _passthrough(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    def run(of_mask: bool) -> Any:
        return operator(
            *(_part(a, of_mask) for a in args), **{k: _part(a, of_mask) for k, a in kwargs.items()}
        )

    return _both(run(False), run(True))


@HANDLERS.rule("im2col")
def _im2col(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> MaskedTensor:
    self, *rest = args
    mask = operator(self._masked_mask.to(_C.float32), *rest, **kwargs) != 0
    return as_masked(operator(plain(self), *rest, **kwargs), mask)


@HANDLERS.rule("contiguous")
def _contiguous(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> MaskedTensor:
    self = args[0]
    if self.layout is not _C.strided:
        raise ValueError("MaskedTensors with sparse data do not have is_contiguous")
    return (
        self if self.is_contiguous() else as_masked(plain(self).contiguous(), self._masked_mask.contiguous())
    )


@HANDLERS.rule("where")
def _where(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> MaskedTensor:
    condition, x, y = _in_order(operator, args, kwargs)
    if not isinstance(x, MaskedTensor) or not isinstance(y, MaskedTensor):
        raise ValueError("where(): input and other must be MaskedTensors, got a dense one")
    result = _C.where(condition, plain(x), plain(y))
    return as_masked(result, _C.where(condition, x._masked_mask, y._masked_mask))


def _in_order(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """condition, input, other: the method has the condition second."""
    if isinstance(args[0], MaskedTensor):
        args = (args[1], args[0], *args[2:])
    return (*args, *(kwargs[k] for k in ("input", "self", "other") if k in kwargs))


# ---- layouts and types ----
@HANDLERS.rule("to_dense")
def _to_dense(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> MaskedTensor:
    return densify(args[0])


@HANDLERS.rule("to_sparse", "to_sparse_coo", "to_sparse_csr")
def _to_sparse(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> MaskedTensor:
    self: Any = args[0]
    convert = getattr(Tensor, operator.__name__)
    mask = convert(self._masked_mask)
    mask = mask.coalesce() if mask.layout is _C.sparse_coo else mask
    return as_masked(plain(self).sparse_mask(mask), mask)


@HANDLERS.rule("to")
def _to(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    self, *rest = args
    result = Tensor.to(self, *(plain(a) if isinstance(a, MaskedTensor) else a for a in rest), **kwargs)
    return (
        result if isinstance(result, MaskedTensor) else as_masked(result, self._masked_mask.to(result.device))
    )


@HANDLERS.rule("copy_")
def _copy_(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    self, source = args[:2]
    if not isinstance(self, MaskedTensor) or not isinstance(source, MaskedTensor):
        raise ValueError("copy_(): both tensors must be MaskedTensors")
    Tensor.copy_(self, source)
    self._masked_mask = source._masked_mask.expand(self.shape).clone()
    return self


# Queries, and functions that keep data and mask apart by themselves.
_AS_IT_IS = """
    __get__ __set__ dim size stride numel nelement ndimension is_floating_point is_complex is_signed element_size
    get_device data_ptr storage_offset untyped_storage storage __hash__ __len__ __bool__ __float__ __int__ item backward
    retain_grad is_pinned is_shared is_conj is_neg _nnz __dir__ is_same_size register_hook is_inference __contains__
    is_coalesced sparse_dim dense_dim type _is_view register_post_accumulate_grad_hook is_nonzero result_type
""".split()  # noqa: SIM905 - a list of fifty strings would take fifty lines


@HANDLERS.rule(*_AS_IT_IS)
def _as_it_is(operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return operator(*args, **kwargs)
