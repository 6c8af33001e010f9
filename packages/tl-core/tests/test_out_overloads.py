"""Overloads of aten with out tensors that are not forms of rows."""

import itertools
import pickle
import re
import warnings

import pytest

import tl_core as tl
from tl_core.functions import lapack
from tl_core.operators.out_forms import OUT_FORMS
from tl_core.operators.out_overloads import OutOperator
from tl_core.operators.packets import aten
from tl_core.subclasses.python_dispatch import TorchDispatchMode


def operators():
    for name, forms in sorted(OUT_FORMS.items()):
        packet = getattr(aten, name, None)
        for overload in forms if packet is not None else ():
            op = getattr(packet, overload, None)
            if isinstance(op, OutOperator):
                yield op


OPERATORS = list(operators())


def test_schemas_add_the_out_arguments():
    for op in OPERATORS:
        check_schema(op)


def check_schema(op):
    schema, base = op._schema, op.base._schema
    outs = [a for a in schema.arguments if a.is_out]
    options = {"dtype", "layout", "device", "pin_memory"} if op._makes_tensor else set()
    names = [a.name for a in schema.arguments if not a.is_out]
    assert names == [a.name for a in base.arguments if a.name not in options]
    assert outs == schema.arguments[-len(outs) :] and len({a.alias_info for a in outs}) == len(outs)
    assert len(schema.returns) in (0, len(outs)) and schema.is_mutable
    assert op._overloadname in op.overloadpacket.overloads() and op._overloadname in dir(op.overloadpacket)
    assert pickle.loads(pickle.dumps(op)) is op


# ---- the results are those of the operator without out tensors
SHAPES = [(3, 3), (1, 2, 4, 4), (2, 4), (1, 2, 4), (1, 2, 4, 4, 4), (4,), (2, 3, 3)]


def value_of(argument, shape, dtype, number):
    """A value for an argument of a schema; `shape`, `dtype` of tensors, `number` for integers."""
    kind = re.sub(r"\[\d+\]", "[]", argument.real_type.schema_text())
    if argument.has_default_value() and kind not in ("Tensor", "Tensor[]"):
        return argument.real_default
    if kind.endswith("?"):
        return None
    if kind == "Tensor":
        n = tl.Size(shape).numel()
        values = tl.linspace(0.1, 0.9, n, dtype=dtype) if dtype is tl.float64 else tl.arange(n) % 3
        return values.to(dtype).reshape(shape)
    if kind == "Tensor[]":
        return [tl.linspace(0.1, 0.9, 4, dtype=tl.float64), tl.ones(4, dtype=tl.float64)]
    if kind in ("int[]", "SymInt[]"):
        return [number] * (argument.real_type.size or 1)
    if kind in ("Scalar[]", "float[]"):
        return [0.5, 0.25]
    plain = {"int": number, "SymInt": number, "float": 0.5, "Scalar": 1, "bool": True, "str": "sum"}
    return tl.float64 if kind == "ScalarType" else plain.get(kind)


def calls(op):
    """Arguments that the operator without out tensors takes, and its results."""
    arguments = [a for a in op._schema.arguments if not a.is_out]
    for shape, dtype, number in itertools.product(SHAPES, (tl.float64, tl.int64, tl.bool), (1, 2, 0)):
        args = [value_of(a, shape, dtype, number) for a in arguments if not a.kwarg_only]
        kwargs = {a.name: value_of(a, shape, dtype, number) for a in arguments if a.kwarg_only}
        options = {"dtype": tl.float64} if op._makes_tensor else {}
        tl.manual_seed(1)
        try:
            results = op.base(*args, **kwargs, **options)
        except Exception:  # not for these arguments
            continue
        yield args, kwargs, list(results) if isinstance(results, (list, tuple)) else [results]
        return


IMAGE, POINTS = tl.linspace(-1, 1, 32).reshape(1, 2, 4, 4), tl.linspace(-0.9, 0.9, 8).reshape(1, 2, 2, 2)
INDICES = tl.tensor([[[[0, 5], [9, 15]]] * 2])[0].reshape(1, 2, 2, 2)
GRAD = tl.ones(1, 2, 2, 2)
SPARSE, CSR = tl.eye(3).to_sparse(), tl.eye(3).to_sparse_csr()
LOSSES, LABELS, CHANNELS = tl.linspace(0, 1, 6).reshape(2, 3), tl.tensor([0, 2]), tl.ones(2)

