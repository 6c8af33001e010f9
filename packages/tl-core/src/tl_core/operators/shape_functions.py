"""The functions that rules of shapes call: on lists of sizes, which are ints or symbolic ints.

A size that a comparison decides becomes a guard of the trace: `same` and `require` state what the operator checks
itself, and choose nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

from ..symbolic.arithmetic import sym_max, sym_min
from ..symbolic.numbers import SymBool, SymInt

__all__ = ["FUNCTIONS"]

Sizes = list[Any]
_END = 1 << 62  # an end of a slice from here on is the end of the dimension


def require(condition: Any, value: Any = None) -> Any:
    """A value that a condition goes with; the condition becomes a guard."""
    holds = condition.node.expect_true("", 0) if isinstance(condition, SymBool) else condition
    if not holds:
        raise RuntimeError(f"the sizes of the arguments do not fit: {condition} must hold")
    return value


def same(a: Any, b: Any) -> Any:
    """One of two sizes that must be equal: the number, if one is."""
    if isinstance(a, SymInt) or isinstance(b, SymInt):
        require(a == b)
        return b if isinstance(a, SymInt) and not isinstance(b, SymInt) else a
    return require(a == b, a)


def shuffle(shape: Sizes, up: Any, down: Any) -> Sizes:
    """The shape of an image with channels moved to positions, or positions to channels."""
    channels, rows, columns = shape[-3:]
    return [
        *shape[:-3],
        quotient(channels * down * down, up * up),
        quotient(rows * up, down),
        quotient(columns * up, down),
    ]


def difference(shape: Sizes, order: int, dim: int, prepend: Any, append: Any) -> Sizes:
    """The shape of differences of neighbours, after others were put before and behind."""
    n = shape[dim] + sum(t.shape[dim] for t in (prepend, append) if t is not None)
    return resize(shape, dim, sym_max(n - order, 0))


def prod(sizes: Iterable[Any]) -> Any:
    """The product of sizes."""
    total: Any = 1
    for n in sizes:
        total = total * n
    return total


def choices(n: Any, r: int, again: bool) -> Any:
    """How many choices of r of n things there are, or with things chosen again."""
    return prod(n + (i if again else -i) for i in range(r)) // math.factorial(r)


def wrap(dim: int, ndim: int) -> int:
    """A dimension counted from the front; a tensor of no dimension counts as one of one."""
    return dim % max(ndim, 1)


def each(value: Any, count: int) -> list[Any]:
    """A list of `count` numbers, for which one stands, or a list of one."""
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return values * count if len(values) == 1 else values


def sizes(operand: Any) -> Sizes | None:
    """The shape of a tensor for which a number, or nothing, may stand."""
    return operand.shape if hasattr(operand, "shape") else None


# ---- one dimension -------------------------------------------------------------------------------------------------
def resize(shape: Sizes, dim: int, size: Any) -> Sizes:
    """The shape with another size of a dimension."""
    if not shape:
        return []
    dim = wrap(dim, len(shape))
    return [*shape[:dim], size, *shape[dim + 1 :]]


def drop(shape: Sizes, dim: int) -> Sizes:
    """The shape without a dimension."""
    dim = wrap(dim, len(shape))
    return [*shape[:dim], *shape[dim + 1 :]]


def insert(shape: Sizes, dim: int, size: Any) -> Sizes:
    """The shape with one dimension more, which is then `dim`."""
    dim = wrap(dim, len(shape) + 1)
    return [*shape[:dim], size, *shape[dim:]]


def swap(shape: Sizes, dim0: int, dim1: int) -> Sizes:
    """The shape with two dimensions exchanged."""
    out = list(shape)
    if out:
        dim0, dim1 = wrap(dim0, len(out)), wrap(dim1, len(out))
        out[dim0], out[dim1] = out[dim1], out[dim0]
    return out


def squeeze(shape: Sizes, dims: Any = None) -> Sizes:
    """The shape without dimensions of size one: all, or those among `dims`."""
    if not shape:
        return []
    axes = range(len(shape)) if dims is None else [wrap(d, len(shape)) for d in each(dims, 1)]
    return [n for d, n in enumerate(shape) if d not in axes or not (_has_hint(n) and n == 1)]


def element(shape: Sizes, dim: int, index: Any) -> Sizes:
    """The shape of one element along a dimension."""
    n = shape[dim]
    if isinstance(index, SymInt) and not index.node.has_hint():
        return drop(shape, dim)
    require(-n <= index)
    require(index < n)
    return drop(shape, dim)


# ---- broadcasting, reductions --------------------------------------------------------------------------------------
def atleast(shape: Sizes, ndim: int) -> Sizes:
    """The shape with at least so many dimensions."""
    if len(shape) >= ndim:
        return list(shape)
    if ndim == 3:
        return [*shape, 1] if len(shape) == 2 else [1, *(shape or [1]), 1]
    return [1] * (ndim - len(shape)) + list(shape)


def broadcast(*shapes: Sizes | None) -> Sizes:
    """The shape to which several extend; None is left out."""
    present = [s for s in shapes if s is not None]
    out: Sizes = []
    for d in range(-max(map(len, present), default=0), 0):
        sizes = [s[d] for s in present if len(s) >= -d and not _is_number(s[d], 1)]
        out.append(_common(sizes))
    return out


def _is_number(n: Any, number: int) -> bool:
    return not isinstance(n, SymInt) and n == number


def _common(sizes: list[Any]) -> Any:
    out = sizes[0] if sizes else 1
    for n in sizes[1:]:
        if _equal_already(out, n):
            continue
        if _has_hint(out) and _hint(out) == 1 and _hint(n) != 1:
            require(out == 1)
            out = n
        elif _has_hint(n) and _hint(n) == 1 and _hint(out) != 1:
            require(n == 1)
        else:
            out = same(out, n)
    return out


def _equal_already(a: Any, b: Any) -> bool:
    if isinstance(a, SymInt) and isinstance(b, SymInt):
        return bool(a.node.expr == b.node.expr)
    return not isinstance(a, SymInt) and not isinstance(b, SymInt) and a == b


def _alike(a: Any, b: Any) -> bool:
    """Whether two sizes are equal in the example."""
    return _equal_already(a, b) or bool(_hint(a) == _hint(b))


def _has_hint(n: Any) -> bool:
    return not isinstance(n, SymInt) or n.node.has_hint()


def _hint(n: Any) -> Any:
    return n.node.hint if isinstance(n, SymInt) else n


def reduction(shape: Sizes, dim: Any = None, keepdim: bool = False) -> Sizes:
    """The shape of a sum over dimensions; None or none are all."""
    every = dim is None or (isinstance(dim, (list, tuple)) and not dim)
    dims = set(range(len(shape))) if every else {wrap(d, len(shape)) for d in each(dim, 1)}
    if keepdim:
        return [1 if d in dims else n for d, n in enumerate(shape)]
    return [n for d, n in enumerate(shape) if d not in dims]


def extreme(shape: Sizes, dim: Any = None, keepdim: bool = False) -> Sizes:
    """The shape of a reduction that has no value over no elements."""
    if dim is not None and shape:
        require(shape[wrap(dim, len(shape))] >= 1)
    return reduction(shape, dim, keepdim)


# ---- views ---------------------------------------------------------------------------------------------------------
def bound(i: Any, n: Any) -> Any:
    """A place in a dimension of size n, where negative numbers count from its end."""
    if isinstance(i, SymInt) and not i.node.has_hint():
        return sym_max(sym_min(i, n), 0)
    if i < 0:
        return sym_max(n + i, 0)
    return sym_min(i, n)


def slice_length(n: Any, start: Any, end: Any, step: int = 1) -> Any:
    """How many elements a slice of a dimension of size n has."""
    to_end = end is None or (not isinstance(end, SymInt) and end >= _END)
    if to_end and not isinstance(start, SymInt) and start is not None and start < 0:
        length = sym_min(-start, n)
    else:
        first = 0 if start is None else bound(start, n)
        last = n if to_end else bound(end, n)
        length = last - first if to_end or _is_number(first, 0) else sym_max(last - first, 0)
    return length if step == 1 else (length + (step - 1)) // step


def view(shape: Sizes, size: Sizes) -> Sizes:
    """The sizes of a view of all elements, of which one may be -1."""
    total = prod(shape)
    rest = prod(n for n in size if not _is_number(n, -1))
    if any(_is_number(n, -1) for n in size):
        free = quotient(total, rest)
        return [free if _is_number(n, -1) else n for n in size]
    same(total, rest)
    return list(size)


def reinterpreted(tensor: Any, dtype: Any) -> Sizes:
    """The shape of the same bytes as elements of another type."""
    old, new = tensor.dtype.itemsize, dtype.itemsize
    if old == new:
        return list(tensor.shape)
    return [*tensor.shape[:-1], quotient(tensor.shape[-1] * old, new)]


def quotient(a: Any, b: Any) -> Any:
    """The quotient of sizes of which the first must be a multiple of the second."""
    if isinstance(a, SymInt) or isinstance(b, SymInt):
        return require(a % b == 0, a // b)
    return require(a % b == 0, a // b) if b else 0


def flatten(shape: Sizes, start: int, end: int) -> Sizes:
    """The shape with the dimensions from one to another as one."""
    if not shape:
        return [1]
    start, end = wrap(start, len(shape)), wrap(end, len(shape))
    return [*shape[:start], prod(shape[start : end + 1]), *shape[end + 1 :]]


def expand(shape: Sizes, size: Sizes) -> Sizes:
    """The shape extended to sizes of which -1 are as they were."""
    out = list(size)
    lead = len(size) - len(shape)
    for d, n in enumerate(shape):
        target = out[lead + d]
        if _is_number(target, -1):
            out[lead + d] = n
        elif not _is_number(n, 1) and not _equal_already(n, target):
            if _has_hint(n) and _hint(n) == 1 and _hint(target) != 1:
                require(n == 1)
            else:
                same(n, target)
    return out


def unflatten(shape: Sizes, dim: int, sizes: Sizes) -> Sizes:
    """The shape with a dimension taken apart."""
    dim = wrap(dim, len(shape))
    return [*shape[:dim], *view([shape[dim]], sizes), *shape[dim + 1 :]]


def permute(shape: Sizes, dims: Sequence[int]) -> Sizes:
    """The shape with its dimensions in another order."""
    return [shape[d] for d in dims]


def move(shape: Sizes, source: Any, destination: Any) -> Sizes:
    """The shape with dimensions moved."""
    rank = len(shape)
    pairs = zip(each(destination, 1), each(source, 1), strict=True)
    target = {wrap(d, rank): wrap(s, rank) for d, s in pairs}
    rest = iter(d for d in range(rank) if d not in target.values())
    return [shape[target[d] if d in target else next(rest)] for d in range(rank)]


def diagonal(shape: Sizes, offset: int, dim1: int, dim2: int) -> Sizes:
    """The shape of diagonals, which are the last dimension."""
    dim1, dim2 = wrap(dim1, len(shape)), wrap(dim2, len(shape))
    rows, columns = shape[dim1], shape[dim2]
    length = sym_min(rows, columns - offset) if offset >= 0 else sym_min(rows + offset, columns)
    rest = [n for d, n in enumerate(shape) if d not in (dim1, dim2)]
    return [*rest, sym_max(length, 0)]


def diag(shape: Sizes, offset: int) -> Sizes:
    """The shape of a matrix with a vector on a diagonal, or of a matrix's diagonal."""
    return diagonal(shape, offset, 0, 1) if len(shape) == 2 else [shape[0] + abs(offset)] * 2


