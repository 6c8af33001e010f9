"""One good call of every row: recorded where its arguments have to fit each other, else the first of a few kits of
plausible arguments that the operator takes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from opgen.row import Row
from opgen.schema import Arg
from recorded_calls import as_given, recorded

import tl_core as tl
from tl_core.functions import nn as nn_functions

Make = Callable[[], list[Any]]


def filled(shape: list[int], dtype: str) -> tl.Tensor:
    """Numbers in (0, 1], or small integers."""
    n = 1
    for size in shape:
        n *= size
    values = (tl.arange(n) * 7 % 5 + 1).reshape(shape)
    kind = getattr(tl, dtype)
    return (values / 5 if kind.is_floating_point or kind.is_complex else values % 3).to(kind)


def _square() -> tl.Tensor:
    return tl.eye(3) * 2 + filled([3, 3], "float32") @ filled([3, 3], "float32").t() / 4


def _complex() -> tl.Tensor:
    return tl.complex(filled([2, 3], "float32"), filled([2, 3], "float32"))


def _sparse(compress: str = "to_sparse") -> Callable[[], tl.Tensor]:
    return lambda: getattr(tl.eye(3), compress)()


def _of(shape: list[int], dtype: str = "float32") -> Callable[[], tl.Tensor]:
    return lambda: filled(shape, dtype)


# What stands for every tensor of a call, one kit after another.
_TENSORS: list[Callable[[], tl.Tensor]] = [
    *(_of(shape) for shape in ([2, 3], [3, 3], [], [4])),
    _square, _of([3], "int64"), _of([2, 3], "bool"), _complex, _of([2, 3, 2], "float32"),
    *(_of(shape) for shape in ([2, 4, 6], [2, 3, 6, 6], [2, 2, 4, 4, 4], [6])),
    _sparse(), _sparse("to_sparse_csr"), _sparse("to_sparse_csc"), _of([2, 3], "uint8"),
]  # fmt: skip
_INTEGERS = (1, 0, 2)
_LISTS = ([1], [2, 2], [2, 3], [0], [3], [2, 2, 2], [1, 0], [6])
_WORDS = ("mean", "floor", "none", "constant", "same", "linear", "add", "sum", "L", "left", "ij")


def _kits() -> Iterator[tuple[Callable[[], tl.Tensor], int, list[int], str]]:
    for tensor in _TENSORS:
        for integer in _INTEGERS:
            for several in _LISTS:
                yield tensor, integer, several, "mean"
    for word in _WORDS:
        for tensor in _TENSORS[:11]:
            yield tensor, 1, [1], word


def default(a: Arg) -> Any:
    """The value of a default as a schema writes it."""
    if a.default is None or a.default.startswith("torch."):
        return None
    if a.type == "MemoryFormat":
        return getattr(tl, a.default, None)
    try:
        return ast.literal_eval(a.default)
    except ValueError:
        return a.default


def _value(a: Arg, tensor: Callable[[], tl.Tensor], integer: int, several: list[int], word: str) -> Any:
    if a.default is not None or (a.optional and a.type not in ("int[]", "float[]")):
        return default(a)
    if a.type == "Tensor" and a.name in ("index", "indices", "offsets"):
        return tl.tensor([0, 1])
    if a.type == "Tensor" and a.name in ("mask", "condition"):
        return tensor() > 0.5
    plain = {
        "Scalar": 0.5, "float": 0.5, "int": integer, "int[]": several, "bool": True, "bool[]": [True], "str": word,
        "Scalar[]": [0.5, 0.5], "float[]": [2.0] * len(several), "ScalarType": tl.float32, "Device": "cpu",
        "Layout": tl.strided,
    }  # fmt: skip
    if a.is_tensor_list:
        return [tensor(), tensor()]
    return tensor() if a.is_tensor else plain.get(a.type)


@cache
def _recorded() -> dict[str, list[list[Any]]]:
    result: dict[str, list[list[Any]]] = {}
    for name, arguments in recorded():
        result.setdefault(name, []).append(arguments)
    return result


def candidates(row: Row) -> Iterator[Make]:
    """Calls that may be good: all arguments in the schema's order, fresh tensors each time."""
    rest = row.args
    for arguments in _recorded().get(row.name, []):
        yield lambda arguments=arguments: [
            *(as_given(tl, a, filled) for a in arguments), *map(default, rest[len(arguments) :])
        ]  # fmt: skip
    for kit in _kits():
        yield lambda kit=kit: [_value(a, *kit) for a in rest]


