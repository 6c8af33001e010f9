"""Regions in which operators choose their precision."""

from __future__ import annotations

import itertools
import math
import threading

import pytest

import tl_autograd
import tl_core as tl
import tl_nn
import tl_nn.functional as F
from tl_amp import autocast, cpu, cuda, custom_bwd, custom_fwd
from tl_amp.autocast_mode import autocast_decorator
from tl_autograd.checkpoint import checkpoint, set_checkpoint_early_stop
from tl_core.dispatch.autocast import (
    autocast_decrement_nesting,
    autocast_increment_nesting,
    clear_autocast_cache,
    get_autocast_cpu_dtype,
    get_autocast_dtype,
    get_autocast_gpu_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_cpu_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_cpu_dtype,
    set_autocast_cpu_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
    set_autocast_gpu_dtype,
)

HALF, WIDE = tl.bfloat16, tl.float32


def of(dtype, *shape):
    return tl.rand(*shape).to(dtype)


def image(dtype, n):
    return of(dtype, 1, 2, *[4] * n)


def classes():
    return tl.tensor([0, 1, 2])


def first(result):
    return result[0] if isinstance(result, tuple) else result


SQUARE = (3, 3)
ELEMENTWISE_LOSSES = (
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "hinge_embedding_loss",
    "huber_loss",
    "l1_loss",
    "mse_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
)
# Operators by policy; each is called with a type for its inputs.
LOWER = {
    "mm": lambda d: of(d, *SQUARE) @ of(d, *SQUARE),
    "mm, mixed": lambda d: tl.mm(of(d, *SQUARE), of(WIDE, *SQUARE)),
    "matmul with a vector": lambda d: tl.matmul(of(d, *SQUARE), of(d, 3)),
    "bmm": lambda d: tl.bmm(of(d, 2, 3, 3), of(d, 2, 3, 3)),
    "addmm": lambda d: tl.addmm(*(of(d, *SQUARE) for _ in range(3))),
    "addbmm": lambda d: tl.addbmm(of(d, *SQUARE), of(d, 2, 3, 3), of(d, 2, 3, 3)),
    "baddbmm": lambda d: tl.baddbmm(*(of(d, 2, 3, 3) for _ in range(3))),
    "chain_matmul": lambda d: tl.chain_matmul(of(d, *SQUARE), of(d, *SQUARE)),
    "einsum": lambda d: tl.einsum("ij,jk->ik", of(d, *SQUARE), of(d, *SQUARE)),
    "tensordot": lambda d: tl.tensordot(of(d, *SQUARE), of(d, *SQUARE), 1),
    "linear": lambda d: F.linear(of(d, 2, 3), of(d, *SQUARE), of(d, 3)),
    "prelu": lambda d: F.prelu(of(d, *SQUARE), of(d, 1)),
    "attention": lambda d: F.scaled_dot_product_attention(*(of(d, 2, 3, 3) for _ in range(3))),
    **{f"conv{n}d": lambda d, n=n: getattr(F, f"conv{n}d")(image(d, n), of(d, 2, 2, *[3] * n)) for n in (1, 2, 3)},
    **{
        f"conv_transpose{n}d": lambda d, n=n: getattr(F, f"conv_transpose{n}d")(image(d, n), of(d, 2, 2, *[3] * n))
        for n in (1, 2, 3)
    },
    "LSTM": lambda d: tl_nn.LSTM(4, 5, dtype=d)(of(d, 3, 2, 4))[0],
    "RNN": lambda d: tl_nn.RNN(4, 5, dtype=d)(of(d, 3, 2, 4))[0],
    "RNNCell": lambda d: tl_nn.RNNCell(4, 5, dtype=d)(of(d, 2, 4)),
    "MultiheadAttention": lambda d: tl_nn.MultiheadAttention(4, 2, dtype=d)(*[of(d, 3, 2, 4)] * 3)[0],
}  # fmt: skip
FLOAT32 = {
    **{
        name: lambda d, name=name: getattr(F, name)(of(d, *SQUARE), of(d, *SQUARE))
        for name in ELEMENTWISE_LOSSES
    },
    "kl_div": lambda d: F.kl_div(of(d, *SQUARE), of(d, *SQUARE), reduction="sum"),
    "cosine_embedding_loss": lambda d: F.cosine_embedding_loss(of(d, *SQUARE), of(d, *SQUARE), tl.ones(3)),
    "margin_ranking_loss": lambda d: F.margin_ranking_loss(of(d, 3), of(d, 3), tl.ones(3)),
    "triplet_margin_loss": lambda d: F.triplet_margin_loss(*(of(d, *SQUARE) for _ in range(3))),
    "multi_margin_loss": lambda d: F.multi_margin_loss(of(d, *SQUARE), classes()),
    "multilabel_margin_loss": lambda d: F.multilabel_margin_loss(of(d, *SQUARE), tl.zeros(3, 3, dtype=tl.int64)),
    "nll_loss": lambda d: F.nll_loss(of(d, *SQUARE), classes()),
    "cross_entropy": lambda d: F.cross_entropy(of(d, *SQUARE), classes()),
    "cross_entropy of probabilities": lambda d: F.cross_entropy(of(d, *SQUARE), of(d, *SQUARE)),
    "ctc_loss": lambda d: F.ctc_loss(
        of(d, 5, 1, 3).log_softmax(2), tl.tensor([[1]]), tl.tensor([5]), tl.tensor([1])
    ),
    "cdist": lambda d: tl.cdist(of(d, *SQUARE), of(d, *SQUARE)),
    "prod": lambda d: of(d, 3).prod(),
    "prod along a dimension": lambda d: of(d, *SQUARE).prod(0),
    "trace": lambda d: of(d, *SQUARE).trace(),
    "quantile": lambda d: of(d, 3).quantile(0.5),
    "grid_sample": lambda d: F.grid_sample(image(d, 2), of(d, 1, 3, 3, 2), align_corners=False),
    "avg_pool3d": lambda d: F.avg_pool3d(image(d, 3), 2),
    "max_pool3d": lambda d: F.max_pool3d(image(d, 3), 2),
    "adaptive_avg_pool3d": lambda d: F.adaptive_avg_pool3d(image(d, 3), 2),
    "adaptive_max_pool3d": lambda d: F.adaptive_max_pool3d(image(d, 3), 2),
    "max_unpool2d": lambda d: F.max_unpool2d(*F.max_pool2d(image(d, 2), 2, return_indices=True), 2),
    "pad by reflection": lambda d: F.pad(image(d, 2), [1] * 4, mode="reflect"),
    "pad by replication": lambda d: F.pad(image(d, 3), [1] * 6, mode="replicate"),
    "qr": lambda d: tl.linalg.qr(of(d, *SQUARE))[0],
    "solve": lambda d: tl.linalg.solve(of(d, *SQUARE) + tl.eye(3), of(d, *SQUARE)),
}  # fmt: skip
OWN = {
    "add": lambda d: of(d, 3) + 1,
    "exp": lambda d: of(d, 3).exp(),
    "sum": lambda d: of(d, 3).sum(),
    "softmax": lambda d: of(d, 3).softmax(0),
    "mv": lambda d: tl.mv(of(d, *SQUARE), of(d, 3)),
    "bilinear": lambda d: F.bilinear(of(d, 2, 3), of(d, 2, 3), of(d, 4, 3, 3)),
    "layer_norm": lambda d: F.layer_norm(of(d, *SQUARE), (3,)),
    "avg_pool2d": lambda d: F.avg_pool2d(image(d, 2), 2),
    "pad by a constant": lambda d: F.pad(image(d, 2), [1] * 4),
    "addmm_": lambda d: of(d, *SQUARE).addmm_(of(d, *SQUARE), of(d, *SQUARE)),
    "mm with out": lambda d: tl.mm(of(d, *SQUARE), of(d, *SQUARE), out=tl.empty(3, 3, dtype=d)),
    "prod with a type": lambda d: of(d, 3).prod(dtype=d),
    "GRU": lambda d: tl_nn.GRU(4, 5, dtype=d)(of(d, 3, 2, 4))[0],
    "GRUCell": lambda d: tl_nn.GRUCell(4, 5, dtype=d)(of(d, 2, 4)),
    "LSTMCell": lambda d: tl_nn.LSTMCell(4, 5, dtype=d)(of(d, 2, 4))[0],
    "cat": lambda d: tl.cat([of(d, 3), of(d, 3)]),
    "stack": lambda d: tl.stack([of(d, 3), of(d, 3)]),
    "index_copy": lambda d: of(d, 3).index_copy(0, tl.tensor([0]), of(d, 1)),
}
WIDEST = {
    "cat": lambda d: tl.cat([of(d, 3), of(WIDE, 3)]),
    "stack": lambda d: tl.stack([of(d, 3), of(WIDE, 3)]),
    "index_copy": lambda d: of(d, 3).index_copy(0, tl.tensor([0]), of(WIDE, 1)),
    "GRUCell": lambda d: tl_nn.GRUCell(4, 5)(of(d, 2, 4)),
}


