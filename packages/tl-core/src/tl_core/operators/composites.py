"""Operators of the namespace aten that are made of others: what they call is called, recorded and differentiated.

Packages above the core add theirs with `add`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import tl_core
from tl_core.base import operator_hooks
from tl_core.base.row_facts import declare
from tl_core.operators import packets
from tl_core.operators.packets import PACKETS, OpOverloadPacket
from tl_core.operators.python_operator import Overloads, PythonOperator, PythonPacket

__all__ = ["CompositeOperator", "CompositePacket", "add", "function"]


class CompositeOperator(PythonOperator):
    """An operator whose call is a function of others, with the arguments that its schema names.

    Args:
        packet: the overloads it belongs to.
        overload: its own name among them.
        schema: what it takes, as schemas write it.
        function: what a call does; arguments come by position, those behind a star by keyword.
    """

    @functools.cached_property
    def _signature(self) -> inspect.Signature:
        from tl_core.schemas.signatures import signature_of

        return signature_of(self._schema)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return self._function(*bound.args, **bound.kwargs)

    def _can_decompose(self) -> bool:
        return True

    def decompose(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the operators that it is made of.

        Args:
            *args: the arguments.
            **kwargs: those by keyword.
        """
        return self(*args, **kwargs)


class CompositePacket(PythonPacket):
    """All overloads of one name; a call takes the first that has room for its arguments."""

    _kind = CompositeOperator

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for name in self._overload_names[:-1]:
            overload = getattr(self, name)
            try:
                overload._signature.bind(*args, **kwargs)
            except TypeError:
                continue
            return overload(*args, **kwargs)
        return getattr(self, self._overload_names[-1])(*args, **kwargs)


def add(rows: Iterable[tuple[str, Callable[..., Any]]], namespace: str = "aten", **facts: str) -> None:
    """Adds operators to a namespace.

    Args:
        rows: a schema and what a call does, for each.
        namespace: the namespace.
        **facts: by the kind of a fact, the operators for which it holds, such as `core="copy"`.
    """
    for kind, operators in facts.items():
        declare(kind, *operators.split())
    by_name: dict[str, Overloads] = {}
    for schema, function in rows:
        base, _, overload = schema.partition("(")[0].partition(".")
        by_name.setdefault(base, {})[overload or "default"] = schema, function
    for name, overloads in by_name.items():
        PACKETS[f"{namespace}::{name}"] = CompositePacket(namespace, name, overloads)


def __getattr__(name: str) -> OpOverloadPacket:
    """The operator of that name, which programs may call as a function."""
    if f"aten::{name}" not in PACKETS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return PACKETS[f"aten::{name}"]


def _method(name: str) -> Callable[..., Any]:
    """The method of the first argument."""
    return lambda self, *args, **kwargs: getattr(self, name)(*args, **kwargs)


def _attribute(name: str) -> Callable[..., Any]:
    return lambda self: getattr(self, name)


def function(path: str) -> Callable[..., Any]:
    """A function of tl-core, looked up when it is called.

    Args:
        path: its path in the package, such as "linalg.norm".

    Example:
        >>> import tl_core
        >>> function("linalg.norm")(tl_core.ones(4))
        tensor(2.)
    """
    where, _, name = path.rpartition(".")

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(import_module(f"tl_core.{where}".rstrip(".")), name)(*args, **kwargs)

    return call


def _own(name: str) -> Callable[..., Any]:
    """A function that stands beside the reference's public ones."""
    return function(f"functions.private.{name}")


def _over_examples(name: str) -> Callable[..., Any]:
    """The method of the first argument, over all examples of a `vmap` too: Python can read the result."""

    def call(self: Any) -> Any:
        values = operator_hooks.maker("plain value")(self) if self._hides_batch() else self
        return getattr(values, name)()

    return call


def _on_copy(name: str) -> Callable[..., Any]:
    """The in-place method of a copy."""
    return lambda self, *args, **kwargs: getattr(self.clone(), name)(*args, **kwargs)


def _convolution(input: Any, weight: Any, bias: Any, *rest: Any) -> Any:
    """`convolution`, with the switches of a library that isn't used behind its arguments."""
    stride, padding, dilation, transposed, output_padding, groups, *_switches = rest
    return tl_core.convolution(
        input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )


def _convolution_mode(
    input: Any, weight: Any, bias: Any, stride: Any, padding: str, dilation: Any, groups: int
) -> Any:
    """A convolution with its padding by name: `"same"` or `"valid"`."""
    convolve = getattr(tl_core, f"conv{weight.dim() - 2}d")
    return convolve(input, weight, bias, stride, padding, dilation, groups)


def _running(name: str) -> Callable[..., Any]:
    def call(self: Any, values: Any, indices: Any, dim: int) -> None:
        getattr(tl_core, name)(self, dim, out=(values, indices))

    return call


def _safe_softmax(self: Any, dim: int, dtype: Any = None) -> Any:
    """A row of which nothing is left has no weights."""
    empty = (self == -float("inf")).all(dim, keepdim=True)
    return tl_core.softmax(self.masked_fill(empty, 0), dim, dtype=dtype).masked_fill(empty, 0)


def _set_source(self: Any, *source: Any) -> Any:
    return self.set_(*source)


_SWITCHES = "bool benchmark, bool deterministic, bool cudnn_enabled"
_CONVOLUTION = (
    "Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
    "bool transposed, SymInt[] output_padding, SymInt groups"
)
_BITWISE = ("and", "or", "xor", "lshift", "rshift")
_OF_SPECIAL = [
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammaln",
    "i0",
    "log1p",
    "psi",
    "sinc",
]
_DEVICE = "Tensor self, Device? device=None"
_GENERATOR = "*, Generator? generator=None"

add(
    [
        (f"_convolution({_CONVOLUTION}, {_SWITCHES}, bool allow_tf32) -> Tensor", _convolution),
        (f"_convolution.deprecated({_CONVOLUTION}, {_SWITCHES}) -> Tensor", _convolution),
        (
            (
                "_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str padding, "
                "SymInt[] dilation, SymInt groups) -> Tensor"
            ),
            _convolution_mode,
        ),
        (f"_pin_memory({_DEVICE}) -> Tensor", _method("pin_memory")),
        (f"pin_memory({_DEVICE}) -> Tensor", _method("pin_memory")),
        (f"is_pinned({_DEVICE}) -> bool", _method("is_pinned")),
        ("_assert_async(Tensor self) -> ()", _own("_assert_async")),
        ("_assert_async.msg(Tensor self, str assert_msg) -> ()", _own("_assert_async")),
        ("_is_all_true(Tensor self) -> Tensor", _over_examples("all")),
        ("_is_any_true(Tensor self) -> Tensor", _over_examples("any")),
        (
            "_cummax_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()",
            _running("cummax"),
        ),
        (
            "_cummin_helper(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()",
            _running("cummin"),
        ),
        ("_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", _safe_softmax),
        ("_stack(Tensor[] tensors, int dim=0) -> Tensor", function("stack")),
        ("_unsafe_view(Tensor self, SymInt[] size) -> Tensor", _method("view")),
        (
            "_reshape_alias_copy(Tensor self, SymInt[] size, SymInt[] stride) -> Tensor",
            lambda self, size, stride: self.as_strided(size, stride).clone(),
        ),
        (
            "_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)",
            _method("as_strided"),
        ),
        (
            "_sparse_addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
            function("sparse.addmm"),
        ),
        ("_sparse_mm(Tensor sparse, Tensor dense) -> Tensor", function("sparse.mm")),
        ("_sparse_mm.reduce(Tensor sparse, Tensor dense, str reduce) -> Tensor", function("sparse.mm")),
    ]
)

# What tensors are asked for.
add(
    [
        *(
            (f"{name}(Tensor self) -> bool", _method(name))
            for name in ("is_floating_point", "is_complex", "is_signed")
        ),
        ("is_nonzero(Tensor self) -> bool", bool),
        ("is_same_size(Tensor self, Tensor other) -> bool", _own("is_same_size")),
        ("is_set_to(Tensor self, Tensor tensor) -> bool", _method("is_set_to")),
        ("is_leaf(Tensor self) -> bool", _attribute("is_leaf")),
        ("output_nr(Tensor self) -> int", _attribute("output_nr")),
        ("_version(Tensor self) -> int", _attribute("_version")),
        ("element_size(Tensor self) -> int", _method("element_size")),
        ("get_device(Tensor self) -> int", _method("get_device")),
        ("result_type.Tensor(Tensor tensor, Tensor other) -> ScalarType", function("result_type")),
        ("result_type.Scalar(Tensor tensor, Scalar other) -> ScalarType", function("result_type")),
        ("result_type.Scalar_Tensor(Scalar scalar, Tensor tensor) -> ScalarType", function("result_type")),
        ("result_type.Scalar_Scalar(Scalar scalar1, Scalar scalar2) -> ScalarType", function("result_type")),
        ("can_cast(ScalarType from_, ScalarType to) -> bool", function("can_cast")),
        ("promote_types(ScalarType type1, ScalarType type2) -> ScalarType", function("promote_types")),
    ]
)