def call(name: str, args: tuple[Arg, ...], values: list[Any]) -> Any:
    """What the operator of a schema answers."""
    positional = [v for v, a in zip(values, args, strict=True) if not a.keyword_only]
    keywords = {a.name: v for v, a in zip(values, args, strict=True) if a.keyword_only}
    return tl._C._call_operator((name,), *positional, **keywords)


def good(row: Row) -> Make | None:
    """The first call that succeeds, with values other than the defaults where the operator takes them."""
    for make in [OWN[row.name]] if row.name in OWN else candidates(row):
        if _answers(row, make):
            return _varied(row, make)
    return None


def needs_lapack(row: Row) -> bool:
    """Whether a call fails because this environment has no LAPACK."""
    for make in [OWN[row.name]] if row.name in OWN else candidates(row):
        try:
            call(row.name, row.args, make())
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError) as error:
            if "needs LAPACK" in str(error):
                return True
    return False


def _answers(row: Row, make: Make) -> bool:
    try:
        call(row.name, row.args, make())
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
        return False
    return True


def _varied(row: Row, make: Make) -> Make:
    for i, a in enumerate(row.args):
        if a.default is None or a.is_tensor_list:
            continue
        for value in _others(a):
            changed = _with(make, i, value)
            if _answers(row, changed):
                make = changed
                break
    return make


def _others(a: Arg) -> list[Any]:
    """What isn't the default."""
    if a.name in ("pin_memory", "layout", "device", "generator", "names"):
        return []
    plain = default(a)
    values = {
        "bool": [not plain], "int": [2, 1, 0, -1], "float": [0.5, 2.0], "Scalar": [2, 0.5], "Operand": [2],
        "ScalarType": [tl.float64, tl.complex128, tl.int32], "int[]": [[1], [0], [2], [1, 0], [2, 2], [2, 2, 2]],
        "float[]": [[2.0], [2.0, 2.0], [2.0, 2.0, 2.0]],
        "str": ["sum", "mean", "right", "U", "tanh", "trunc", "reflect", "forward", "ortho", "ij", "amax"],
        "MemoryFormat": [tl.channels_last, tl.contiguous_format],
    }  # fmt: skip
    return [v for v in values.get(a.type, []) if type(v) is not type(plain) or v != plain]


def _with(make: Make, at: int, value: Any) -> Make:
    def changed() -> list[Any]:
        values = make()
        values[at] = value
        return values

    return changed


def _pooled(name: str, dims: int) -> Make:
    """The gradient of a pool of 2, and the arguments that it had."""

    def make() -> list[Any]:
        x = filled([2, 3, *[4] * dims], "float32")
        two, none = [2] * dims, [0] * dims
        if name == "avg":
            return [filled([2, 3, *two], "float32"), x, two, two, none, False, True, 3]
        if name == "adaptive":
            out, indices = getattr(nn_functions, f"adaptive_max_pool{dims}d")(x, two)
            return [out, x, indices]
        out, indices = getattr(nn_functions, f"max_pool{dims}d_with_indices")(x, two)
        return [out, x, two, two, none, [1] * dims, False, indices]

    return make


def _like(tail: list[Any], *values: Any) -> Make:
    return lambda: [filled([2, 3], "int64"), *values, *tail]


def _labels() -> tl.Tensor:
    return tl.tensor([[1, 2, 3], [3, 1, 0]])