# Operators that need operands of their own.
OWN = {
    "_adaptive_avg_pool2d_backward": lambda: (GRAD, IMAGE),
    "_batch_norm_no_update": lambda: (IMAGE, CHANNELS, CHANNELS, CHANNELS, CHANNELS, 0.1, 1e-5),
    "_cholesky_solve_helper": lambda: (tl.ones(2, 2), tl.eye(2), False),
    "_coalesce": lambda: (SPARSE,),
    "_convolution": lambda: (
        *(tl.ones(1, 1, 4), tl.ones(1, 1, 2), None, [1], [0], [1], False, [0], 1),
        *(False, False, False, False),
    ),
    "_embedding_bag": lambda: (tl.eye(3), tl.tensor([0, 2]), tl.tensor([0, 1])),
    "_fft_c2c": lambda: (tl.ones(4, dtype=tl.complex64), [0], 0, True),
    "_fft_c2r": lambda: (tl.ones(3, dtype=tl.complex64), [0], 0, 4),
    "_fft_r2c": lambda: (tl.ones(4), [0], 0, True),
    "_masked_softmax": lambda: (LOSSES, LOSSES > 0.5, 1, 2),
    "_native_batch_norm_legit_no_training": lambda: (
        *(IMAGE, CHANNELS, CHANNELS),
        *(CHANNELS, CHANNELS, 0.1, 1e-5),
    ),
    "_pdist_backward": lambda: (tl.ones(1), LOSSES, 2.0, tl.pdist(LOSSES)),
    "_weight_norm_interface": lambda: (LOSSES, tl.ones(2, 1)),
    "adaptive_max_pool2d_backward": lambda: (GRAD, IMAGE, INDICES),
    "affine_grid_generator": lambda: (tl.ones(1, 2, 3), [1, 1, 2, 2], False),
    "avg_pool2d_backward": lambda: (GRAD, IMAGE, [2, 2], [2, 2], [0, 0], False, True, None),
    "batch_norm_elemt": lambda: (IMAGE, CHANNELS, CHANNELS, CHANNELS, CHANNELS, 1e-5),
    "constant_pad_nd": lambda: (LOSSES, [1, 2]),
    "conv_tbc": lambda: (tl.ones(4, 1, 2), tl.ones(2, 2, 3), tl.ones(3)),
    "convolution": lambda: (tl.ones(1, 1, 4), tl.ones(1, 1, 2), None, [1], [0], [1], False, [0], 1),
    "convolution_backward": lambda: (
        *(tl.ones(1, 1, 3), tl.ones(1, 1, 4), tl.ones(1, 1, 2), [1], [1], [0], [1], False, [0], 1),
        [True, False, True],
    ),
    "diagonal_backward": lambda: (tl.ones(2), [2, 2], 0, 0, 1),
    "embedding": lambda: (tl.eye(3), LABELS),
    "embedding_dense_backward": lambda: (tl.eye(2), LABELS, 3, -1, False),
    "gather": lambda: (tl.eye(3), 0, tl.tensor([[0, 1, 2]])),
    "grid_sampler_2d": lambda: (IMAGE, POINTS, 0, 0, False),
    "grid_sampler_2d_backward": lambda: (GRAD, IMAGE, POINTS, 0, 0, False, [True, True]),
    "index_put": lambda: (LOSSES, [LABELS[:1]], tl.ones(3)),
    "linalg_cond": lambda: (tl.eye(3),),
    "max_pool2d_with_indices_backward": lambda: (GRAD, IMAGE, [2, 2], [2, 2], [0, 0], [1, 1], False, INDICES),
    "multi_margin_loss": lambda: (LOSSES, LABELS),
    "multi_margin_loss_backward": lambda: (tl.tensor(1.0), LOSSES, LABELS, 1, 1),
    "native_layer_norm_backward": lambda: (
        *(LOSSES, LOSSES, [3], tl.ones(2, 1), tl.ones(2, 1), tl.ones(3), tl.ones(3)),
        [True, True, False],
    ),
    "nll_loss": lambda: (LOSSES, LABELS),
    "nll_loss_backward": lambda: (tl.tensor(1.0), LOSSES, LABELS, None, 1, -100, tl.tensor(2.0)),
    "nll_loss_forward": lambda: (LOSSES, LABELS, None, 1, -100),
    "segment_reduce": lambda: (LOSSES, "sum"),
    "select_backward": lambda: (tl.ones(2), [3, 2], 0, 1),
    "slice_backward": lambda: (tl.ones(1, 2), [3, 2], 0, 1, 2, 1),
    "sparse_mask": lambda: (tl.ones(3, 3), SPARSE),
    "sparse_sampled_addmm": lambda: (CSR, tl.ones(3, 3), tl.ones(3, 3)),
    "sspaddmm": lambda: (SPARSE, SPARSE, tl.ones(3, 3)),
    "unfold_backward": lambda: (tl.ones(2, 2), [3], 0, 2, 1),
    "values_copy": lambda: (CSR,),
}
NAMED = {"segment_reduce": {"lengths": tl.tensor([1, 1])}}
WITHOUT_CALL = 72  # operators for which no arguments are found here, at most


