"""Each decomposition against the operator, and programs that are taken apart to core operators."""

from __future__ import annotations

import copy
import inspect

import pytest

import tl_core as tl
import tl_nn
from tl_compiler import decompositions, export
from tl_core.operators.packets import aten
from tl_core.operators.public.dimensions import BY_DIMENSIONS
from tl_core.schemas.tags import Tag
from tl_core.testing import assert_close
from tl_nn import functional as F


def floats(*size, dtype=tl.float32):
    return tl.linspace(-3, 3, tl.Size(size).numel()).reshape(size).to(dtype)


def private(name):
    """An operator that programs do not call."""
    return getattr(aten, name).default


X, Y = floats(3, 4), floats(3, 4).flip(0) * 0.7 + 0.1
INT = tl.tensor([[-3, 0, 2], [5, -1, 7]])
SPECIAL = tl.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1.0])
MATRIX, BATCH = floats(4, 5), floats(2, 3, 4)
TARGET = tl.tensor([1, 0, 3])

OF_ONE = (
    "silu mish softplus hardsigmoid hardswish hardshrink softshrink celu elu selu log_sigmoid square "
    "frac deg2rad rad2deg exp2 erfc sinc isposinf isneginf isfinite nan_to_num t squeeze zeros_like "
    "ones_like all max min sgn detach contiguous special_entr tril triu angle"
)
OF_SPECIAL = "isposinf isneginf isfinite nan_to_num sinc special_entr softplus log_sigmoid angle softshrink"
OF_TWO = (
    "silu_backward hardsigmoid_backward hardswish_backward gelu_backward sigmoid_backward "
    "tanh_backward logaddexp logaddexp2 special_xlog1py floor_divide heaviside"
)