def diag_embed(shape: Sizes, offset: int, dim1: int, dim2: int) -> Sizes:
    """The shape of matrices with the last dimension on a diagonal."""
    n = shape[-1] + abs(offset)
    first, second = sorted((wrap(dim1, len(shape) + 1), wrap(dim2, len(shape) + 1)))
    return insert(insert(shape[:-1], first, n), second, n)


def narrow(n: Any, start: Any, length: Any) -> Any:
    """A length that fits a dimension of size n from a place on."""
    if not isinstance(start, SymInt) and start < 0:
        require(-start <= n)
        start = n + start
    require(start + length <= n)
    return length


def windows(n: Any, size: Any, step: Any) -> Any:
    """How many windows of a size, a step apart, lie in a dimension of size n."""
    return require(size <= n, (n - size) // step + 1)


# ---- factors of matrices -------------------------------------------------------------------------------------------
def qr(shape: Sizes, mode: str) -> list[Sizes]:
    """The shapes of an orthogonal and a triangular factor: `reduced`, `complete` or `r`, without the first."""
    rows, columns = shape[-2:]
    rank = rows if mode == "complete" else sym_min(rows, columns)
    return [[0] if mode == "r" else [*shape[:-1], rank], [*shape[:-2], rank, columns]]


def svd(shape: Sizes, full: bool) -> list[Sizes]:
    """The shapes of left vectors, singular values, and right vectors as rows."""
    rows, columns = shape[-2:]
    rank = sym_min(rows, columns)
    left, right = (rows, columns) if full else (rank, rank)
    return [[*shape[:-1], left], [*shape[:-2], rank], [*shape[:-2], right, columns]]


def svd_factors(shape: Sizes, thin: bool) -> list[Sizes]:
    """The shapes of left vectors, singular values, and right vectors as columns."""
    left, values, right = svd(shape, not thin)
    return [left, values, swap(right, -2, -1)]


def lu(shape: Sizes) -> list[Sizes]:
    """The shapes of a permutation and of two triangular factors."""
    rows, columns = shape[-2:]
    rank = sym_min(rows, columns)
    return [[*shape[:-1], rows], [*shape[:-1], rank], [*shape[:-2], rank, columns]]


# ---- pieces --------------------------------------------------------------------------------------------------------
def split(shape: Sizes, size: Any, dim: int) -> list[Sizes]:
    """The shapes of stretches of a size, of which the last may be shorter: their number becomes a guard."""
    n = shape[wrap(dim, len(shape))]
    if _is_number(size, 0):
        return [list(shape)]
    count = max(-(-_example(n) // _example(size)), 1)
    require(size * (count - 1) < n if count > 1 else n >= 0)
    require(n <= size * count)
    return [resize(shape, dim, size) for _ in range(count - 1)] + [resize(shape, dim, n - size * (count - 1))]


def chunk(shape: Sizes, count: int, dim: int) -> list[Sizes]:
    """The shapes of at most `count` stretches of equal sizes, but the last: their number becomes a guard."""
    n = shape[wrap(dim, len(shape))]
    if _example(n) == 0:
        return [resize(shape, dim, require(n == 0, 0)) for _ in range(count)]
    return split(shape, (n + (count - 1)) // count, dim)


def _example(n: Any) -> int:
    """A size in the example; raises where only data decide it."""
    return int(n.node.hint if isinstance(n, SymInt) and n.node.has_hint() else n)


def parts(shape: Sizes, sizes: Sizes, dim: int) -> list[Sizes]:
    """The shapes of stretches of given sizes, which sum up."""
    same(shape[wrap(dim, len(shape))], sum(sizes))
    return [resize(shape, dim, n) for n in sizes]


def tensor_split(shape: Sizes, count: Any, dim: int) -> list[Sizes]:
    """The shapes of `count` stretches, of which the first are longer by one, or those between given indices."""
    n = shape[wrap(dim, len(shape))]
    if isinstance(count, (list, tuple)):
        ends = [0, *count, None]
        return [resize(shape, dim, slice_length(n, a, b)) for a, b in itertools.pairwise(ends)]
    return [resize(shape, dim, (n + (count - 1 - i)) // count) for i in range(count)]


def even(shape: Sizes, count: int, dim: int) -> list[Sizes]:
    """The shapes of `count` stretches of equal sizes."""
    return [resize(shape, dim, quotient(shape[wrap(dim, len(shape))], count)) for _ in range(count)]


def unbind(shape: Sizes, dim: int) -> list[Sizes]:
    """The shapes of all elements along a dimension, whose number becomes a guard."""
    return [drop(shape, dim) for _ in range(int(shape[wrap(dim, len(shape))]))]


# ---- tensors together ----------------------------------------------------------------------------------------------
def cat(shapes: list[Sizes], dim: int) -> Sizes:
    """The shape of tensors one after the other; those of one dimension and no element are left out."""
    present = [s for s in shapes if not (len(s) == 1 and _is_number(s[0], 0))] or shapes[:1]
    dim = wrap(dim, len(present[0]))
    out = list(present[0])
    for s in present[1:]:
        out = [out[d] + n if d == dim else same(out[d], n) for d, n in enumerate(s)]
    return out


def stack(shapes: list[Sizes], dim: int) -> Sizes:
    """The shape of tensors side by side in a new dimension."""
    out = list(shapes[0])
    for s in shapes[1:]:
        out = [same(a, b) for a, b in zip(out, s, strict=True)]
    return insert(out, dim, len(shapes))


def bags(weight: Sizes, indices: Sizes, offsets: Sizes, mode: int, last: bool) -> list[Sizes]:
    """The shapes of reduced bags of rows, the bag of each index, the bags' sizes, and the positions of maxima."""
    count = offsets[0] - 1 if last else offsets[0]
    reduced = [count, weight[1]]
    return [reduced, list(indices), [count], reduced if mode == 2 else [0]]


def matmul(a: Sizes, b: Sizes) -> Sizes:
    """The shape of a product of matrices, vectors or batches of them."""
    rows, columns = ([a[-2]] if len(a) > 1 else []), ([b[-1]] if len(b) > 1 else [])
    same(a[-1], b[-2] if len(b) > 1 else b[0])
    return [*broadcast(a[:-2], b[:-2]), *rows, *columns]


def mm(a: Sizes, b: Sizes) -> Sizes:
    """The shape of a product of two matrices, or of as many pairs of them."""
    same(a[-1], b[-2])
    lead = [same(m, n) for m, n in zip(a[:-2], b[:-2], strict=True)]
    return [*lead, a[-2], b[-1]]


def chain(shapes: list[Sizes]) -> Sizes:
    """The shape of a product of several matrices; the first and the last may be vectors."""
    out = shapes[0]
    for s in shapes[1:]:
        out = matmul(out, s)
    return out


def solve(a: Sizes, b: Sizes, left: bool) -> Sizes:
    """The shape of what solves systems; the right sides are vectors where they are as many as the matrices."""
    if len(b) == 1 or (len(b) == len(a) - 1 and all(map(_alike, a[:-1], b))):
        return [*broadcast(a[:-2], b[:-1]), same(b[-1], a[-1])]
    rows, columns = b[-2:]
    rows, columns = (same(rows, a[-1]), columns) if left else (rows, same(columns, a[-1]))
    return [*broadcast(a[:-2], b[:-2]), rows, columns]


def linear(input: Sizes, weight: Sizes) -> Sizes:
    """The shape of input times the transposed weight."""
    same(input[-1], weight[-1])
    return [*input[:-1], *weight[:-1]]


def tensordot(a: Sizes, b: Sizes, dims_a: Sequence[int], dims_b: Sequence[int]) -> Sizes:
    """The shape of a sum of products over pairs of dimensions."""
    left, right = [wrap(d, len(a)) for d in dims_a], [wrap(d, len(b)) for d in dims_b]
    for i, j in zip(left, right, strict=True):
        if not _is_number(a[i], 1) and not _is_number(b[j], 1):
            same(a[i], b[j])
    return [n for d, n in enumerate(a) if d not in left] + [n for d, n in enumerate(b) if d not in right]


def einsum(equation: str, shapes: list[Sizes]) -> Sizes:
    """The shape that an equation gives; a size of one extends."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    sizes: dict[str, Any] = {}
    lead: Sizes = []
    for term, shape in zip(inputs.split(","), shapes, strict=True):
        before, dots, after = term.partition("...")
        middle = len(shape) - len(before) - len(after)
        named = list(zip(before + after, shape[: len(before)] + shape[len(before) + middle :], strict=True))
        for letter, n in named:
            sizes[letter] = _common([m for m in (sizes.get(letter, 1), n) if not _is_number(m, 1)])
        lead = broadcast(lead, shape[len(before) : len(before) + middle] if dots else [])
    if not arrow:
        letters = [c for c in inputs if c.isalpha()]
        output = ("..." if "..." in inputs else "") + "".join(
            sorted(c for c in set(letters) if letters.count(c) == 1)
        )
    before, dots, after = output.partition("...")
    return [*(sizes[c] for c in before), *(lead if dots else []), *(sizes[c] for c in after)]


def meshgrid(shapes: list[Sizes], indexing: str = "ij") -> list[Sizes]:
    """The shapes of coordinates of a grid."""
    out = [s[0] if s else 1 for s in shapes]
    if indexing == "xy" and len(out) > 1:
        out[0], out[1] = out[1], out[0]
    return [out for _ in shapes]


def repeat(shape: Sizes, repeats: Sizes) -> Sizes:
    """The shape of copies side by side; repeats may have further dimensions in front."""
    padded = [1] * (len(repeats) - len(shape)) + list(shape)
    return [n * r for n, r in zip(padded, repeats, strict=True)]


def tile(shape: Sizes, dims: Sizes) -> Sizes:
    """The shape of copies side by side, where either may have fewer dimensions."""
    return repeat(shape, [1] * (len(shape) - len(dims)) + list(dims))


def kron(a: Sizes, b: Sizes) -> Sizes:
    """The shape of all products of two tensors' blocks."""
    rank = max(len(a), len(b))
    return [
        m * n for m, n in zip([1] * (rank - len(a)) + list(a), [1] * (rank - len(b)) + list(b), strict=True)
    ]


def attention(query: Sizes, key: Sizes, value: Sizes, grouped: bool) -> Sizes:
    """The shape of values weighed by products of queries and keys; heads of queries may share keys."""
    same(query[-1], key[-1])
    same(key[-2], value[-2])
    lead = query[:-2] if grouped else broadcast(query[:-2], key[:-2], value[:-2])
    return [*lead, query[-2], value[-1]]


def recurrent(input: Sizes, states: list[Sizes], bidirectional: bool) -> list[Sizes]:
    """The shapes of a recurrent layer's output and states."""
    return [[*input[:-1], states[0][-1] * (2 if bidirectional else 1)], *states]


def along(shape: Sizes, indices: Sizes, dim: int) -> Sizes:
    """The shape of elements at indices along a dimension; the others extend."""
    dim = wrap(dim, len(shape))
    return resize(broadcast(resize(shape, dim, 1), resize(indices, dim, 1)), dim, indices[dim])


def fourier(shape: Sizes, sizes: Any, dims: Any, kind: str = "full") -> Sizes:
    """The shape of a Fourier transform: `half` of the last dimension's frequencies, or the `whole` of such a half."""
    if dims is None:
        dims = range(len(shape)) if sizes is None else range(len(shape) - len(sizes), len(shape))
    out = list(shape)
    lengths = [-1] * len(dims) if sizes is None else sizes
    last = len(dims) - 1
    for i, (d, n) in enumerate(zip(dims, lengths, strict=True)):
        free = _is_number(n, -1)
        if kind == "whole" and i == last:
            out[d] = 2 * (shape[d] - 1) if free else n
        elif not free:
            out[d] = n
        if kind == "half" and i == last:
            out[d] = out[d] // 2 + 1
    return out


# ---- windows of images ---------------------------------------------------------------------------------------------
def spectra(
    signal: Any,
    size: int,
    hop: Any,
    window: Any,
    center: bool,
    mode: str,
    onesided: Any,
    as_complex: bool | None,
) -> Sizes:
    """The shape of the spectra of overlapping pieces of a signal: frequencies, then times."""
    half = (
        not any(t is not None and t.dtype.is_complex for t in (signal, window))
        if onesided is None
        else onesided
    )
    length, pad = signal.shape[-1], size // 2
    if center:
        require(mode not in ("reflect", "circular") or pad < length + (mode == "circular"))
        length = length + 2 * pad
    require(length >= size)
    times = 1 + (length - size) // (size // 4 if hop is None else hop)
    pairs = [2] if as_complex is False else []
    return [*signal.shape[:-1], size // 2 + 1 if half else size, times, *pairs]


def signal(shape: Sizes, size: int, hop: Any, center: bool, length: Any) -> Sizes:
    """The shape of the signal whose spectra, frequencies by times, are those of overlapping pieces."""
    if length is None:
        extent = size + (size // 4 if hop is None else hop) * (shape[-1] - 1)
        length = extent - (2 * (size // 2) if center else 0)
    return [*shape[:-2], length]


def convolution(input: Sizes, weight: Sizes, stride: Any, padding: Any, dilation: Any, groups: int) -> Sizes:
    """The shape of a convolution; the input may come without a batch; padding may be `same` or `valid`."""
    spatial = len(weight) - 2
    batch = input[: len(input) - spatial - 1]
    same(input[len(batch)], weight[1] * groups)
    return [*batch, weight[0], *_windows(input[-spatial:], weight[2:], stride, padding, dilation)]


def _windows(sizes: Sizes, kernel: Sizes, stride: Any, padding: Any, dilation: Any) -> Sizes:
    if padding == "same":
        return list(sizes)
    count = len(sizes)
    pads = [0] * count if padding == "valid" else each(padding, count)
    steps = zip(sizes, kernel, each(stride, count), pads, each(dilation, count), strict=True)
    return [_window_count(n, d * (k - 1), s, p) for n, k, s, p, d in steps]


def _window_count(n: Any, reach: Any, step: Any, pad: Any) -> Any:
    """How many windows that reach so far lie in a padded dimension; often as many as the dimension has elements."""
    if step == 1 and reach == 2 * pad:
        return require(n > 0, n)
    return windows(n + 2 * pad, reach + 1, step)


def transposed_convolution(
    input: Sizes, weight: Sizes, stride: Any, padding: Any, output_padding: Any, groups: int, dilation: Any
) -> Sizes:
    """The shape of a convolution that is turned around."""
    count = len(weight) - 2
    batch = input[: len(input) - count - 1]
    same(input[len(batch)], weight[0])
    options = [each(o, count) for o in (stride, padding, output_padding, dilation)]
    out = [
        (n - 1) * s - 2 * p + d * (k - 1) + o + 1
        for n, k, s, p, o, d in zip(input[-count:], weight[2:], *options, strict=True)
    ]
    return [*batch, weight[1] * groups, *(require(n >= 1, n) for n in out)]


def pool(
    shape: Sizes, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, count: int
) -> Sizes:
    """The shape of a pool over the last `count` dimensions; no stride is the kernel's size."""
    kernel = each(kernel, count)
    steps = each(stride, count) if not isinstance(stride, (list, tuple)) or stride else kernel
    options = zip(shape[-count:], kernel, steps, each(padding, count), each(dilation, count), strict=True)
    return [*shape[:-count], *(pool_length(n, k, s, p, d, ceil_mode) for n, k, s, p, d in options)]


def adaptive(shape: Sizes, output_size: Any, count: int) -> Sizes:
    """The shape of a pool of given sizes; None keeps a dimension's."""
    sizes = zip(each(output_size, count), shape[-count:], strict=True)
    return [*shape[:-count], *(n if o is None else o for o, n in sizes)]


def pool_length(n: Any, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> Any:
    """How many windows a pool has in a dimension; a last one that begins in the padding is left out."""
    room = n + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return require(room >= 0, room // stride + 1)
    length = (room + (stride - 1)) // stride + 1
    fits = (length - 1) * stride < n + padding
    return require(length >= 1, length if fits else length - 1)


def pad_sizes(shape: Sizes, pad: Sizes, mode: str = "constant") -> Sizes:
    """The shape with elements added at both ends of the last dimensions, the last first."""
    out = list(shape)
    for i in range(len(pad) // 2):
        d, (before, after) = len(out) - 1 - i, pad[2 * i : 2 * i + 2]
        if mode == "reflect":
            require(before < out[d])
            require(after < out[d])
        if mode == "circular":
            require(before <= out[d])
            require(after <= out[d])
        n = out[d] + before + after
        negative = any(not isinstance(p, SymInt) and p < 0 for p in (before, after))
        out[d] = require(n >= 0, n) if negative else n
    return out


def upsample(shape: Sizes, output_size: Any, scale_factors: Any) -> Sizes:
    """The shape of an image of another size: the sizes, or factors."""
    if output_size is not None:
        return [*shape[:2], *output_size]
    return [*shape[:2], *(scale(n, f) for n, f in zip(shape[2:], scale_factors, strict=True))]


def scale(n: Any, factor: Any) -> Any:
    """A size times a factor, rounded down."""
    if float(factor).is_integer():
        return n * int(factor)
    return math.floor(n * factor)


def fold_length(sizes: Sizes, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """How many windows an image has."""
    return prod(_windows(sizes, each(kernel, 2), stride, padding, dilation))


# ---- numbers -------------------------------------------------------------------------------------------------------
def arange(start: Any, end: Any, step: Any = 1) -> Any:
    """How many numbers a range has."""
    if any(isinstance(n, float) for n in (start, end, step)) and not isinstance(start, SymInt):
        return max(math.ceil((end - start) / step), 0)
    length = (end - start + (step - 1)) // step if step > 0 else (start - end + (-step - 1)) // -step
    return require(length >= 0, length)


def triangle(rows: Any, columns: Any, offset: int, upper: bool) -> Any:
    """How many elements of a matrix stand in a triangle."""
    if upper:
        return rows * columns - triangle(rows, columns, offset - 1, False)
    count = sym_max(sym_min(rows, rows + offset), 0)  # of rows that have any
    first = sym_min(columns, 1 + offset) if offset > 0 else sym_min(count, 1)
    last = sym_max(sym_min(columns, rows + offset), 0)
    growing = last - first + 1
    return (first + last) * growing // 2 + sym_max(count - growing, 0) * columns


def gather_index(shape: Sizes, indices: list[Any]) -> Sizes:
    """The shape of the elements that tensors of indices name; None stands for a whole dimension."""
    dims = [d for d, i in enumerate(indices) if i is not None]
    picked = broadcast(*(i.shape for i in indices if i is not None))
    rest = [n for d, n in enumerate(shape) if d not in dims]
    beside = dims[-1] - dims[0] == len(dims) - 1
    at = dims[0] if beside else 0
    return [*rest[:at], *picked, *rest[at:]]


FUNCTIONS: dict[str, Any] = {
    "abs": abs,
    "all": all,
    "any": any,
    "float": float,
    "int": int,
    "is_complex": lambda t: t.dtype.is_complex,
    "len": len,
    "list": list,
    "max": sym_max,
    "min": sym_min,
    "range": range,
    "reversed": reversed,
    "sorted": sorted,
    "sum": sum,
    "zip": zip,
    **{
        f.__name__: f
        for f in (
            adaptive, along, arange, atleast, attention, bags, broadcast, cat, chain, choices, chunk, convolution,
            diag, diag_embed, diagonal, difference, drop, each, einsum, element, even, expand, extreme, flatten,
            fold_length, fourier, gather_index, insert, kron, linear, lu, matmul, meshgrid, mm, move, narrow,
            pad_sizes, parts, permute, pool, prod, qr, quotient, recurrent, reduction, reinterpreted, repeat, require,
            resize, same, shuffle, signal, sizes, slice_length, solve, spectra, split, squeeze, stack, svd,
            svd_factors, swap, tensor_split, tensordot, tile, transposed_convolution, triangle, unbind, unflatten,
            upsample, view, windows, wrap,
        )
    },
}  # fmt: skip
