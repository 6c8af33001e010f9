"""`assert_close`: are values alike, and if not, where and by how much."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.functional import as_tensor
from tl_core.functions.index_conversion import unravel_index

__all__ = ["assert_allclose", "assert_close"]

_HALF, _SINGLE, _DOUBLE = (1e-3, 1e-5), (1.3e-6, 1e-5), (1e-7, 1e-7)
# Relative and absolute; of other types, elements must be equal.
_TOLERANCES = {
    _C.float16: _HALF, _C.bfloat16: (1.6e-2, 1e-5), _C.float32: _SINGLE, _C.float64: _DOUBLE,
    _C.complex32: _HALF, _C.complex64: _SINGLE, _C.complex128: _DOUBLE,
}  # fmt: skip
_LOOSE = {_C.float16: (1e-3, 1e-3), _C.float32: (1e-4, 1e-5), _C.float64: (1e-5, 1e-8)}  # of assert_allclose
_OF_NUMBERS = ((bool, _C.bool), (int, _C.int64), (float, _C.float64), (complex, _C.complex128))
_ROWS, _COLUMNS = ("crow_indices", "col_indices"), ("ccol_indices", "row_indices")
_SPARSE = {
    _C.sparse_coo: ("COO", ("_indices",)), _C.sparse_csr: ("CSR", _ROWS), _C.sparse_bsr: ("BSR", _ROWS),
    _C.sparse_csc: ("CSC", _COLUMNS), _C.sparse_bsc: ("BSC", _COLUMNS),
}  # fmt: skip


class _Different(Exception):
    """Two values that are not close: what is told, where they stand, and the exception that it becomes."""

    def __init__(self, message: str, path: str = "", kind: type[Exception] = AssertionError) -> None:
        self.message, self.path, self.kind = message, path, kind


@dataclass(frozen=True)
class _Rules:
    """What makes two values close."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    allow_subclasses: bool = True
    check_device: bool = True
    check_dtype: bool = True
    check_layout: bool = True
    check_stride: bool = False

    def tolerances(self, *dtypes: Any) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        return _widest(_TOLERANCES, dtypes)


def _widest(table: dict[Any, tuple[float, float]], dtypes: Iterable[Any]) -> tuple[float, float]:
    """The larger tolerances of some types; 0 for those that the table lacks."""
    relative, absolute = zip(*(table.get(dtype, (0.0, 0.0)) for dtype in dtypes), strict=True)
    return max(relative), max(absolute)