@pytest.mark.parametrize("given", [WIDE, HALF])
@pytest.mark.parametrize("name", LOWER)
def test_operators_that_take_the_lower_type(name, given):
    with autocast("cpu"):
        assert first(LOWER[name](given)).dtype == HALF
    with autocast("cpu", dtype=tl.float16):
        assert first(LOWER[name](given)).dtype == tl.float16


@pytest.mark.parametrize("given", [WIDE, HALF])
@pytest.mark.parametrize("name", FLOAT32)
def test_operators_that_take_float32(name, given):
    with autocast("cpu"):
        assert first(FLOAT32[name](given)).dtype == WIDE


@pytest.mark.parametrize("given", [WIDE, HALF, tl.float64])
@pytest.mark.parametrize("name", OWN)
def test_operators_that_take_the_type_of_their_inputs(name, given):
    with autocast("cpu"):
        assert first(OWN[name](given)).dtype == given


@pytest.mark.parametrize("given", [WIDE, HALF])
@pytest.mark.parametrize("name", WIDEST)
def test_operators_that_take_the_widest_type(name, given):
    with autocast("cpu"):
        assert first(WIDEST[name](given)).dtype == WIDE


def test_types_that_are_left_as_they_are():
    with autocast("cpu"):
        assert (of(tl.float64, 3, 3) @ of(tl.float64, 3, 3)).dtype == tl.float64
        assert F.mse_loss(of(tl.float64, 3), of(tl.float64, 3)).dtype == tl.float64
        assert (tl.ones(2, 2, dtype=tl.int64) @ tl.ones(2, 2, dtype=tl.int64)).dtype == tl.int64
        assert tl.cat([of(HALF, 1), of(tl.float64, 1)]).dtype == tl.float64
        assert tl.view_as_complex(of(HALF, 3, 2)).dtype == tl.complex64
        with pytest.raises(RuntimeError, match="same dtype"):
            tl.mm(of(tl.float64, 3, 3), of(WIDE, 3, 3))