# Other names of methods and functions.
add(
    [
        *((f"{name}(Tensor(a) self) -> Tensor(a)", _attribute(name)) for name in ("mT", "mH")),
        ("numpy_T(Tensor(a) self) -> Tensor(a)", _attribute("T")),
        ("matrix_H(Tensor(a) self) -> Tensor(a)", _attribute("H")),
        ("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)", _method("swapaxes")),
        ("swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)", _method("swapdims")),
        ("type_as(Tensor self, Tensor other) -> Tensor", _method("type_as")),
        *(
            (
                f"__{form}{name}__.{other}(Tensor{alias} self, {other} other) -> Tensor{alias}",
                _method(f"__{form}{name}__"),
            )
            for name in _BITWISE
            for form, alias in (("", ""), ("i", "(a!)"))
            for other in ("Tensor", "Scalar")
        ),
        ("detach_(Tensor(a!) self) -> Tensor(a!)", _method("detach_")),
        ("requires_grad_(Tensor(a!) self, bool requires_grad=True) -> Tensor(a!)", _method("requires_grad_")),
        ("record_stream(Tensor(a!) self, Stream s) -> ()", _method("record_stream")),
        ("set_(Tensor(a!) self) -> Tensor(a!)", _set_source),
        ("set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)", _set_source),
        ("set_.source_Storage(Tensor(a!) self, Storage source) -> Tensor(a!)", _set_source),
        (
            (
                "set_.source_Storage_storage_offset(Tensor(a!) self, Storage source, SymInt storage_offset, "
                "SymInt[] size, SymInt[] stride=[]) -> Tensor(a!)"
            ),
            _set_source,
        ),
        (
            (
                "set_.source_Tensor_storage_offset(Tensor(a!) self, Tensor source, SymInt storage_offset, "
                "SymInt[] size, SymInt[] stride=[]) -> Tensor(a!)"
            ),
            _set_source,
        ),
    ],
    inplace_views="detach_ set_",
)

add(
    [
        *((f"special_{name}(Tensor self) -> Tensor", function(f"special.{name}")) for name in _OF_SPECIAL),
        *(
            (f"special_{name}(Tensor self, Tensor other) -> Tensor", function(f"special.{name}"))
            for name in ("gammainc", "gammaincc")
        ),
        (
            "special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
            function("special.log_softmax"),
        ),
        (
            "special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
            lambda self, dim, dtype: function("special.softmax")(self, dim, dtype=dtype),
        ),
        ("special_logit(Tensor self, float? eps=None) -> Tensor", function("special.logit")),
        (
            "special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
            function("special.logsumexp"),
        ),
        ("special_multigammaln(Tensor self, int p) -> Tensor", function("special.multigammaln")),
        ("special_polygamma(int n, Tensor self) -> Tensor", function("special.polygamma")),
        ("special_round(Tensor self, *, int decimals=0) -> Tensor", function("special.round")),
        ("special_xlogy(Tensor self, Tensor other) -> Tensor", function("special.xlogy")),
        ("special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor", function("special.xlogy")),
        ("special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor", function("special.xlogy")),
        ("linalg_matmul(Tensor self, Tensor other) -> Tensor", function("linalg.matmul")),
        (
            "linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)",
            function("linalg.diagonal"),
        ),
    ]
)