def default_tolerances(
    *inputs: Any, dtype_precisions: dict[Any, tuple[float, float]] | None = None
) -> tuple[float, float]:
    """The relative and the absolute tolerance within which `assert_close` compares.

    Args:
        inputs: tensors, or types of elements; the larger tolerances of theirs are given.
        dtype_precisions: another table of both by type.

    Raises:
        TypeError: an input is neither.

    Example:
        >>> default_tolerances(_C.float32, _C.float64)
        (1.3e-06, 1e-05)
    """
    dtypes = [x.dtype if isinstance(x, Tensor) else x for x in inputs]
    for dtype in dtypes:
        if not isinstance(dtype, _C.dtype):
            raise TypeError(
                f"Expected a torch.Tensor or a torch.dtype, but got {type(dtype).__name__} instead."
            )
    return _widest(dtype_precisions or _TOLERANCES, dtypes)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise unless the values are close: ``|actual - expected| <= atol + rtol * |expected|`` for all elements.

    Infinities are close to themselves only. Of meta tensors only the attributes are compared, of sparse ones the
    indices (equal) and the values (close), of quantized ones what they stand for.

    Parameters:
        actual, expected : Tensor, number, array, None, or sequences and mappings of them
            The values. Sequences need the same length, mappings the same keys; their types don't matter.
        allow_subclasses : bool
            Whether a tensor may be compared with one of a subclass. Values of unrelated types are never close.
        rtol, atol : float, optional
            The tolerances, both or neither. By default as the types need, the larger of the two values':
            float32 and complex64 1.3e-6 and 1e-5, float64 and complex128 1e-7 and 1e-7, float16 and complex32 1e-3 and
            1e-5, bfloat16 1.6e-2 and 1e-5, all others 0.
        equal_nan : bool
            Whether NaN is close to NaN.
        check_device, check_dtype, check_layout, check_stride : bool
            Whether these have to be the same. Otherwise values are compared on the CPU, in the common type, densely.
        msg : str or callable, optional
            What is told instead, or a function that makes it of what would be.

    Raises:
        AssertionError
            If the values are not close: how many elements differ, and where the most.
        TypeError
            If values cannot be compared.
        ValueError
            If only one tolerance is given.

    Examples:
        >>> import tl_core as tl
        >>> assert_close([tl.tensor(1.0), 2], [tl.tensor(1.0 + 1e-7), 2])
        >>> assert_close(tl.tensor([1.0, 2.0]), tl.tensor([1.0, 4.0]))
        Traceback (most recent call last):
        AssertionError: Tensor-likes are not close!
        <BLANKLINE>
        Mismatched elements: 1 / 2 (50.0%)
        Greatest absolute difference: 2.0 at index (1,) (up to 1e-05 allowed)
        Greatest relative difference: 0.5 at index (1,) (up to 1.3e-06 allowed)
    """
    if (rtol is None) != (atol is None):
        missing = "rtol" if rtol is None else "atol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    rules = _Rules(
        rtol, atol, equal_nan, allow_subclasses, check_device, check_dtype, check_layout, check_stride
    )
    try:
        # All are looked at before the first is compared: what can't be compared is an error of the test.
        for path, compare in list(_comparisons(actual, expected, rules, "")):
            _at(path, compare)
    except _Different as different:
        raise _error(different, msg) from None


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """Raise unless the values are close, whatever their types and devices. Deprecated: use `assert_close`.

    Parameters:
        actual, expected : Tensor or what makes one
            The values.
        rtol, atol : float, optional
            The tolerances; by default of float16 1e-3 and 1e-3, float32 1e-4 and 1e-5, float64 1e-5 and 1e-8.
        equal_nan : bool
            Whether NaN is close to NaN.
        msg : str
            What is told instead.

    Examples:
        >>> import warnings, tl_core as tl
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     assert_allclose(tl.tensor([1.0, 2.0]), [1.0, 2.0])
    """
    warnings.warn(
        "assert_allclose() is deprecated; use assert_close(), whose defaults are stricter", FutureWarning, 2
    )
    a, b = as_tensor(actual), as_tensor(expected)
    if rtol is None and atol is None:
        rtol, atol = _widest(_LOOSE, (a.dtype, b.dtype))
    assert_close(
        a,
        b,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=False,
        check_dtype=False,
        msg=msg or None,
    )


def _at(path: str, compare: Callable[[], None]) -> None:
    try:
        compare()
    except _Different as different:
        different.path = path
        raise


def _error(different: _Different, msg: Any) -> Exception:
    if isinstance(msg, str) and different.kind is AssertionError:
        return AssertionError(msg)
    text = different.message
    if different.path:
        text += f"\n\nThe failure occurred for item {different.path}"
    return different.kind(msg(text) if callable(msg) and different.kind is AssertionError else text)


# ---- what is compared with what ----------------------------------------------------------------------------------


def _comparisons(
    actual: Any, expected: Any, rules: _Rules, path: str
) -> Iterator[tuple[str, Callable[[], None]]]:
    """The comparisons to make, each with its place in sequences and mappings."""
    if _both(actual, expected, Sequence) and not _any(actual, expected, str):
        if len(actual) != len(expected):
            raise _Different(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path)
        for i, pair in enumerate(zip(actual, expected, strict=True)):
            yield from _comparisons(*pair, rules, f"{path}[{i}]")
    elif _both(actual, expected, Mapping):
        if actual.keys() != expected.keys():
            raise _Different(_about_keys(actual, expected), path)
        for key in actual:
            yield from _comparisons(actual[key], expected[key], rules, f"{path}[{key!r}]")
    else:
        yield path, _comparison(actual, expected, rules, path)


def _comparison(actual: Any, expected: Any, rules: _Rules, path: str) -> Callable[[], None]:
    if actual is None or expected is None:
        return lambda: _compare_none(actual, expected)
    if _is_bool(actual) and _is_bool(expected):
        return lambda: _compare_bools(actual, expected)
    if _both(actual, expected, numbers.Number):
        return lambda: _compare_numbers(actual, expected, rules)
    tensors = _as_tensors(actual, expected, rules)
    if tensors is None:
        types = f"{type(actual)} and {type(expected)}"
        message = f"No comparison pair was able to handle inputs of type {types}."
        raise _Different(message, path, TypeError)
    return lambda: _compare_tensors(*tensors, rules)


def _both(a: Any, b: Any, kind: Any) -> bool:
    return isinstance(a, kind) and isinstance(b, kind)


def _any(a: Any, b: Any, kind: Any) -> bool:
    return isinstance(a, kind) or isinstance(b, kind)


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")


def _about_keys(actual: Any, expected: Any) -> str:
    missing = sorted(expected.keys() - actual.keys(), key=repr)
    additional = sorted(actual.keys() - expected.keys(), key=repr)
    return (
        "The keys of the mappings do not match:\n"
        f"Missing keys in the actual mapping: {missing}\nAdditional keys in the actual mapping: {additional}"
    )


def _as_tensors(actual: Any, expected: Any, rules: _Rules) -> tuple[Tensor, Tensor] | None:
    """Both as tensors; None if their types have nothing to do with each other, or are no tensors'."""
    a, b = type(actual), type(expected)
    related = issubclass(a, b) or issubclass(b, a) if rules.allow_subclasses else a is b
    if not related:
        return None
    try:
        return as_tensor(actual), as_tensor(expected)
    except (TypeError, ValueError, RuntimeError):
        return None