def test_results_are_those_of_converted_inputs():
    a, b = tl.randn(5, 7), tl.randn(7, 3)
    expected = a.bfloat16() @ b.bfloat16()
    with autocast("cpu"):
        assert tl.equal(a @ b, expected)
        loss = F.mse_loss(expected, tl.zeros(5, 3))
    assert tl.equal(loss, F.mse_loss(expected.float(), tl.zeros(5, 3)))


def test_gradients_have_the_types_of_what_they_belong_to():
    model = tl_nn.Sequential(tl_nn.Linear(4, 8), tl_nn.ReLU(), tl_nn.Linear(8, 3))
    x, y = tl.randn(6, 4), tl.tensor([0, 1, 2, 0, 1, 2])
    with autocast("cpu"):
        output = model(x)
        loss = F.cross_entropy(output, y)
    assert output.dtype == HALF and loss.dtype == WIDE
    loss.backward()
    result = [p.grad.clone() for p in model.parameters()]
    assert all(g.dtype == WIDE for g in result)
    model.zero_grad()
    w = [p.detach().bfloat16().requires_grad_() for p in model.parameters()]
    by_hand = F.linear(F.relu(F.linear(x.bfloat16(), w[0], w[1])), w[2], w[3])
    F.cross_entropy(by_hand.float(), y).backward()
    for gradient, parameter in zip(result, w, strict=True):
        assert tl.equal(gradient, parameter.grad.float())