def exercised(op):
    """Arguments and the results of the operator without out tensors; None if it needs LAPACK, which is absent."""
    name = op.overloadpacket.__name__
    own = OWN.get(name) if op._overloadname in ("out", "grad_input", "output") else None
    if own is None:
        return next(calls(op), None)
    try:
        results = op.base(*own(), **NAMED.get(name, {}))
    except RuntimeError as error:
        if lapack.library() is None and "LAPACK" in str(error):
            return None
        raise
    return own(), NAMED.get(name, {}), list(results) if isinstance(results, (list, tuple)) else [results]


def same(result, out):
    if result.layout is not tl.strided:
        result, out = result.to_dense(), out.to_dense()
    return out.dtype is result.dtype and tl.allclose(
        out.resolve_conj(), result.resolve_conj(), equal_nan=True
    )


def empty_outs(op, results):
    """Out tensors for results, by the names of the arguments."""
    outs = []
    for r in results:
        dense = r is None or r.layout is tl.strided
        outs.append(tl.empty(0, dtype=tl.float32 if r is None else r.dtype) if dense else r.clone())
    return {op._outs[0]: outs} if op._is_list else dict(zip(op._outs, outs, strict=False))


def check_results(op, args, kwargs, results):
    named = empty_outs(op, results)
    outs = named[op._outs[0]] if op._is_list else list(named.values())
    tl.manual_seed(1)
    returned = op(*args, **kwargs, **named)
    uninitialized = "empty" in op.overloadpacket.__name__
    assert uninitialized or all(r is None or same(r, o) for r, o in zip(results, outs, strict=False)), op
    if op._is_list:
        assert returned is None
    else:
        several = (returned,) if len(op._outs) == 1 else returned
        assert all(a is b for a, b in zip(several, outs, strict=True)), op


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_results_are_those_of_the_functions():
    missed = []
    for op in OPERATORS:
        call = exercised(op)
        if call is None or not all(r is None or isinstance(r, tl.Tensor) for r in call[2]):
            missed.append(str(op))
        else:
            check_results(op, *call)
    if lapack.library() is not None:
        assert len(missed) <= WITHOUT_CALL, sorted(missed)


# ---- checks
X = tl.tensor([[-1.0, 2.0, 3.0], [4.0, -5.0, 6.0]])


def test_equal_dtypes_are_required_where_PyTorch_generates_the_overload():
    for dtype in (tl.float64, tl.int64):
        with pytest.raises(RuntimeError, match="Expected out tensor to have dtype"):
            aten.relu.out(X, out=tl.empty(2, 3, dtype=dtype))


def test_other_overloads_cast():
    out = tl.empty(0, dtype=tl.float64)
    aten.gelu_backward.grad_input(X, X, grad_input=out)
    assert out.dtype is tl.float64 and out.shape == (2, 3)
    with pytest.raises(RuntimeError, match="can't be cast"):
        aten.gelu_backward.grad_input(X, X, grad_input=tl.empty(0, dtype=tl.int64))


def test_out_tensors_keep_their_strides_or_are_resized_with_a_warning():
    transposed = tl.empty(3, 2).t()
    assert aten.relu.out(X, out=transposed) is transposed and transposed.stride() == (1, 2)
    assert tl.equal(transposed, X.relu())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert aten.relu.out(X, out=tl.empty(4)).shape == (2, 3)
        assert aten.relu.out(X, out=tl.empty(0)).shape == (2, 3)
    assert ["was resized" in str(w.message) for w in caught] == [True]


def test_memory_that_is_written_twice_is_refused():
    with pytest.raises(RuntimeError, match="more than one element"):
        aten.relu.out(X, out=tl.empty(1, 1).expand(2, 3))


def test_an_out_tensor_may_be_an_input():
    x = X.clone()
    aten.add.Scalar_out(x, 1, 2, out=x)
    assert tl.equal(x, X + 2)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0)])