# ---- numbers -----------------------------------------------------------------------------------------------------


def _compare_none(actual: Any, expected: Any) -> None:
    if actual is not expected:
        raise _Different(f"None mismatch: {actual} is not {expected}")


def _compare_bools(actual: Any, expected: Any) -> None:
    if bool(actual) is not bool(expected):
        raise _Different(f"Booleans mismatch: {bool(actual)} is not {bool(expected)}")


def _number(value: Any) -> tuple[Any, Any]:
    """A number as one of Python's, and the type of element that it would make."""
    for kind, dtype in _OF_NUMBERS:
        if isinstance(value, kind):
            return value, dtype
    if isinstance(value, numbers.Integral):
        return int(value), _C.int64
    return (float(value), _C.float64) if isinstance(value, numbers.Real) else (complex(value), _C.complex128)


def _compare_numbers(actual: Any, expected: Any, rules: _Rules) -> None:
    (a, a_type), (b, b_type) = _number(actual), _number(expected)
    if rules.check_dtype and type(a) is not type(b):
        raise _Different(f"The (d)types do not match: {type(a)} != {type(b)}.")
    rtol, atol = rules.tolerances(a_type, b_type)
    if a == b or (rules.equal_nan and a != a and b != b):
        return
    difference = abs(a - b)
    if math.isfinite(difference) and difference <= atol + rtol * abs(b):
        return
    raise _Different(_about_numbers(a, b, rtol, atol))


def _about_numbers(a: Any, b: Any, rtol: float, atol: float) -> str:
    difference = abs(a - b)
    relative = difference / abs(b) if b else math.inf
    return (
        f"{_head('Scalars', rtol, atol)}\n\nExpected {b} but got {a}.\n"
        f"Absolute difference: {difference}{_tolerance_text(atol, rtol, atol)}\n"
        f"Relative difference: {relative}{_tolerance_text(rtol, rtol, atol)}"
    )


def _head(what: str, rtol: float, atol: float) -> str:
    return f"{what} are not {'equal' if rtol == atol == 0 else 'close'}!"


def _tolerance_text(tolerance: float, rtol: float, atol: float) -> str:
    return "" if rtol == atol == 0 else f" (up to {tolerance} allowed)"