def test_regions_within_one_another():
    a = tl.ones(2, 2)
    with autocast("cpu"):
        with autocast("cpu", enabled=False):
            assert not is_autocast_enabled("cpu") and (a @ a).dtype == WIDE
        with autocast("cpu", dtype=tl.float16):
            assert get_autocast_dtype("cpu") == tl.float16 and (a @ a).dtype == tl.float16
        assert is_autocast_enabled("cpu") and get_autocast_dtype("cpu") == HALF and (a @ a).dtype == HALF
    assert not is_autocast_enabled("cpu") and (a @ a).dtype == WIDE


def test_a_region_ends_with_an_error():
    with pytest.raises(KeyError), autocast("cpu"):
        raise KeyError
    assert not is_autocast_enabled("cpu")


def test_a_decorated_function_that_calls_itself():
    @autocast("cpu")
    def down(n):
        """Counts."""
        return down(n - 1) if n else (tl.ones(1, 1) @ tl.ones(1, 1)).dtype

    assert down(3) == HALF and down.__doc__ == "Counts." and not is_autocast_enabled("cpu")


def test_a_region_belongs_to_its_thread():
    records = []
    with autocast("cpu"):
        thread = threading.Thread(target=lambda: records.append(is_autocast_enabled("cpu")))
        thread.start()
        thread.join()
    assert records == [False]


