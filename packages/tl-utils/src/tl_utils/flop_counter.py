"""How many floating-point operations a program needs, by module and operator."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from tl_core import Tensor
from tl_core.base.rule_table import RuleTable
from tl_core.operators import packets
from tl_core.operators.packets import OpOverloadPacket
from tl_core.pytree import tree_map
from tl_core.subclasses.python_dispatch import TorchDispatchMode
from tl_utils.module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

_aten = packets.aten

flop_registry: RuleTable[Callable[..., int]] = RuleTable("flops")

_SUFFIXES = ("", "K", "M", "B", "T")


def get_shape(i: Any) -> Any:
    """The shape of a tensor; other values as they are."""
    return i.shape if isinstance(i, Tensor) else i


def shape_wrapper(f: Callable[..., int]) -> Callable[..., int]:
    """Makes a formula on shapes one on tensors."""

    @wraps(f)
    def on_tensors(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, out_shape = tree_map(get_shape, (args, kwargs, out_val))
        return f(*args, out_shape=out_shape, **kwargs)

    return on_tensors


def register_flop_formula(
    targets: Any, get_raw: bool = False
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Says how many operations an operator needs.

    Args:
        targets: the operator, such as `ops.aten.mm`, or a list of them.
        get_raw: whether the formula is called with tensors and `out_val`. If not, it is called with shapes and
            `out_shape`.

    Returns:
        a decorator of the formula.

    Raises:
        ValueError: a target is something else, such as one overload.

    Example:
        >>> @register_flop_formula(tl_core.ops.aten.dot)
        ... def dot_flop(a_shape, b_shape, out_shape=None, **kwargs):
        ...     return 2 * a_shape[0]
        >>> with FlopCounterMode(display=False) as counter:
        ...     _ = tl_core.dot(tl_core.ones(8), tl_core.ones(8))
        >>> counter.get_total_flops()
        16
        >>> del flop_registry[tl_core.ops.aten.dot]
    """
    listed = list(targets) if isinstance(targets, (list, tuple)) else [targets]
    for target in listed:
        if not isinstance(target, OpOverloadPacket):
            raise ValueError(
                "register_flop_formula(targets): expected each target to be OpOverloadPacket (i.e. ops.mylib.foo), "
                f"got {target} which is of type {type(target)}"
            )

    def register(formula: Callable[..., int]) -> Callable[..., int]:
        on_tensors = formula if get_raw else shape_wrapper(formula)
        for target in listed:
            if target in flop_registry:
                raise RuntimeError(f"register_flop_formula: {target} has a formula already")
            flop_registry[target] = on_tensors
        return formula

    return register


# The formulas of operators that other libraries make of several, and the names under which they are counted.
_OWN: RuleTable[tuple[Callable[..., int], str]] = RuleTable("flops of own operators")