# ---- tensors -----------------------------------------------------------------------------------------------------


def _compare_tensors(actual: Tensor, expected: Tensor, rules: _Rules) -> None:
    _compare_attributes(actual, expected, rules)
    if actual.is_meta or expected.is_meta:
        return
    tolerances = rules.tolerances(actual.dtype, expected.dtype)
    if actual.is_quantized:
        actual, expected = actual.dequantize(), expected.dequantize()
        tolerances = rules.tolerances(_C.float32)
    actual, expected = actual.detach(), expected.detach()
    if actual.device != expected.device:
        actual, expected = actual.cpu(), expected.cpu()
    if actual.layout != expected.layout:
        actual, expected = actual.to_dense(), expected.to_dense()
    if actual.layout is not _C.strided:
        _compare_sparse(actual, expected, rules, tolerances)
    else:
        _compare_elements("Tensor-likes", actual, expected, rules, tolerances)


def _compare_attributes(actual: Tensor, expected: Tensor, rules: _Rules) -> None:
    def same(name: str, a: Any, b: Any) -> None:
        if a != b:
            raise _Different(f"The values for attribute '{name}' do not match: {a} != {b}.")

    same("shape", actual.shape, expected.shape)
    if rules.check_layout:
        same("layout", actual.layout, expected.layout)
    same("is_quantized", actual.is_quantized, expected.is_quantized)
    if actual.is_quantized:
        same("qscheme()", actual.qscheme(), expected.qscheme())
    if rules.check_device:
        same("device", actual.device, expected.device)
    if rules.check_dtype:
        same("dtype", actual.dtype, expected.dtype)
    if rules.check_stride and actual.layout is _C.strided and expected.layout is _C.strided:
        same("stride()", actual.stride(), expected.stride())


def _compare_sparse(actual: Tensor, expected: Tensor, rules: _Rules, tolerances: tuple[float, float]) -> None:
    kind, names = _SPARSE[actual.layout]
    if actual._nnz() != expected._nnz():
        counts = f"{actual._nnz()} != {expected._nnz()}"
        raise _Different(f"The number of specified values in sparse {kind} tensors does not match: {counts}")
    for name in names:
        actual_part, expected_part = (getattr(x, name)() for x in (actual, expected))
        _compare_elements(f"Sparse {kind} {name.strip('_')}", actual_part, expected_part, rules, (0.0, 0.0))
    _compare_elements(f"Sparse {kind} values", actual._values(), expected._values(), rules, tolerances)


def _compare_elements(
    what: str, actual: Tensor, expected: Tensor, rules: _Rules, tolerances: tuple[float, float]
) -> None:
    common = _C.promote_types(actual.dtype, expected.dtype)
    common = common if common.is_floating_point or common.is_complex else _C.int64  # differences fit
    actual, expected = actual.to(common), expected.to(common)
    rtol, atol = tolerances
    close = _C.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=rules.equal_nan)
    if close.all():
        return
    if actual.dim() == 0:
        raise _Different(_about_numbers(actual.item(), expected.item(), rtol, atol))
    raise _Different(_about_elements(what, actual, expected, close, rtol, atol))


def _about_elements(
    what: str, actual: Tensor, expected: Tensor, close: Tensor, rtol: float, atol: float
) -> str:
    total, wrong = close.numel(), int((~close).sum())
    difference = (actual - expected).abs().masked_fill(close, 0)
    relative = (difference / expected.abs()).masked_fill(close, 0)
    return (
        f"{_head(what, rtol, atol)}\n\nMismatched elements: {wrong} / {total} ({wrong / total:.1%})\n"
        f"Greatest absolute difference: {_greatest(difference)}{_tolerance_text(atol, rtol, atol)}\n"
        f"Greatest relative difference: {_greatest(relative)}{_tolerance_text(rtol, rtol, atol)}"
    )


def _greatest(differences: Tensor) -> str:
    flat = differences.flatten()
    at = flat.argmax()
    index = tuple(int(i) for i in unravel_index(at, differences.shape))
    return f"{flat[at].item()} at index {index}"