def test_a_decorated_function_in_several_threads():
    inside, leave = threading.Barrier(2), threading.Barrier(2)
    types = {}

    @autocast("cpu")
    def product():
        inside.wait()
        leave.wait()
        return (tl.ones(1, 1) @ tl.ones(1, 1)).dtype

    def run(name, on):
        set_autocast_enabled("cpu", on)
        types[name] = product(), is_autocast_enabled("cpu")

    threads = [
        threading.Thread(target=run, args=("first", True)),
        threading.Thread(target=run, args=("second", False)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert types == {"first": (HALF, True), "second": (HALF, False)}


def conversion(weight):
    """The graph's node of the converted weight in a product."""
    product = tl.ones(2, 2) @ weight
    return next(node for node, _ in product.grad_fn.next_functions if node is not None)


def test_parameters_are_converted_once_a_region():
    weight = tl_nn.Parameter(tl.ones(2, 2))
    with autocast("cpu"):
        node = conversion(weight)
        assert conversion(weight) is node
        with autocast("cpu"):
            assert conversion(weight) is node
        clear_autocast_cache()
        assert conversion(weight) is not node
    with autocast("cpu"):
        assert conversion(weight) is not node
    with autocast("cpu", cache_enabled=False):
        assert not is_autocast_cache_enabled() and conversion(weight) is not conversion(weight)
    assert is_autocast_cache_enabled()


def test_a_parameter_that_changes_is_converted_again():
    weight = tl_nn.Parameter(tl.ones(2, 2))
    with autocast("cpu"):
        tl.ones(1, 2) @ weight
        with tl.no_grad():
            weight.mul_(2)
        assert (tl.ones(1, 2) @ weight).tolist() == [[4, 4]]


def test_what_was_converted_without_gradients_is_not_used_with_them():
    weight = tl_nn.Parameter(tl.ones(2, 2))
    with autocast("cpu"):
        with tl.no_grad():
            assert not (tl.ones(1, 2) @ weight).requires_grad
        (tl.ones(1, 2) @ weight).float().sum().backward()
    assert weight.grad.tolist() == [[1, 1], [1, 1]]


def test_several_backward_passes_in_a_region():
    weight = tl_nn.Parameter(tl.ones(2, 2))
    with autocast("cpu"):
        for _ in range(2):
            (tl.ones(1, 2) @ weight).float().sum().backward()
    assert weight.grad.tolist() == [[2, 2], [2, 2]]


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_a_checkpoint_runs_again_as_it_ran_in_the_region(use_reentrant):
    model, types = tl_nn.Linear(4, 4), []

    def forward(x):
        output = model(x)
        types.append(output.dtype)
        return output

    x = tl.randn(2, 4, requires_grad=True)
    with autocast("cpu"), set_checkpoint_early_stop(False):
        output = checkpoint(forward, x, use_reentrant=use_reentrant)
    output.float().sum().backward()
    assert types == [HALF, HALF] and not is_autocast_enabled("cpu")


def test_tensors_that_are_no_parameters_are_not_kept():
    x = tl.ones(2, 2, requires_grad=True)
    with autocast("cpu"):
        nodes = [(x @ x).grad_fn.next_functions[0][0] for _ in range(2)]
    assert nodes[0] is not nodes[1]


def test_the_state_by_hand():
    try:
        set_autocast_enabled("cpu", True)
        set_autocast_dtype("cpu", tl.float16)
        assert autocast_increment_nesting() == 1
        assert (tl.ones(1, 1) @ tl.ones(1, 1)).dtype == tl.float16
        assert autocast_decrement_nesting() == 0
        set_autocast_cache_enabled(False)
        assert not is_autocast_cache_enabled()
    finally:
        set_autocast_cache_enabled(True)
        set_autocast_dtype("cpu", HALF)
        set_autocast_enabled("cpu", False)
    set_autocast_enabled(True)
    assert is_autocast_enabled() and is_autocast_enabled("cuda")
    set_autocast_enabled(False)
    with pytest.raises(TypeError, match="'enabled'"):
        set_autocast_enabled("cpu")


def test_the_old_names_of_the_state():
    with pytest.warns(DeprecationWarning, match="get_autocast_dtype\\('cpu'\\)"):
        assert get_autocast_cpu_dtype() == HALF
    with pytest.warns(DeprecationWarning, match="get_autocast_dtype\\('cuda'\\)"):
        assert get_autocast_gpu_dtype() == tl.float16
    with pytest.warns(DeprecationWarning, match="is_autocast_enabled"):
        assert not is_autocast_cpu_enabled()
    with pytest.warns(DeprecationWarning, match="set_autocast_enabled"):
        set_autocast_cpu_enabled(False)
    with pytest.warns(DeprecationWarning, match="set_autocast_dtype\\('cpu'"):
        set_autocast_cpu_dtype(HALF)
    with pytest.warns(DeprecationWarning, match="set_autocast_dtype\\('cuda'"):
        set_autocast_gpu_dtype(tl.float16)


def test_a_region_that_is_switched_off():
    with autocast("cpu", enabled=False) as region:
        assert (tl.ones(1, 1) @ tl.ones(1, 1)).dtype == tl.float32
    assert not region.enabled and region.fast_dtype == tl.bfloat16 and region.device == "cpu"

    @autocast("cpu", enabled=False)
    def double(x, times=2):
        """Doubles."""
        return x * times

    assert double(3, times=3) == 9 and double.__name__ == "double"


def test_a_device_that_is_not_there():
    with pytest.warns(UserWarning, match="'cuda' is not available"):
        region = autocast("cuda")
    with region:
        assert not region.enabled and region.fast_dtype == tl.float16
    with pytest.warns(FutureWarning, match="deprecated"):
        cuda.autocast(enabled=False)
    with pytest.warns(FutureWarning, match="deprecated"):
        cpu.autocast(enabled=False)


def test_types_that_are_not_lower():
    with pytest.warns(UserWarning, match="torch.float64 is not a type for cpu"):
        assert not autocast("cpu", dtype=tl.float64).enabled
    assert not autocast("cpu", dtype=tl.float32).enabled


def test_what_is_refused():
    with pytest.raises(ValueError, match="must be a str, got int"):
        autocast(3)
    with pytest.raises(RuntimeError, match="'meta'"):
        autocast("meta")
    with pytest.raises(ValueError, match="must be a str, got int"):
        custom_fwd(lambda ctx: None, device_type=3)
    with pytest.raises(RuntimeError, match="does not know the device type 'meta'"):
        get_autocast_dtype("meta")
    with pytest.raises(RuntimeError, match="meta"):
        is_autocast_enabled("meta")
    assert [is_autocast_available(kind) for kind in ("cpu", "cuda", "meta")] == [True, True, False]


def square(seen, **options):
    """A function that notes the types it sees, and whether a region is around."""

    class Square(tl_autograd.Function):
        @staticmethod
        @custom_fwd(device_type="cpu", **options)
        def forward(ctx, x):
            seen.append((x.dtype, is_autocast_enabled("cpu")))
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @custom_bwd(device_type="cpu")
        def backward(ctx, gradient):
            seen.append((gradient.dtype, is_autocast_enabled("cpu")))
            (x,) = ctx.saved_tensors
            return 2 * x * gradient

    return Square.apply


def test_functions_outside_of_a_region():
    records = []
    x = tl.tensor([3.0], requires_grad=True)
    square(records)(x).backward()
    assert x.grad.tolist() == [6] and records == [(WIDE, False)] * 2


def test_functions_in_a_region():
    records = []
    x = tl.tensor([3.0], requires_grad=True)
    with autocast("cpu"):
        y = square(records)(x)
    y.backward()
    assert records == [(WIDE, True)] * 2


def test_functions_that_convert_their_inputs():
    records = []
    x = tl.tensor([3.0], dtype=HALF, requires_grad=True)
    with autocast("cpu"):
        y = square(records, cast_inputs=WIDE)(x)
    y.backward()
    assert y.dtype == WIDE and records == [(WIDE, False)] * 2 and x.grad.tolist() == [6]


def test_types_by_default():
    assert get_autocast_dtype("cpu") is tl.bfloat16 and get_autocast_dtype("cuda") is tl.float16


def test_a_region_as_a_function():
    region = autocast("cpu")
    inside = autocast_decorator(
        region, lambda: get_autocast_dtype("cpu") if is_autocast_enabled("cpu") else None
    )
    assert inside() is tl.bfloat16 and not is_autocast_enabled("cpu")


def products(equation, a, b):
    """The elements of an einsum of two tensors, term by term."""
    first, second, letters = equation.replace("->", ",").split(",")
    sizes = dict(zip(first + second, (*a.shape, *b.shape), strict=True))
    summed = [letter for letter in sizes if letter not in letters]

    def term(at):
        return a[tuple(at[i] for i in first)].item() * b[tuple(at[i] for i in second)].item()

    def positions(names):
        for numbers in itertools.product(*(range(sizes[i]) for i in names)):
            yield dict(zip(names, numbers, strict=True))

    return [sum(term({**at, **inner}) for inner in positions(summed)) for at in positions(letters)]


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("i,j->ij", ((3,), (4,))),
        ("ij,j->i", ((2, 1), (1,))),
        ("bd,bs->bsd", ((2, 3), (2, 4))),
        ("bij,bjk->bik", ((2, 3, 1), (2, 1, 4))),
    ],
)
def test_products_without_a_sum_retain_their_type(equation, shapes):
    a, b = (tl.arange(1.0, 1 + math.prod(s)).reshape(s) for s in shapes)
    expected = products(equation, a, b)
    with autocast("cpu", dtype=tl.bfloat16):
        for other in (b, b.bfloat16()):
            result = tl.einsum(equation, a, other)
            assert result.dtype is tl.float32 and result.flatten().tolist() == expected
        assert tl.einsum(equation, a.bfloat16(), b.bfloat16()).dtype is tl.bfloat16
        assert tl.einsum("i,i->", tl.ones(3), tl.ones(3)).dtype is tl.bfloat16
        assert tl.inner(tl.ones(3), tl.ones(3)).dtype is tl.float32