CASES = [
    (aten.alias_copy.default, (X,), {}),
    (aten.diagonal_copy.default, (X, 1), {}),
    (aten.expand_copy.default, (X, [2, -1, 4]), {}),
    (aten.split_with_sizes_copy.default, (X, [1, 2]), {}),
    (aten.squeeze_copy.default, (X[:1],), {}),
    (aten.squeeze_copy.dim, (X[:1], 0), {}),
    (aten.squeeze_copy.dims, (X[:1], [0, 1]), {}),
    (aten.t_copy.default, (X,), {}),
    (aten.transpose_copy.int, (X, 0, 1), {}),
    (aten.unfold_copy.default, (X, 1, 2, 1), {}),
    (aten.unsqueeze_copy.default, (X, 0), {}),
    (aten.threshold.default, (X, 0.5, -1.0), {}),
    (aten.threshold_backward.default, (Y, X, 0.0), {}),
    *((getattr(aten, name).default, (X,), {}) for name in OF_ONE.split()),
    *((getattr(aten, name).default, (SPECIAL,), {}) for name in OF_SPECIAL.split()),
    *((getattr(aten, name).default, (Y, X), {}) for name in OF_TWO.split()),
    (aten.silu.default, (X.to(tl.bfloat16),), {}),
    (aten.mish.default, (X.to(tl.float16),), {}),
    (aten.isfinite.default, (INT,), {}),
    (aten.gelu_backward.default, (Y, X), {"approximate": "tanh"}),
    (aten.softplus_backward.default, (Y, X * 10, 2.0, 5.0), {}),
    (aten.softplus.default, (X * 10, 2.0, 5.0), {}),
    (aten.elu.default, (X, 0.5, 1.5, 2.0), {}),
    (aten.hardtanh_backward.default, (Y, X, -1.0, 1.0), {}),
    (private("_prelu_kernel"), (X, tl.tensor([0.25])), {}),
    (aten.softmax.int, (X, -1), {}),
    (aten.softmax.int, (X, 0, tl.float64), {}),
    (aten.log_softmax.int, (X, 1), {}),
    (private("_softmax_backward_data"), (Y, tl.softmax(X, 1), 1, tl.float32), {}),
    (private("_log_softmax_backward_data"), (Y, tl.log_softmax(X, 1), 1, tl.float32), {}),
    (aten.native_dropout_backward.default, (Y, X > 0, 2.0), {}),
    (aten.rsub.Tensor, (X, Y), {"alpha": 2}),
    (aten.addcmul.default, (X, Y, X), {"value": 0.5}),
    (aten.addcdiv.default, (X, Y, X.abs() + 1), {"value": 3}),
    (aten.lerp.Tensor, (X, Y, tl.tensor(0.3)), {}),
    (aten.lerp.Tensor, (X, Y, (X.abs() / 3)), {}),
    (aten.clamp_min.default, (X, 0.5), {}),
    (aten.clamp_max.default, (X, 0.5), {}),
    (aten.masked_fill.Scalar, (X, X > 1, 9.0), {}),
    (aten.masked_fill.Scalar, (INT, INT > 1, 9), {}),
    (aten.nan_to_num.default, (SPECIAL, 1.0, 2.0, 3.0), {}),
    (aten.heaviside.default, (SPECIAL, tl.tensor(0.5)), {}),
    (aten.logit.default, (tl.sigmoid(X),), {}),
    (aten.logit.default, (tl.sigmoid(X), 0.2), {}),
    (aten.xlogy.Tensor, (SPECIAL, SPECIAL.flip(0)), {}),
    (aten.logaddexp.default, (SPECIAL, SPECIAL.flip(0)), {}),
    (aten.std.correction, (X, [1]), {"correction": 1, "keepdim": True}),
    (aten.all.dim, (X > 0, 1), {}),
    (aten.all.dims, (X > -9, [0, 1]), {}),
    (aten.logsumexp.default, (X, [1]), {}),
    (aten.logsumexp.default, (X * 1000, [0, 1], True), {}),
    *((aten.linalg_vector_norm.default, (X, p, [1]), {}) for p in (0, 1, 2, 3.0, float("inf"), -float("inf"))),
    (aten.linalg_vector_norm.default, (X,), {}),
    (aten.linear.default, (BATCH, MATRIX.t(), floats(5)), {}),
    (aten.linear.default, (X, MATRIX.t()), {}),
    (aten.matmul.default, (X, MATRIX), {}),
    (aten.matmul.default, (BATCH, BATCH.transpose(1, 2)), {}),
    (aten.matmul.default, (BATCH.expand(2, 2, 3, 4), BATCH.expand(2, 2, 3, 4).transpose(2, 3)), {}),
    (aten.mv.default, (X, floats(4)), {}),
    (aten.dot.default, (floats(4), floats(4)), {}),
    (aten.addmv.default, (floats(3), X, floats(4)), {"beta": 0.5, "alpha": 2}),
    (aten.baddbmm.default, (floats(2, 3, 3), BATCH, BATCH.transpose(1, 2)), {"beta": 0, "alpha": 2}),
    (aten.scaled_dot_product_attention.default, (BATCH, BATCH, BATCH), {}),
    (aten.scaled_dot_product_attention.default, (BATCH, BATCH, BATCH, None, 0.0, True), {}),
    (aten.scaled_dot_product_attention.default, (BATCH, BATCH, BATCH, floats(3, 3) > 0, 0.0, False), {"scale": 0.5}),
    (aten.conv1d.default, (floats(1, 2, 5), floats(3, 2, 2), floats(3), [2], [1]), {}),
    (aten.conv2d.default, (floats(1, 2, 5, 5), floats(4, 1, 2, 2), None, [1], [0], [2], 2), {}),
    (aten.transpose.int, (BATCH, 0, -1), {}),
    (aten.flatten.using_ints, (BATCH, 1), {}),
    (aten.reshape.default, (BATCH.transpose(0, 1), [6, -1]), {}),
    (aten.split.Tensor, (X, 3, 1), {}),
    (aten.unbind.int, (X, 1), {}),
    (aten.stack.default, ([X, Y], -1), {}),
    (aten.select_backward.default, (X, [2, 3, 4], 0, 1), {}),
    (aten.slice_backward.default, (X, [3, 8], 1, 0, 8, 2), {}),
    (aten.index_select_backward.default, (X, [5, 4], 0, tl.tensor([1, 1, 4])), {}),
    (aten.zeros.default, ([2, 3],), {}),
    (aten.ones.default, ([2],), {"dtype": tl.int32}),
    (aten.new_full.default, (INT, [2], 7), {}),
    (aten.new_zeros.default, (X, [2]), {}),
    (aten.new_ones.default, (X, [0, 2]), {}),
    (aten.arange.default, (5,), {}),
    (aten.arange.start, (2, 5), {"dtype": tl.float32}),
    (aten.eye.default, (3,), {}),
    (aten.eye.m, (2, 3), {"dtype": tl.int64}),
    (aten.tril.default, (BATCH, -1), {}),
    (aten.triu.default, (BATCH, 1), {}),
    (aten.layer_norm.default, (X, [4], floats(4), floats(4)), {}),
    (aten.group_norm.default, (floats(2, 4, 3), 2, floats(4), None), {}),
    (
        aten.batch_norm.default,
        (floats(2, 4, 3), floats(4), floats(4), floats(4), floats(4) ** 2, False, 0.1, 1e-5, False),
        {},
    ),
    (aten.sum.default, (X,), {}),
    (aten.sum.default, (X,), {"dtype": tl.float64}),
    (aten.rms_norm.default, (X, [4], floats(4)), {}),
    (aten.rms_norm.default, (X.to(tl.bfloat16), [4]), {}),
    (aten.max_pool2d.default, (floats(1, 2, 5, 5), [2], [2], [1]), {}),
    (aten.nll_loss_forward.default, (tl.log_softmax(X, 1), TARGET, None, 1, -100), {}),
    (aten.nll_loss_forward.default, (tl.log_softmax(X, 1), TARGET, floats(4).abs(), 2, 0), {}),
    (aten.nll_loss_forward.default, (tl.log_softmax(X, 1), TARGET, floats(4).abs(), 0, 3), {}),
    (aten.cross_entropy_loss.default, (X, TARGET), {}),
    *((aten.mse_loss.default, (X, Y, reduction), {}) for reduction in (0, 1, 2)),
    *((aten.smooth_l1_loss.default, (X, Y, 0, beta), {}) for beta in (0.0, 0.3)),
    (aten.huber_loss.default, (X, Y, 2, 0.3), {}),
]  # fmt: skip