def test_scalars_and_empty_tensors(shape):
    x = tl.full(shape, -1.0)
    out = tl.ones(shape)
    assert tl.equal(aten.relu.out(x, out=out), x.relu())


def test_wrong_arguments():
    for call in (
        lambda: aten.relu.out(X),
        lambda: aten.relu.out(X, out=None),
        lambda: aten.relu.out(X, out=3),
        lambda: aten.relu.out(X, X),
        lambda: aten.relu.out(X, out=tl.empty(0), other=1),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(AttributeError):
        print(aten.reshape.out)  # a view has no out tensor


def test_lists():
    outs = [tl.empty(0), tl.empty(2)]
    assert aten._foreach_abs.out([X, X[0, :2]], out=outs) is None
    assert tl.equal(outs[0], X.abs()) and tl.equal(outs[1], X[0, :2].abs())
    with pytest.raises(RuntimeError, match="argument of size 2, got size 1"):
        aten._foreach_abs.out([X, X], out=outs[:1])


def test_factories_take_the_dtype_of_the_out_tensor():
    out = tl.empty(0, dtype=tl.int32)
    assert tl.equal(aten.ones_like.out(X, out=out), tl.ones(2, 3, dtype=tl.int32))
    assert aten.tril_indices.out(2, 2, out=out).dtype is tl.int32


class Seen(TorchDispatchMode):
    def __init__(self):
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def test_handlers_see_the_overload_and_implicit_ones_by_their_parts():
    out, flags = tl.empty(0), tl.empty(0, dtype=tl.bool)
    with Seen() as records:
        aten.relu.out(X, out=out)
        aten.mul.Scalar_out(X, 2, out=out)
        aten.special_erf.out(X, out=out)
        tl.eq(X, 2, out=flags)
    assert records.names[:3] == ["aten.relu.out", "aten.mul.Scalar_out", "aten.erf.out"]


def test_out_forms_of_rows_have_the_names_of_PyTorch():
    out = tl.empty(0)
    assert aten.sigmoid_backward.grad_input(X, X, grad_input=out) is out
    assert aten.lerp.Tensor_out(X, X, X, out=out) is out and aten.xlogy.OutTensor(X, X, out=out) is out
    outs = {"max": tl.empty(0), "max_values": tl.empty(0, dtype=tl.int64)}
    assert aten.max.dim_max(X, 1, **outs)[1].tolist() == [2, 2]
    outs = {"min": tl.empty(0), "min_indices": tl.empty(0, dtype=tl.int64)}
    assert aten.min.dim_min(X, 1, **outs)[1].tolist() == [0, 1]
    assert tl.max(X, 1, out=(out, tl.empty(0, dtype=tl.int64)))[0].tolist() == [3.0, 6.0]
    flags = tl.empty(0, dtype=tl.bool)
    with Seen() as records:
        tl.eq(X, 2, out=flags)
        tl.eq(X, X, out=flags)
        tl.pow(X, 2, out=out)
    assert records.names == ["aten.eq.Scalar_out", "aten.eq.Tensor_out", "aten.pow.Tensor_Scalar_out"]


# ---- functions and methods of Python
TWO_NUMBERS = [
    name
    for name in sorted(tl.special.__all__)
    if {"self_scalar_out", "x_scalar_out"} & set(getattr(aten, f"special_{name}", aten.add).overloads())
]


def test_special_functions_of_a_number_and_a_tensor_take_out():
    assert len(TWO_NUMBERS) >= 14
    x = tl.tensor([1.5, 2.5])
    for name in TWO_NUMBERS:
        function, out = getattr(tl.special, name), tl.empty(2)
        for arguments in ((2.0, x), (x, 2.0)):
            assert function(*arguments, out=out) is out, name
            assert tl.equal(out, function(*arguments)), name


IN_PLACE = [name for name in sorted(dir(tl)) if re.fullmatch(r"[a-z]\w*[a-z0-9]_", name)]


@pytest.mark.parametrize("name", IN_PLACE)
def test_operators_in_place_take_no_out(name):
    x, out = tl.tensor([0.25, 0.5]), tl.zeros(2)
    function = getattr(tl, name)
    for arguments in ((x,), (x, x), (x, 0.5), (x, 0.1, 0.9), (x, [1, 2])):
        with pytest.raises((TypeError, RuntimeError, AttributeError)):
            function(*arguments, out=out)
        if hasattr(x, name):
            with pytest.raises((TypeError, RuntimeError)):
                getattr(x, name)(*arguments[1:], out=out)
    assert out.tolist() == [0, 0]
