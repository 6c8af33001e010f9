"""How tensors are written out for people, in the reference's format."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tl_core import _C
from tl_core._C import Tensor
from tl_core.base import operator_hooks
from tl_core.dispatch.grad_mode import no_grad
from tl_core.dispatch.modes import modes_off
from tl_core.overrides import DisableTorchFunctionSubclass


class PrintOptions:
    """What set_printoptions sets.

    Args:
        precision: the digits behind the point.
        threshold: the number of elements from which on tensors are abbreviated.
        edgeitems: the elements that are shown at each end then.
        linewidth: the characters of a line.
    """

    def __init__(
        self, precision: int = 4, threshold: float = 1000, edgeitems: int = 3, linewidth: int = 80
    ) -> None:
        self.precision = precision
        self.threshold = threshold
        self.edgeitems = edgeitems
        self.linewidth = linewidth
        self.sci_mode: bool | None = None


_INTEGERS = (_C.bool, _C.uint8, _C.int8, _C.int16, _C.int32, _C.int64, _C.uint16, _C.uint32, _C.uint64)
PRINT_OPTS = PrintOptions()
_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Digits, the size from which tensors are abbreviated, items at the edges, a line's width, scientific notation.

    Args:
        precision: the digits behind the point.
        threshold: the number of elements from which on tensors are abbreviated.
        edgeitems: the elements that are shown at each end then.
        linewidth: the characters of a line.
        profile: "default", "short" or "full": a set of the others.
        sci_mode: whether numbers have an exponent; None leaves the choice to each tensor.

    Example:
        >>> import tl_core
        >>> tl_core.set_printoptions(precision=2)
        >>> tl_core.tensor([0.3333])
        tensor([0.33])
        >>> tl_core.set_printoptions(profile="default")
    """
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(f"unknown print profile {profile!r}: use one of {', '.join(_PROFILES)}")
        options = _PROFILES[profile]
        for name in ("precision", "threshold", "edgeitems", "linewidth"):
            setattr(PRINT_OPTS, name, getattr(options, name))
    values = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in values.items():
        if value is not None:
            setattr(PRINT_OPTS, name, value)
    PRINT_OPTS.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The options of `set_printoptions` as they are.

    Example:
        >>> get_printoptions()["edgeitems"]
        3
    """
    return dict(vars(PRINT_OPTS))


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Within the region, the options of `set_printoptions` are others.

    Args:
        **options: those of `set_printoptions`.
    """
    before = dict(vars(PRINT_OPTS))
    try:
        set_printoptions(**options)
        yield
    finally:
        vars(PRINT_OPTS).update(before)


class _Formatter:
    """One width and notation for all the elements that are shown."""

    def __init__(self, values: list[Any], floating: bool) -> None:
        self.floating = floating
        self.int_mode = True
        self.sci_mode = False
        self.width = 1
        if floating:
            self._choose([v for v in values if math.isfinite(v) and v != 0])
        else:
            self.width = max([1, *(len(str(v)) for v in values)])

    def _choose(self, values: list[float]) -> None:
        """The notation and the width from the numbers that have digits; `inf` and `nan` take what width there is."""
        if not values:
            return
        sizes = [abs(v) for v in values]
        largest, smallest = max(sizes), min(sizes)
        self.int_mode = all(v == math.ceil(v) for v in values)
        far_apart = largest / smallest > 1000.0 or largest > 1.0e8
        self.sci_mode = far_apart or (not self.int_mode and smallest < 1.0e-4)
        if PRINT_OPTS.sci_mode is not None:
            self.sci_mode = PRINT_OPTS.sci_mode
        self.width = max(len(self._text(v)) for v in values)

    def format(self, value: Any) -> str:
        """One element, as wide as all of them."""
        return self._text(value).rjust(self.width)

    def _text(self, value: Any) -> str:
        if not self.floating:
            return str(value)
        if self.sci_mode:
            return f"{value:.{PRINT_OPTS.precision}e}"
        if self.int_mode:
            return f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"
        return f"{value:.{PRINT_OPTS.precision}f}"


class _Complex:
    """Real and imaginary parts, each with a formatter of its own."""

    def __init__(self, values: list[complex]) -> None:
        self.real = _Formatter([v.real for v in values], True)
        self.imag = _Formatter([v.imag for v in values], True)
        self.width = self.real.width + self.imag.width + 1

    def format(self, value: complex) -> str:
        """`a+bj`."""
        real, imag = self.real.format(value.real), self.imag.format(value.imag).lstrip() + "j"
        return real + (imag if imag.startswith("-") else "+" + imag)