def _own_formula(name: str, counted_as: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    def register(formula: Callable[..., int]) -> Callable[..., int]:
        _OWN.rule(name)((formula, counted_as))
        return formula

    return register


# ---- products of matrices --------------------------------------------------------------------------------------------
@register_flop_formula(_aten.mm)
def mm_flop(a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """A product of matrices: a multiplication and an addition for each pair of elements that meet."""
    return 2 * int(a_shape[0] * a_shape[1] * b_shape[1])


@register_flop_formula(_aten.addmm)
def addmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """A product of matrices; what is added counts nothing."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(_aten.bmm)
def bmm_flop(a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """A batch of products of matrices."""
    return int(a_shape[0]) * mm_flop(a_shape[1:], b_shape[1:])


@register_flop_formula(_aten.baddbmm)
def baddbmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """A batch of products of matrices; what is added counts nothing."""
    return bmm_flop(a_shape, b_shape)


# ---- convolutions ----------------------------------------------------------------------------------------------------
def conv_flop_count(x_shape: Any, w_shape: Any, out_shape: Any, transposed: bool = False) -> int:
    """A convolution: each weight meets each example at each position."""
    positions = (x_shape if transposed else out_shape)[2:]
    return 2 * int(x_shape[0] * math.prod(positions) * math.prod(w_shape))


@register_flop_formula(_aten.convolution)
def conv_flop(x_shape: Any, w_shape: Any, _bias: Any, _stride: Any, _padding: Any, _dilation: Any, transposed: bool,
              *args: Any, out_shape: Any = None, **kwargs: Any) -> int:  # fmt: skip
    """A convolution."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


@_own_formula("_convolve_input", "convolution_backward")
def _input_gradient_flop(
    grad_shape: Any, w_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any
) -> int:
    return conv_flop_count(grad_shape, w_shape, grad_shape)


@_own_formula("_convolve", "convolution_backward")
def _transposed_input_gradient_flop(grad_shape: Any, w_shape: Any, *args: Any, out_shape: Any = None,
                                    **kwargs: Any) -> int:  # fmt: skip
    return conv_flop_count(grad_shape, w_shape, out_shape)


@_own_formula("_convolve_weight", "convolution_backward")
def _weight_gradient_flop(small_shape: Any, large_shape: Any, w_shape: Any, *args: Any, out_shape: Any = None,
                          **kwargs: Any) -> int:  # fmt: skip
    return conv_flop_count(small_shape, w_shape, small_shape)


# ---- attention -------------------------------------------------------------------------------------------------------
def sdpa_flop_count(query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """Attention: scores, and their product with the values."""
    *batch, length, size = query_shape
    keys, value_size = key_shape[-2], value_shape[-1]
    return 2 * math.prod(batch) * int(length * keys * (size + value_size))


def sdpa_backward_flop_count(grad_out_shape: Any, query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """The backward of attention: the scores again, and four products for the gradients."""
    *batch, length, size = query_shape
    keys, value_size = key_shape[-2], value_shape[-1]
    return 2 * math.prod(batch) * int(length * keys * (3 * size + 2 * value_size))


def _unpack_flash_attention_nested_shapes(
    *,
    query: Any,
    key: Any,
    value: Any,
    grad_out: Any = None,
    cum_seq_q: Any,
    cum_seq_k: Any,
    max_q: int,
    max_k: int,
) -> Iterator[tuple[Any, Any, Any, Any]]:
    """The shapes of each sequence of a packed batch, whose first dimension has the sequences one after another.

    Args:
        query (Any): The queries, (tokens, heads, size).
        key (Any): The keys.
        value (Any): The values.
        grad_out (Any): The gradient of the result, or None.
        cum_seq_q (Any): The end of each sequence of queries, after a 0. Without it, the batch is not packed.
        cum_seq_k (Any): The end of each sequence of keys, after a 0.
        max_q (int): The longest sequence of queries, which stands for all where the ends have no memory.
        max_k (int): The longest sequence of keys.

    Yields:
        tuple[Any, Any, Any, Any]: The shapes of queries, keys, values, and of the gradient or None.

    Raises:
        ValueError: An operand is not packed, or the numbers of sequences differ.

    Example:
        >>> import tl_core as tl
        >>> x, ends = tl.ones(5, 2, 8), tl.tensor([0, 2, 5])
        >>> shapes = _unpack_flash_attention_nested_shapes(
        ...     query=x, key=x, value=x, cum_seq_q=ends, cum_seq_k=ends, max_q=3, max_k=3)
        >>> [q for q, k, v, g in shapes]
        [(1, 2, 2, 8), (1, 2, 3, 8)]
    """
    if cum_seq_q is None:
        yield query.shape, key.shape, value.shape, None if grad_out is None else grad_out.shape
        return
    if not len(query.shape) == len(key.shape) == len(value.shape) == 3:
        raise ValueError(
            f"query, key and value of a packed batch must have 3 dimensions, got {len(query.shape)}, "
            f"{len(key.shape)} and {len(value.shape)}"
        )
    if cum_seq_k is None or tuple(cum_seq_q.shape) != tuple(cum_seq_k.shape):
        raise ValueError("cum_seq_k must have the shape of cum_seq_q")
    lengths = [_sequence_lengths(ends, most) for ends, most in ((cum_seq_q, max_q), (cum_seq_k, max_k))]
    for queries, keys in zip(*lengths, strict=True):
        rows = (1, query.shape[1], queries, query.shape[2])
        gradient = None if grad_out is None else (1, grad_out.shape[1], queries, grad_out.shape[2])
        yield (
            rows,
            (1, key.shape[1], keys, key.shape[2]),
            (1, value.shape[1], keys, value.shape[2]),
            gradient,
        )


def _sequence_lengths(ends: Any, most: int) -> list[int]:
    """The length of each sequence; without memory, the longest one for each."""
    if ends.device.type == "meta":
        return [most] * (ends.size(0) - 1)
    return list(ends.diff().tolist())


@_own_formula("_attention", "_scaled_dot_product_flash_attention_for_cpu")
def sdpa_flop(query_shape: Any, key_shape: Any, value_shape: Any, *args: Any, out_shape: Any = None,
              **kwargs: Any) -> int:  # fmt: skip
    """Attention."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


@_own_formula("_attention_backward", "_scaled_dot_product_flash_attention_for_cpu_backward")
def sdpa_backward_flop(grad_out_shape: Any, query_shape: Any, key_shape: Any, value_shape: Any, *args: Any,
                       out_shape: Any = None, **kwargs: Any) -> int:  # fmt: skip
    """The backward of attention."""
    return sdpa_backward_flop_count(grad_out_shape, query_shape, key_shape, value_shape)


# ---- operators of this library that others make of several -----------------------------------------------------------
@_own_formula("linear", "addmm")
def _linear_flop(x_shape: Any, w_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    return 2 * math.prod(x_shape) * int(w_shape[0])


@_own_formula("_recurrent_layer", "mm")
def _recurrent_flop(gates_shape: Any, hidden_shape: Any, cell_shape: Any, w_shape: Any, *args: Any,
                    out_shape: Any = None, **kwargs: Any) -> int:  # fmt: skip
    return 2 * int(gates_shape[0]) * math.prod(w_shape)


@_own_formula("_recurrent_layer_backward", "mm")
def _recurrent_backward_flop(*args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    return 2 * 2 * int(args[0][0]) * math.prod(args[5])


def _own(packet: Any, args: Any, kwargs: Any, out: Any) -> tuple[Any, int] | None:
    """The operator and count of one of this library's own."""
    name = str(packet).removeprefix("aten.")
    entry = _OWN.get(name)
    if entry is None:
        return None
    formula, counted_as = entry
    if name == "linear" and (len(args) < 3 or args[2] is None) and kwargs.get("bias") is None:
        counted_as = "mm"
    return getattr(_aten, counted_as, packet), shape_wrapper(formula)(*args, **kwargs, out_val=out)


# ---- tables ----------------------------------------------------------------------------------------------------------
def get_suffix_str(number: float) -> str:
    """The suffix with which a number is short, and has three figures before the point at least once.

    Example:
        >>> get_suffix_str(5_000_000)
        'K'
    """
    index = max(0, min(len(_SUFFIXES) - 1, (len(str(int(number))) - 2) // 3))
    return _SUFFIXES[index]


def convert_num_with_suffix(number: float, suffix: str) -> str:
    """A number in units of a suffix.

    Example:
        >>> convert_num_with_suffix(5_000_000, "K")
        '5000.000K'
    """
    return f"{number / 1000 ** _SUFFIXES.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: float, denom: float) -> str:
    """A share in percent.

    Example:
        >>> convert_to_percent_str(1, 8)
        '12.50%'
    """
    return f"{num / denom:.2%}" if denom else "0%"


def _table(rows: list[list[str]]) -> str:
    head = ["Module", "FLOP", "% Total"]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(3)]
    lines = [head, ["-" * w for w in widths], *rows]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].rjust(widths[2])])
        for row in lines
    )


class FlopCounterMode:
    """Inside, counts the floating-point operations of products of matrices, convolutions and attention.

    Those of the backward count too. A multiplication and an addition are two operations; elementwise operators count
    nothing. Each count goes to all modules that run at that moment, and to `Global`.

    Args:
        mods: not needed any more.
        depth: how many levels of modules the table shows.
        display: whether the table is printed at the end.
        custom_mapping: formulas by operator, see `register_flop_formula`.

    Example:
        >>> import tl_nn
        >>> model = tl_nn.Sequential(tl_nn.Linear(8, 16), tl_nn.ReLU(), tl_nn.Linear(16, 4))
        >>> with FlopCounterMode(display=False) as counter:
        ...     _ = model(tl_core.ones(10, 8))
        >>> counter.get_total_flops()
        3840
        >>> print(counter.get_table(depth=1))
        Module             FLOP  % Total
        -------------  --------  -------
        Sequential     3840.000  100.00%
         - aten.addmm  3840.000  100.00%
    """

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True,
                 custom_mapping: dict[Any, Any] | None = None) -> None:  # fmt: skip
        if mods is not None:
            warnings.warn("mods argument is not needed anymore, you can stop passing it", stacklevel=2)
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.mod_tracker = ModuleTracker()
        self.mode: _Counting | None = None
        custom = {
            packet: f if getattr(f, "_get_raw", False) else shape_wrapper(f)
            for packet, f in (custom_mapping or {}).items()
        }
        self.flop_registry = {**flop_registry, **custom}

    def get_total_flops(self) -> int:
        """All operations."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """The operations by module and operator."""
        return {module: dict(counts) for module, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The operations as a table.

        Args:
            depth: the number of levels of modules in the table, by default the constructor's.
        """
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        suffix = get_suffix_str(total)
        rows: list[list[str]] = []
        modules = [m for m in self.flop_counts if m != "Global"]
        covered = any(sum(self.flop_counts[m].values()) >= total for m in modules)
        shown = sorted(modules, key=_in_tree) if covered else ["Global", *sorted(modules, key=_in_tree)]
        for module in shown:
            level = 1 if module == "Global" else module.count(".") + 1 + (not covered)
            if level > max(depth, 1) + (not covered):
                continue
            counts = self.flop_counts[module]
            rows.append(self._row(" " * (level - 1) + module, sum(counts.values()), total, suffix))
            rows += [self._row(" " * level + f"- {op}", n, total, suffix) for op, n in counts.items()]
        return _table(rows)

    @staticmethod
    def _row(name: str, count: int, total: int, suffix: str) -> list[str]:
        return [name, convert_num_with_suffix(count, suffix), convert_to_percent_str(count, total)]

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self.mode = _Counting(self)
        self.mode.__enter__()
        return self

    def __exit__(self, *args: object) -> None:
        if self.mode is None:
            raise RuntimeError("FlopCounterMode: it was left before it was entered")
        self.mode.__exit__(*args)
        self.mode = None
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def _count_flops(self, func_packet: Any, out: Any, args: Any, kwargs: Any) -> Any:
        """Adds the count of a call and returns its result."""
        if func_packet in self.flop_registry:
            counted: Any = func_packet, self.flop_registry[func_packet](*args, **kwargs, out_val=out)
        else:
            counted = _own(func_packet, args, kwargs, out)
        if counted is not None:
            for module in self.mod_tracker.parents:
                self.flop_counts[module][counted[0]] += counted[1]
        return out


def _in_tree(module: str) -> list[str]:
    return module.split(".")


class _Counting(TorchDispatchMode):
    """Sees each operator."""

    handles_kernels_only = True  # its formulas count the products of backwards one by one

    def __init__(self, counter: FlopCounterMode) -> None:
        super().__init__()
        self.counter = counter

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        return self.counter._count_flops(getattr(func, "overloadpacket", func), out, args, kwargs)