# Those in place, on a copy.
add(
    [
        ("copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", _on_copy("copy_")),
        ("zero(Tensor self) -> Tensor", _on_copy("zero_")),
        (
            "resize(Tensor self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor",
            _on_copy("resize_"),
        ),
        (
            "resize_as(Tensor self, Tensor the_template, *, MemoryFormat? memory_format=None) -> Tensor",
            _on_copy("resize_as_"),
        ),
        (f"uniform(Tensor self, float from=0., float to=1., {_GENERATOR}) -> Tensor", _on_copy("uniform_")),
        (f"exponential(Tensor self, float lambd=1., {_GENERATOR}) -> Tensor", _on_copy("exponential_")),
        (f"geometric(Tensor self, float p, {_GENERATOR}) -> Tensor", _on_copy("geometric_")),
        (
            f"cauchy(Tensor self, float median=0., float sigma=1., {_GENERATOR}) -> Tensor",
            _on_copy("cauchy_"),
        ),
        (
            f"log_normal(Tensor self, float mean=1., float std=2., {_GENERATOR}) -> Tensor",
            _on_copy("log_normal_"),
        ),
        (
            f"normal_functional(Tensor self, float mean=0., float std=1., {_GENERATOR}) -> Tensor",
            _on_copy("normal_"),
        ),
        (f"random(Tensor self, {_GENERATOR}) -> Tensor", _on_copy("random_")),
        (f"random.to(Tensor self, int to, {_GENERATOR}) -> Tensor", _on_copy("random_")),
        (f"random.from(Tensor self, int from, int? to, {_GENERATOR}) -> Tensor", _on_copy("random_")),
    ],
    core="copy",
)


# Gradients that a row of our own computes.
_NLL = "Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index"
_MASK = "bool[3] output_mask) -> (Tensor, Tensor, Tensor)"
_MODES = "int interpolation_mode, int padding_mode, bool align_corners"
_FLASH = "_scaled_dot_product_flash_attention_for_cpu"
_HEADS = "Tensor query, Tensor key, Tensor value"
_MASK_AND_SCALE = "*, Tensor? attn_mask=None, float? scale=None"
add(
    [
        *(
            (
                f"nll_loss{d}_backward(Tensor grad_output, {_NLL}, Tensor total_weight) -> Tensor",
                function("operators.gradients.nll_loss_backward"),
            )
            for d in ("", "2d")
        ),
        (
            f"nll_loss2d_forward({_NLL}) -> (Tensor output, Tensor total_weight)",
            lambda *args: packets.aten.nll_loss_forward.default(*args),
        ),
        *(
            (
                f"{name}_pad{d}d_backward(Tensor grad_output, Tensor self, SymInt[{2 * d}] padding) -> Tensor",
                lambda *args, kind=kind: function("operators.gradients.border_backward")(kind)(*args),
            )
            for name, kind in (("reflection", "reflect"), ("replication", "replicate"))
            for d in (1, 2, 3)
        ),
        *(
            (
                (
                    f"grid_sampler_{d}d_backward(Tensor grad_output, Tensor input, Tensor grid, {_MODES}, bool[2] "
                    "output_mask) -> (Tensor, Tensor)"
                ),
                function("operators.gradients.grid_sampler_backward"),
            )
            for d in (2, 3)
        ),
        (
            (
                f"{_FLASH}({_HEADS}, float dropout_p=0.0, bool is_causal=False, {_MASK_AND_SCALE}) -> (Tensor output, "
                "Tensor logsumexp)"
            ),
            function("operators.gradients.attention_forward"),
        ),
        (
            (
                f"{_FLASH}_backward(Tensor grad_out, {_HEADS}, Tensor out, Tensor logsumexp, float dropout_p, bool "
                f"is_causal, {_MASK_AND_SCALE}) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)"
            ),
            function("operators.gradients.attention_backward"),
        ),
        (
            (
                "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, "
                f"Tensor rstd, Tensor? weight, Tensor? bias, {_MASK}"
            ),
            function("operators.gradients.native_layer_norm_backward"),
        ),
        (
            (
                "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, "
                f"SymInt N, SymInt C, SymInt HxW, int group, {_MASK}"
            ),
            function("operators.gradients.native_group_norm_backward"),
        ),
        (
            (
                "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean, "
                f"Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, {_MASK}"
            ),
            function("operators.gradients.native_batch_norm_backward"),
        ),
    ],
    core="native_layer_norm_backward native_group_norm_backward",
)

_STATISTICS = "Tensor? running_mean, Tensor? running_var, float momentum"
_PART = "Tensor input, Tensor mean, Tensor invstd"
_GRADIENT = "Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight"
_PAIR_OF_TENSORS = "(Tensor, Tensor)"