def get_summarized_data(self: Tensor) -> Tensor:
    """What is printed of an abbreviated tensor: its corners."""
    edge = PRINT_OPTS.edgeitems
    for d in range(self.dim()):
        size = self.shape[d]
        if size > 2 * edge:
            self = _C.cat([self.narrow(d, 0, edge), self.narrow(d, size - edge, edge)], d)
    return self


def _shown(t: Tensor) -> list[Any]:
    """The elements that will be printed, those of an abbreviated tensor's corners only."""
    return (get_summarized_data(t) if t.numel() > PRINT_OPTS.threshold else t).reshape(-1).tolist()


def _vector(t: Tensor, indent: int, summarize: bool, formatter: Any) -> str:
    width = formatter.width + 2
    per_line = max(1, math.floor((PRINT_OPTS.linewidth - indent) / width))
    edge = PRINT_OPTS.edgeitems
    if summarize and t.shape[0] > 2 * edge:
        texts = (
            [formatter.format(v) for v in t[:edge].tolist()]
            + [" ..."]
            + [formatter.format(v) for v in t[-edge:].tolist()]
        )
    else:
        texts = [formatter.format(v) for v in t.tolist()]
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _nested_text(t: Tensor, indent: int, summarize: bool, formatter: Any) -> str:
    if t.dim() == 0:
        return formatter.format(t.item())
    if t.dim() == 1:
        return _vector(t, indent, summarize, formatter)
    edge = PRINT_OPTS.edgeitems
    n = t.shape[0]
    if summarize and n > 2 * edge:
        rows = [_nested_text(t[i], indent + 1, summarize, formatter) for i in range(edge)]
        rows += ["..."]
        rows += [_nested_text(t[i], indent + 1, summarize, formatter) for i in range(n - edge, n)]
    else:
        rows = [_nested_text(t[i], indent + 1, summarize, formatter) for i in range(n)]
    return "[" + ("," + "\n" * (t.dim() - 1) + " " * (indent + 1)).join(rows) + "]"


def _body(t: Tensor, indent: int) -> str:
    if t.numel() == 0:
        return "[]"
    if t.is_floating_point() and t.dtype.itemsize < 4:
        t = t.float()
    if t.dtype is _C.complex32:
        t = t.to(_C.complex64)
    shown = _shown(t)
    formatter: Any = _Complex(shown) if t.is_complex() else _Formatter(shown, t.is_floating_point())
    return _nested_text(t, indent, t.numel() > PRINT_OPTS.threshold, formatter)


def _suffixes(self: Tensor, default_dtype: bool) -> list[str]:
    suffixes = []
    if self.device.type != "cpu":
        suffixes.append(f"device='{self.device}'")
    if self.is_meta or not _is_number(self.dtype) or (self.numel() == 0 and self.dim() != 1):
        suffixes.append(f"size={tuple(self.shape)}")
    if self.is_meta:
        if self.dtype is not _C.get_default_dtype():
            suffixes.append(f"dtype={self.dtype}")
    elif not default_dtype:
        suffixes.append(f"dtype={self.dtype}")
    return suffixes


def _gradient_suffix(self: Tensor) -> list[str]:
    try:
        node = self.grad_fn
    except RuntimeError:  # a view that was taken without recording, of memory that was written since
        return ["grad_fn=<Invalid>"]
    if node is not None:
        return [f"grad_fn=<{type(node).__name__}>"]  # an attribute of a context can have the name `name`
    return ["requires_grad=True"] if self.requires_grad else []


def _names_suffix(self: Tensor) -> list[str]:
    return [f"names={_C._names_of(self)}"] if _C._has_names(self) else []


def _is_number(dtype: Any) -> bool:
    """Whether the elements of a type are numbers by themselves: not those of bits, quantized and packed ones."""
    if dtype.is_floating_point:
        return dtype is not _C.float4_e2m1fn_x2
    return dtype.is_complex or dtype in _INTEGERS


def _tensor_str(self: Tensor, indent: int = 0) -> str:
    """The text between the parentheses, without the suffixes."""
    return "..." if self.is_meta or not _is_number(self.dtype) else _body(self, indent)


def _repr(self: Tensor) -> str:
    with no_grad(), DisableTorchFunctionSubclass():
        if not (_C._mode_stack(_C._LAYER_PYTHON) or _C._mode_stack(_C._LAYER_TRACE)):
            return _full_text(self)
        with modes_off():
            return _full_text(self)


# Further suffixes, by those who hang something on tensors.
suffix_makers: list[Callable[[Tensor], list[str]]] = []

# What writes out tensors inside of transforms; None for any other tensor.
wrapper_text: list[Callable[[Tensor], str | None]] = []