@pytest.mark.parametrize("op, args, kwargs", CASES, ids=lambda x: str(x) if "aten" in str(x) else "")
def test_decompositions_are_the_operators(op, args, kwargs):
    function = decompositions.core_decompositions()[op]
    expected, result = op(*args, **kwargs), function(*args, **kwargs)
    assert result is not NotImplemented
    assert_close(result, expected, equal_nan=True, check_stride=False)


UNTESTED = {
    "aten.lift_fresh.default", "aten.unsafe_split.Tensor", "aten.unsafe_split_with_sizes.default",
    "aten.conv3d.default", "aten.max_pool3d.default", "aten.true_divide.Tensor", "aten.cumsum_backward.default",
    "aten.masked_fill.Tensor", "aten.rand_like.default", "aten.randn_like.default", "aten.dropout.default",
    "aten.empty_like.default", "aten.new_empty.default",
}  # fmt: skip


def test_every_other_decomposition_is_tested():
    tested = {op for op, _, _ in CASES}
    assert {str(op) for op in decompositions.core_decompositions() if op not in tested} == UNTESTED


class Wide(tl_nn.Module):
    """Layers and functions of many families."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = tl_nn.Conv2d(3, 8, 3), tl_nn.BatchNorm2d(8)
        self.linear, self.layer = tl_nn.Linear(8, 4), tl_nn.LayerNorm(4)

    def forward(self, x):
        x = F.adaptive_avg_pool2d(F.silu(self.norm(self.conv(x))), 1).flatten(1)
        x = self.layer(F.gelu(self.linear(x)))
        q = x.unsqueeze(1).unsqueeze(1)
        attended = F.scaled_dot_product_attention(q, q, q, is_causal=True)
        label = tl.zeros(x.shape[0], dtype=tl.int64)
        return (
            tl.softmax(x, -1).std(-1), F.hardswish(x).expand_as(x), tl.stack([x, x]), attended, F.mse_loss(x, x * 2),
            x.split(2, 1)[0], tl.einsum("bi,bi->b", x, x), F.max_pool2d(q, 1), F.cross_entropy(x, label),
            x.reshape(-1), x.t().reshape(x.shape[0], -1), tl.cat([x, x], 0), x.roll(1, 0), x.unflatten(1, (2, 2)),
        )  # fmt: skip


def numbers(default):
    """The numbers of a default; one number stands for each dimension."""
    return {*default} if isinstance(default, (list, tuple)) else {default}


def test_defaults_are_those_of_the_operators():
    count = 0
    for name, function in decompositions.FUNCTIONS.items():
        packet, _, overload = name.partition(".")
        schema = getattr(getattr(aten, packet), overload)._schema
        expected = {argument.name: argument.default_value for argument in schema.arguments}
        for argument, parameter in inspect.signature(function).parameters.items():
            if parameter.default is not parameter.empty:
                assert numbers(parameter.default) == numbers(expected[argument]), (name, argument)
                count += 1
    assert count > 80


@pytest.mark.parametrize("dynamic", [False, True])
def test_programs_are_in_core_operators(dynamic):
    tl.manual_seed(0)
    x, y = tl.randn(4, 3, 8, 8), tl.randn(7 if dynamic else 4, 3, 8, 8)
    sizes = {"x": {0: export.Dim("batch", min=2, max=64)}} if dynamic else None
    full = export.export(Wide().eval(), (x,), dynamic_shapes=sizes)
    parts = full.run_decompositions()
    targets = {n.target for n in parts.graph.nodes if n.op == "call_function"}
    left = {str(t) for t in targets if Tag.core not in getattr(t, "tags", ())}
    assert {t for t in left if not t.startswith("<built-in function")} <= {"aten.sym_size.int"}
    assert_close(parts.module()(y), full.module()(y))


def test_what_is_deleted_from_the_table_stays_whole():
    full = export.export(Wide().eval(), (tl.ones(2, 3, 8, 8),))
    table = export.default_decompositions()
    del table[aten.silu.default]
    targets = {str(n.target) for n in full.run_decompositions(table).graph.nodes}
    assert "aten.silu.default" in targets and "aten.layer_norm.default" not in targets


def test_tables_are_changed_by_names_and_overloads():
    table = {}

    @decompositions.register_decomposition([aten.relu, aten.silu.default], table)
    def mine(x):
        return x

    assert set(table) == {getattr(aten.relu, n) for n in aten.relu.overloads()} | {aten.silu.default}
    decompositions.remove_decompositions(table, [aten.relu])
    assert set(table) == {aten.silu.default}
    assert set(decompositions.get_decompositions([aten.silu, aten.mm.default])) == {aten.silu.default}
    with pytest.raises(AssertionError, match="type must be one of"):
        decompositions.get_decompositions([], type="none")


@pytest.mark.parametrize("training", [False, True])
def test_batch_norm_is_the_core_operator(training):
    module = tl_nn.BatchNorm1d(3).train(training)
    x = tl.rand(4, 3, 5)
    shapes = ({0: export.Dim("b", min=2)},)
    program = export.export(module, (x,), dynamic_shapes=shapes).run_decompositions()
    names = [str(n.target) for n in program.graph.nodes if n.op == "call_function"]
    suffix = "functional" if training else "no_training"
    assert f"aten._native_batch_norm_legit_{suffix}.default" in names
    assert not any(name.startswith(("aten.batch_norm", "aten.native_batch_norm")) for name in names)
    other = copy.deepcopy(module)
    result = program.module()
    for rows in (4, 7):
        x = tl.rand(rows, 3, 5)
        assert tl.allclose(result(x), other(x))
    assert (
        tl.allclose(result.running_mean, other.running_mean)
        and result.num_batches_tracked == other.num_batches_tracked
    )


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("kind", ["AdaptiveAvgPool", "AdaptiveMaxPool", "AvgPool", "MaxPool"])
def test_pools_have_the_names_that_others_know(kind, dims):
    module, x = getattr(tl_nn, f"{kind}{dims}d")(2), floats(1, 2, *[5] * dims)
    program = export.export(module, (x,)).run_decompositions()
    private = {f"aten.{name}.default" for name in BY_DIMENSIONS}
    assert not private & {str(n.target) for n in program.graph.nodes}
    assert program.module()(x).equal(module(x))