add(
    (schema, function(f"{module}.{schema.partition('(')[0].partition('.')[0]}"))
    for module, schema in (
        ("functions.batch_statistics", f"batch_norm_stats(Tensor input, float eps) -> {_PAIR_OF_TENSORS}"),
        (
            "functions.batch_statistics",
            f"batch_norm_update_stats(Tensor input, {_STATISTICS}) -> {_PAIR_OF_TENSORS}",
        ),
        (
            "functions.batch_statistics",
            f"batch_norm_gather_stats({_PART}, {_STATISTICS}, float eps, int count) -> {_PAIR_OF_TENSORS}",
        ),
        (
            "functions.batch_statistics",
            (
                f"batch_norm_gather_stats_with_counts({_PART}, {_STATISTICS}, float eps, Tensor counts) "
                f"-> {_PAIR_OF_TENSORS}"
            ),
        ),
        (
            "functions.batch_statistics",
            (
                "batch_norm_elemt(Tensor input, Tensor? weight, Tensor? bias, Tensor mean, Tensor invstd, "
                "float eps) -> Tensor"
            ),
        ),
        (
            "functions.batch_statistics",
            (
                f"batch_norm_backward_reduce({_GRADIENT}, bool input_g, bool weight_g, bool bias_g) "
                "-> (Tensor, Tensor, Tensor, Tensor)"
            ),
        ),
        (
            "functions.batch_statistics",
            f"batch_norm_backward_elemt({_GRADIENT}, Tensor sum_dy, Tensor sum_dy_xmu, Tensor count) -> Tensor",
        ),
        (
            "functions.private",
            (
                "slice_inverse(Tensor(a) self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, "
                "SymInt step=1) -> Tensor(a)"
            ),
        ),
        (
            "functions.loss_scale",
            (
                "_amp_update_scale_(Tensor(a!) self, Tensor(b!) growth_tracker, Tensor found_inf, "
                "float scale_growth_factor, float scale_backoff_factor, int growth_interval) -> Tensor(a!)"
            ),
        ),
        (
            "functions.loss_scale",
            (
                "_amp_foreach_non_finite_check_and_unscale_(Tensor(a!)[] self, Tensor(b!) found_inf, "
                "Tensor inv_scale) -> ()"
            ),
        ),
    )
)


# ---- functions of this library that graphs of others name as operators
def _sparse(name: str) -> Callable[..., Any]:
    """The function that builds a sparse tensor, without what says where an operator's memory lies."""

    needs_layout = "compressed" in name  # other functions' names say the layout

    def call(*args: Any, layout: Any = None, pin_memory: Any = None, **options: Any) -> Any:
        options |= {"layout": layout} if needs_layout else {}
        return getattr(tl_core, name)(
            *args, **{key: value for key, value in options.items() if value is not None}
        )

    return call


_TYPE = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False"
_FUNCTIONS = (
    ("functions.private", "_compute_linear_combination(Tensor input, Tensor coefficients) -> Tensor"),
    (
        "functions.private",
        "_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]",
    ),
)
_COMPRESSED = "Tensor {compressed}_indices, Tensor {plain}_indices, Tensor values"
_INDEX_NAMES = {
    "csr": ("crow", "col"),
    "csc": ("ccol", "row"),
    "bsr": ("crow", "col"),
    "bsc": ("ccol", "row"),
}
_INDEX_NAMES |= {"compressed": ("compressed", "plain")}


def _sparse_rows() -> Iterable[tuple[str, Callable[..., Any]]]:
    """The operators that build sparse tensors of their parts."""
    parts = {"coo": ("indices", "Tensor indices, Tensor values")}
    for kind, (compressed, plain) in _INDEX_NAMES.items():
        first = "comp" if kind == "compressed" else compressed
        name = f"{first}_{plain}_value"
        parts[kind] = name, _COMPRESSED.format(compressed=compressed, plain=plain)
    for kind, (overload, tensors) in parts.items():
        build, bits = _sparse(f"sparse_{kind}_tensor"), ", bool? is_coalesced=None" if kind == "coo" else ""
        for suffix, size in (("", ""), ("_size", ", int[] size")):
            schema = f"sparse_{kind}_tensor.{overload}{suffix}({tensors}{size}, *, {_TYPE}{bits}) -> Tensor"
            yield schema, build


add(
    (schema, function(f"{where}.{schema.partition('(')[0].partition('.')[0]}"))
    for where, schema in _FUNCTIONS
)
add(_sparse_rows())
add(
    [
        ("_dimI(Tensor self) -> int", _method("_dimI")),
        ("_dimV(Tensor self) -> int", _method("_dimV")),
    ]
)