def _full_text(self: Tensor) -> str:
    for text_of in wrapper_text:
        if (text := text_of(self)) is not None:
            return text
    prefix = "tensor("
    if type(self) is not Tensor and not getattr(type(self), "_mark", None):
        prefix = f"{type(self).__name__}("
    default = _C.get_default_dtype()
    natural = (default, _C.int64, _C.bool, default.to_complex())
    if self.is_quantized:
        facts = [f"device='{self.device}'"] if self.device.type != "cpu" else []
        facts += [f"size={tuple(self.shape)}", f"dtype={self.dtype}"]
        facts += operator_hooks.quantized_methods["facts"](self)
        return _join(prefix + _tensor_str(self.dequantize(), len(prefix)), facts, len(prefix))
    if self.layout is not _C.strided:
        return _whole_sparse(self, prefix, self.dtype in natural)
    if _C._is_hollow(self):
        return _whole_hollow(self, prefix)
    plain = self.detach()
    if _C._has_names(self):
        plain = _C._renamed(plain, None)
    body = _tensor_str(plain.cpu() if self.device.type not in ("cpu", "meta") else plain, len(prefix))
    obvious = self.dtype is default if self.numel() == 0 else self.dtype in natural
    suffixes = _suffixes(self, obvious) + _gradient_suffix(self) + _names_suffix(self)
    suffixes += [text for make in suffix_makers for text in make(self)]
    return _join(prefix + body, suffixes, len(prefix))


def _whole_hollow(self: Tensor, prefix: str) -> str:
    """What stands for others has no elements to show."""
    suffixes = [f"device='{self.device}'"] if self.device.type != "cpu" else []
    suffixes += [f"size={tuple(self.shape)}"]
    suffixes += [f"dtype={self.dtype}"] if self.dtype is not _C.get_default_dtype() else []
    return _join(prefix + "...", suffixes + _gradient_suffix(self), len(prefix))


def _sparse_parts(self: Tensor) -> list[tuple[str, Tensor]]:
    if self.layout is _C.sparse_coo:
        return [("indices", self._indices()), ("values", self._values())]
    names = ("crow_indices", "col_indices")
    if self.layout in (_C.sparse_csc, _C.sparse_bsc):
        names = ("ccol_indices", "row_indices")
    return [*((name, getattr(self, name)()) for name in names), ("values", self._values())]


def _whole_sparse(self: Tensor, prefix: str, default_dtype: bool) -> str:
    """Its parts, a line each, then the suffixes."""
    parts = [_part(name, part, len(prefix)) for name, part in _sparse_parts(self)]
    empty = self.is_meta or _C._is_hollow(self)
    suffixes = [f"device='{self.device}'"] if self.device.type != "cpu" else []
    suffixes += [f"size={tuple(self.shape)}"]
    suffixes += [] if empty else [f"nnz={self._nnz()}"]
    suffixes += [] if default_dtype else [f"dtype={self.dtype}"]
    suffixes += [f"layout={self.layout}", *_gradient_suffix(self)]
    text = prefix + (",\n" + " " * len(prefix)).join(parts)
    return _join(text, suffixes, len(prefix), broken=self.layout is _C.sparse_coo)


def _part(name: str, part: Tensor, indent: int) -> str:
    prefix = f"{name}=tensor("
    if part.is_meta or _C._is_hollow(part):
        return f"{prefix}..., size={tuple(part.shape)})"
    size = f", size={tuple(part.shape)}" if part.numel() == 0 else ""
    return f"{prefix}{_tensor_str(part, indent + len(prefix))}{size})"


def _join(text: str, suffixes: list[str], indent: int, broken: bool = False) -> str:
    last = PRINT_OPTS.linewidth if broken else len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if last + len(suffix) + 2 > PRINT_OPTS.linewidth:
            text += ",\n" + " " * indent + suffix
            last = indent + len(suffix)
        else:
            text += ", " + suffix
            last += len(suffix) + 2
    return text + ")"


# What programs that write out tensors of their own call these.
_add_suffixes = _join


def _str(self: Tensor, *, tensor_contents: str | None = None) -> str:
    """The text of a tensor, with other contents if they are given."""
    with DisableTorchFunctionSubclass(), modes_off():
        return _str_intern(self, tensor_contents=tensor_contents)


def _str_intern(inp: Tensor, *, tensor_contents: str | None = None) -> str:
    if tensor_contents is None:
        return _full_text(inp)
    default = _C.get_default_dtype()
    obvious = inp.dtype in (default, _C.int64, _C.bool, default.to_complex())
    suffixes = _suffixes(inp, obvious) + _gradient_suffix(inp) + _names_suffix(inp)
    return _join(f"tensor({tensor_contents}", suffixes, len("tensor("))


_C._set_python_helper("repr", _repr)