_FACTORY = [tl.int32, None, None, None]
_TALL = [3, 2]
OWN: dict[str, Make] = {
    "bitwise_left_shift.Scalar_Tensor": lambda: [2, filled([3], "int64")],
    "bitwise_right_shift.Scalar_Tensor": lambda: [9, filled([3], "int64")],
    "contiguous": lambda: [filled([2, 3], "float32").t(), tl.contiguous_format],
    "linalg_householder_product": lambda: [filled(_TALL, "float32"), filled([2], "float32")],
    "orgqr": lambda: [filled(_TALL, "float32"), filled([2], "float32")],
    "ormqr": lambda: [filled([3, 3], "float32"), filled([3], "float32"), filled([3, 3], "float32"), True, True],
    "lu_unpack": lambda: [*tl.linalg.lu_factor(_square()), True, True],
    "linalg_lu_solve": lambda: [*tl.linalg.lu_factor(_square()), filled([3, 3], "float32"), False, True],
    "lu_solve": lambda: [filled([3, 3], "float32"), *tl.linalg.lu_factor(_square())],
    "linalg_ldl_solve": lambda: [*tl.linalg.ldl_factor(_square()), filled([3, 3], "float32"), True],
    "stft.center": lambda: [
        filled([16], "float32"), 4, 2, 3, filled([3], "float32"), False, "constant", True, True, True, None
    ],
    "istft": lambda: [
        tl.stft(filled([16], "float32"), 4, 2, window=filled([4], "float32"), return_complex=True),
        4, 2, 4, filled([4], "float32"), True, False, True, 12, False,
    ],
    "scatter.reduce": lambda: [
        filled([2, 3], "float32"), 1, tl.tensor([[0, 1]]), filled([2, 3], "float32"), "multiply"
    ],
    "scatter.value_reduce": lambda: [filled([2, 3], "float32"), 1, tl.tensor([[0, 1]]), 0.5, "add"],
    **{f"max_pool{n}d_with_indices_backward": _pooled("max", n) for n in (2, 3)},
    **{f"avg_pool{n}d_backward": _pooled("avg", n) for n in (2, 3)},
    **{f"adaptive_max_pool{n}d_backward": _pooled("adaptive", n) for n in (2, 3)},
    "fractional_max_pool3d": lambda: [
        filled([1, 2, 4, 4, 4], "float32"), [2, 2, 2], [2, 2, 2], filled([1, 2, 3], "float32")
    ],
    "randint.low": lambda: [1, 5, [3], *_FACTORY],
    "randint.low_generator": lambda: [1, 5, [3], tl.Generator().manual_seed(1), *_FACTORY],
    "randint_like.Tensor": lambda: _like([*_FACTORY, None], tl.tensor(5))(),
    "randint_like.Tensor_generator": lambda: _like(
        [tl.Generator().manual_seed(1), *_FACTORY, None], tl.tensor(5)
    )(),
    "randint_like.low_generator_dtype": _like([None, *_FACTORY, None], 1, 5),
    "float_power.Tensor_Scalar": lambda: [filled([2, 3], "float64"), 2],
    "clamp": lambda: [filled([2, 3], "float32"), 0.3, 0.7],
    "conv_tbc": lambda: [filled([5, 2, 3], "float32"), filled([3, 3, 4], "float32"), filled([4], "float32"), 1],
    "segment_reduce": lambda: [
        filled([5], "float32"), "max", tl.tensor([2, 3]), None, None, 0, True, 0.5,
    ],
    "histogramdd.TensorList_bins": lambda: [
        filled([5, 2], "float32"), [tl.arange(4.0), tl.arange(3.0)], None, filled([5], "float32"), True,
    ],
    "sparse_mask": lambda: [filled([3, 3], "float32"), tl.eye(3).to_sparse()],
    "sparse_resize_": lambda: [tl.eye(3).to_sparse(), [4, 4], 2, 0],
    **{
        f"upsample_{kind}.vec": lambda dims=dims, more=more: [
            filled([1, 2, *[3] * dims], "float32"), None, *more, [2.0] * dims
        ]
        for kind, dims, more in (
            ("nearest3d", 3, []), ("bilinear2d", 2, [True]), ("trilinear3d", 3, [True]), ("bicubic2d", 2, [True])
        )
    },
    "narrow.Tensor": lambda: [filled([4, 3], "float32"), 0, tl.tensor(1), 2],
    "grid_sampler_2d": lambda: [filled([1, 2, 3, 3], "float32"), filled([1, 2, 2, 2], "float32"), 1, 1, True],
    "bilinear": lambda: [
        filled([4, 2], "float32"), filled([4, 3], "float32"), filled([5, 2, 3], "float32"), filled([5], "float32")
    ],
    "nll_loss": lambda: [filled([4, 3], "float32"), filled([4], "int64"), None, 2, -100],
    "nll_loss2d": lambda: [filled([2, 3, 4, 4], "float32"), filled([2, 4, 4], "int64"), None, 2, -100],
    "multi_margin_loss": lambda: [filled([4, 3], "float32"), filled([4], "int64"), 1, 0.5, None, 2],
    "cosine_embedding_loss": lambda: [
        filled([4, 3], "float32"), filled([4, 3], "float32") + 1, tl.tensor([1, -1, 1, 1]), 0.0, 1
    ],
    "ctc_loss.IntList": lambda: [filled([5, 2, 4], "float32"), _labels(), [5, 4], [3, 2], 0, 1, False],
    "ctc_loss.Tensor": lambda: [
        filled([5, 2, 4], "float32"), _labels(), tl.tensor([5, 4]), tl.tensor([3, 2]), 0, 1, False
    ],
    "grid_sampler_3d": lambda: [
        filled([1, 2, 3, 3, 3], "float32"), filled([1, 2, 2, 2, 3], "float32"), 1, 1, True
    ],
}  # fmt: skip
