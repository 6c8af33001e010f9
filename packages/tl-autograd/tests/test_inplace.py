"""In-place writes and views."""

import math
import weakref

import pytest

import tl_autograd
import tl_core as tl
from tl_core.functions import nn as nn_functions


def leaf(*values):
    return tl.tensor(values, dtype=tl.float64, requires_grad=True)


def values(t):
    return t.detach().tolist()


def test_in_place_on_an_intermediate():
    x = leaf(1.0, 2.0)
    y = x * 3
    y.mul_(2)
    y.add_(x)
    assert y.grad_fn.name() == "AddBackward0"
    y.sum().backward()
    assert values(x.grad) == [7.0, 7.0]


def test_in_place_saves_what_it_overwrites():
    x, w = leaf(2.0), leaf(5.0)
    y = x * 1.5
    y.mul_(w)
    y.sum().backward()
    assert values(x.grad) == [7.5] and values(w.grad) == [3.0]


def test_in_place_with_itself():
    x = leaf(3.0)
    y = x * 1.0
    y.mul_(y)
    y.backward()
    assert values(x.grad) == [6.0]


def test_in_place_saves_its_result():
    x = leaf(0.5)
    y = x * 2
    y.exp_()
    y.backward()
    assert x.grad.item() == pytest.approx(2 * 2.718281828459045)


def test_second_derivative_through_in_place():
    x = leaf(2.0)
    y = x * x
    y.mul_(x)
    (first,) = tl_autograd.grad(y.sum(), x, create_graph=True)
    (second,) = tl_autograd.grad(first.sum(), x)
    assert first.item() == pytest.approx(12.0) and second.item() == pytest.approx(12.0)


def test_a_tensor_without_grad_takes_part_after_a_write():
    x = leaf(1.0, 2.0)
    b = tl.zeros(2, dtype=tl.float64)
    b.add_(x)
    assert b.requires_grad and not b.is_leaf
    (b * 2).sum().backward()
    assert values(x.grad) == [2.0, 2.0]


def test_leaves_refuse():
    x = leaf(1.0, 2.0)
    for write in (
        lambda: x.add_(1),
        lambda: x.zero_(),
        lambda: x.fill_(3.0),
        lambda: x.copy_(tl.zeros(2, dtype=tl.float64)),
    ):
        with pytest.raises(
            RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"
        ):
            write()
    assert values(x) == [1.0, 2.0]
    with pytest.raises(
        RuntimeError,
        match="a view of a leaf Variable that requires grad is being used in an in-place operation",
    ):
        x[0] = 5.0
    with tl.no_grad():
        x.add_(1)
        x[0] = 5.0
    assert values(x) == [5.0, 3.0]


def test_constants_cut_the_gradient():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.zero_()
    (y + x).sum().backward()
    assert values(x.grad) == [1.0, 1.0]


def test_write_through_a_view_reaches_the_base():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1.0
    y[1:].mul_(10)
    assert y.grad_fn.name() == "CopySlices"
    y.sum().backward()
    assert values(x.grad) == [1.0, 10.0, 10.0]


def test_write_of_a_view_into_a_plain_base():
    x = leaf(7.0)
    b = tl.zeros(3, dtype=tl.float64)
    b[1] = x[0]
    assert b.requires_grad
    (b * tl.tensor([1.0, 2.0, 3.0], dtype=tl.float64)).sum().backward()
    assert values(x.grad) == [2.0]


def test_an_older_view_follows_the_base():
    x = leaf(1.0, 2.0)
    y = x * 1.0
    v = y[0:1]
    y.mul_(5)
    (v * 2).sum().backward()
    assert values(x.grad) == [10.0, 0.0]


def test_an_older_view_follows_another_view():
    x = leaf(3.0)
    b = tl.zeros(4, dtype=tl.float64)
    other = b[1:3]
    b[2:4].copy_(x.expand(2))
    assert other.requires_grad
    other.sum().backward()
    assert values(x.grad) == [1.0]


def test_view_of_a_view():
    x = tl.rand(4, 4, dtype=tl.float64, requires_grad=True)
    y = x * 1.0
    y.t()[1:].select(1, 2).mul_(3)
    y.sum().backward()
    expected = tl.ones(4, 4, dtype=tl.float64)
    expected[2, 1:] = 3
    assert tl.equal(x.grad, expected)


def test_repeated_writes():
    x = leaf(1.0, 1.0, 1.0)
    y = x * 1.0
    for i in range(3):
        y[i].mul_(i + 2)
        y.mul_(2)
    y.sum().backward()
    assert values(x.grad) == [16.0, 24.0, 32.0]


def test_second_derivative_through_a_view_write():
    x = leaf(2.0, 3.0)
    y = x * x
    y[0:1].mul_(x[1:2])
    (first,) = tl_autograd.grad(y.sum(), x, create_graph=True)
    assert values(first) == pytest.approx([12.0, 10.0])
    (second,) = tl_autograd.grad(first.sum(), x)
    assert values(second) == pytest.approx([2 * 3 + 2 * 2, 2 * 2 + 2])


def test_one_of_several_views_refuses():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    first, _ = (x * 1.0).split(2)
    with pytest.raises(
        RuntimeError, match="This view is the output of a function that returns multiple views"
    ):
        first.mul_(2)


def test_writes_change_the_version_of_all_views():
    b = tl.zeros(3)
    v = b[1:]
    before = b._version
    v.add_(1)
    assert b._version == before + 1 == v._version


def test_masked_and_indexed_writes():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1.0
    y[tl.tensor([True, False, True])] = 0.0
    y.sum().backward()
    assert values(x.grad) == [0.0, 1.0, 0.0]


def test_detach_in_place():
    x = leaf(1.0)
    y = x * 2
    y.detach_()
    assert y.is_leaf and not y.requires_grad
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        (x * 2)[0:1].detach_()


def test_retained_gradient_follows_a_write():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    (y * 5).sum().backward()
    assert values(y.grad) == [5.0] and values(x.grad) == [30.0]


def test_foreach_in_place():
    x, y = leaf(1.0), leaf(2.0)
    a, b = x * 1.0, y * 1.0
    tl._foreach_add_([a, b], 1.0)
    (a * b).backward()
    assert values(x.grad) == [3.0] and values(y.grad) == [2.0]


def test_writes_through_real_views_of_complex_tensors():
    x = tl.tensor([1 + 2j, 3 + 4j], dtype=tl.complex128, requires_grad=True)
    w = leaf(5.0, 7.0)
    y = x * 1
    y.real.mul_(w)
    (y.real.sum() + 2 * y.imag.sum()).backward()
    assert values(x.grad) == [5 + 2j, 7 + 2j] and values(w.grad) == [1.0, 3.0]


def test_writes_through_complex_views_of_real_tensors():
    x = tl.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], dtype=tl.float64, requires_grad=True)
    y = x * 1
    tl.view_as_complex(y)[1:].mul_(1j)
    y.sum().backward()
    assert values(x.grad) == [[1.0, 1.0], [1.0, -1.0], [1.0, -1.0]]


UNRECORDED = [
    (tl.no_grad, "no_grad mode", "no_grad block"),
    (tl.inference_mode, "inference mode", "inference_mode block"),
]


@pytest.mark.parametrize(("context", "mode", "block"), UNRECORDED)
def test_views_taken_without_recording(context, mode, block):
    base = leaf(1.0, 2.0).clone()
    with context():
        view = base.view(2, 1)
        assert view.requires_grad and view.is_leaf and view._is_view() and not view.is_inference()
    with pytest.raises(
        RuntimeError, match=f"created in {mode} and is being modified inplace .* inside the {block}"
    ):
        view.add_(1)
    with context():
        first, _ = base.unbind()
    with pytest.raises(RuntimeError, match=f"A view was created in {mode}"):
        first.add_(1)
    base.add_(1)
    for use in (lambda: view.grad_fn, lambda: view.is_leaf, lambda: view * 2):
        with pytest.raises(RuntimeError, match=f"created in {mode} and its base or another view"):
            use()


@pytest.mark.parametrize(("context", "mode", "block"), UNRECORDED)
def test_views_of_views_taken_without_recording(context, mode, block):
    memory = tl.zeros(2)
    with context():
        view = memory.view(2)
    view.requires_grad_()
    with pytest.raises(
        RuntimeError, match=f"a view of a view which was created in {mode} .* inside the {block}"
    ):
        view.view(2).div_(2)


def test_a_view_written_where_nothing_is_recorded():
    base = leaf(1.0, 2.0)
    with tl.no_grad():
        view = base[:]
        view *= 2
    assert repr(view) == "tensor([2., 4.], dtype=torch.float64, grad_fn=<Invalid>)"
    with pytest.raises(RuntimeError, match="created in no_grad mode"):
        view.grad_fn  # noqa: B018 - asked for its error
    base = base.detach()
    assert base[:].grad_fn is None


def test_detached_views_are_none():
    base = leaf(1.0, 2.0).clone()
    with tl.no_grad():
        alone = base[:].detach()
    alone.add_(1)
    assert not alone.requires_grad and alone.grad_fn is None and values(base) == [2.0, 3.0]


def test_views_of_inference_tensors_are_no_views():
    with tl.inference_mode():
        x = tl.ones(2, requires_grad=True)
    view = x.view(2, 1)
    assert view.is_inference() and not view._is_view() and not view.requires_grad and view.is_leaf


def test_views_of_a_call_after_their_base_was_written():
    base = leaf(1.0, 2.0).clone()
    first, _ = base.unbind()
    base.mul_(2)
    with pytest.raises(
        RuntimeError, match=r"its base or another view of its base has been modified inplace\. This view"
    ):
        first * 2


def test_retained_gradients_of_written_views():
    base = leaf(1.0).clone()
    views = [base[:], base[:]]
    for view in views:
        view.retain_grad()
    views[0].mul_(2)
    (views[0] + views[1]).sum().backward()
    assert [values(v.grad) for v in views] == [[1.0], [1.0]]


def test_errors_of_recording_leave_the_arguments_alive():
    """What comes in is borrowed until the call has run."""
    base = leaf(1.0, 2.0).clone()
    first, second = base.unbind()
    for _ in range(50):
        with pytest.raises(RuntimeError, match="multiple views"):
            first.add_(second)
    assert values(first) == 1.0 and values(base) == [1.0, 2.0]


def test_a_leaf_that_is_a_view_refuses_writes():
    message = "a view of a leaf Variable that requires grad"
    weight = tl.arange(6.0).reshape(2, 3).requires_grad_()
    for write in (lambda: weight.mul_(2), lambda: weight[0].mul_(2), lambda: weight.view(-1).zero_()):
        with pytest.raises(RuntimeError, match=message):
            write()
    with tl.no_grad():
        weight[0].zero_()
    (weight * 2).sum().backward()
    assert weight.tolist() == [[0, 0, 0], [3, 4, 5]] and weight.grad.tolist() == [[2, 2, 2]] * 2


def test_writes_to_a_result_whose_kernel_returns_a_view():
    x = tl.ones(3, 4, requires_grad=True)
    result = x.kron(tl.ones(1, 1))
    result.fill_(3.0)
    (result.sum() + x.sum()).backward()
    assert x.grad.tolist() == [[1] * 4] * 3


@pytest.mark.parametrize("writes", ["z", "y z", "z y", "y.squeeze_ z", "z y.squeeze_ y"])
def test_writes_to_a_result_and_to_a_view_of_it(writes):
    """The kernel of `linear` reshapes a product of matrices."""
    x = tl.arange(8.0).reshape(1, 2, 4).requires_grad_()
    weight = tl.ones(3, 4, requires_grad=True)
    y = nn_functions.linear(x, weight)
    z = y.view(-1)
    factor = 1
    for name in writes.split():
        if name == "y.squeeze_":
            y.squeeze_(0)
        else:
            {"y": y, "z": z}[name].mul_(2)
            factor *= 2
    (y.sum() + z.sum()).backward()
    assert x.grad.tolist() == [[[2 * factor * 3] * 4] * 2]
    assert weight.grad.tolist() == [[2 * factor * n for n in (4, 6, 8, 10)]] * 3


def test_a_result_in_parts_of_one_buffer():
    """The parts are views of one temporary tensor; a write to one leaves the history of the other."""
    x = tl.ones(2, 3, 4, requires_grad=True)
    first, second = nn_functions.linear(x, tl.ones(2, 4)).unbind(0)
    with pytest.raises(RuntimeError, match="output of a function that returns multiple views"):
        first.mul_(2)
    (first + 2 * second).sum().backward()
    assert x.grad.tolist() == [[[2] * 4] * 3, [[4] * 4] * 3]


def test_a_leaf_that_is_a_view_is_the_base_of_its_views():
    leaf = tl.ones(4).reshape(2, 2).requires_grad_()
    part = leaf[0].view(-1)
    assert part._base is leaf
    for write in (part.mul_, leaf.mul_):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable that requires grad"):
            write(2)
    part.sum().backward()
    assert leaf.grad.tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize("leaf", [True, False])
def test_a_recorded_tensor_is_not_resized(leaf):
    x = tl.ones(4, requires_grad=True)
    tensor = x if leaf else x * 1
    for resize in (
        lambda: tensor.resize_(2),
        lambda: tensor.resize_as_(tl.ones(2)),
        lambda: tensor[:2].resize_(1),
    ):
        with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
            resize()
    assert tensor.shape == (4,)
    assert tl.ones(2).resize_as_(tensor).shape == tensor.detach().resize_(4).shape


def test_results_whose_gradients_no_derivative_reads_are_constant():
    factors = tl.ones(2, 2, requires_grad=True)
    permutation, lower, upper = tl.lu_unpack(factors * 1, tl.tensor([1, 2], dtype=tl.int32))
    assert not permutation.requires_grad and lower.requires_grad and upper.requires_grad
    permutation.mul_(2)
    (lower + upper).sum().backward()
    assert factors.grad.tolist() == [[1, 1], [1, 1]]


REARRANGED = {
    "pixel_shuffle": lambda x: tl.pixel_shuffle(x, 2),
    "pixel_shuffle by one": lambda x: tl.pixel_shuffle(x, 1),
    "pixel_unshuffle by one": lambda x: tl.pixel_unshuffle(x, 1),
    "channel_shuffle of one group": lambda x: tl.channel_shuffle(x, 1),
    "chain_matmul of one matrix": lambda x: tl.chain_matmul(x[0, :, :, 0]),
    "sum_to_size": lambda x: x.sum().sum_to_size(()),
}


@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")
@pytest.mark.parametrize("name", REARRANGED)
def test_a_result_that_moves_nothing_has_memory_of_its_own(name):
    x = tl.ones(1, 4, 1, 1, requires_grad=True)
    result = REARRANGED[name](x)
    result.mul_(2)
    result.sum().backward()
    assert x.detach().unique().tolist() == [1] and x.grad.unique().tolist() == [2]


def test_a_write_to_the_result_of_erfinv():
    x = tl.tensor([0.1, 0.5], dtype=tl.float64, requires_grad=True)
    result = x.erfinv()
    derivative = math.sqrt(math.pi) / 2 * (result.detach() ** 2).exp()
    result.mul_(2)
    result.sum().backward()
    assert tl.allclose(x.grad, 2 * derivative)


LOSS_WEIGHTS = {
    "cross_entropy_loss": lambda x, target, weight: nn_functions.cross_entropy_loss(x, target, weight),
    "nll_loss": lambda x, target, weight: nn_functions.nll_loss(x.log_softmax(1), target, weight),
}


@pytest.mark.parametrize("name", LOSS_WEIGHTS)
def test_weights_of_classes_have_no_gradient(name):
    x, weight = tl.ones(2, 3, requires_grad=True), tl.ones(3)
    call = LOSS_WEIGHTS[name]
    call(x, tl.tensor([0, 1]), weight).backward()
    with pytest.raises(RuntimeError, match="with respect to weight' is not implemented"):
        call(x, tl.tensor([0, 1]), weight.requires_grad_()).backward()


UNRECORDED_VIEW_CALLS = {
    "product": lambda view: view * 2,
    "list": lambda view: tl.cat([view, tl.ones(1)]),
    "write to a plain tensor": lambda view: tl.ones(3).mul_(view),
    "view of it": lambda view: view.unsqueeze(0),
}


@pytest.mark.parametrize("name", UNRECORDED_VIEW_CALLS)
def test_a_view_taken_without_recording_passes_no_gradient_on(name):
    x = tl.ones(3, 2, requires_grad=True)
    with tl.no_grad():
        view = x.t()[0]
        assert not UNRECORDED_VIEW_CALLS[name](view).requires_grad or name == "view of it"
    result = UNRECORDED_VIEW_CALLS[name](view)
    assert view.requires_grad and result.requires_grad
    (result.sum() + x.sum()).backward()
    result.sum().backward()
    assert x.grad.unique().tolist() == [1] and view.grad is None


def test_a_write_after_cat():
    x = tl.ones(2, requires_grad=True)
    part = x * 3
    joined = tl.cat([part, part])
    part.add_(1)
    (joined * part.repeat(2)).sum().backward()  # 2 (3x)(3x + 1) has the derivative 36x + 6
    assert x.grad.tolist() == [42, 42]


def test_cat_stores_no_input():
    x = tl.ones(1000, requires_grad=True)
    part = x * 3
    joined = tl.cat([part, part])
    reference = weakref.ref(part)
    del part
    assert reference() is None
    joined.sum().backward()
    assert x.grad[0] == 6


def test_conjugation_in_place():
    z = tl.tensor([1 + 2j, 3 - 1j], dtype=tl.complex128, requires_grad=True)
    (z * 1).conj_physical_().imag.sum().backward()
    assert z.grad.tolist() == [-1j, -1j]


def test_shape_changes_of_a_view_leave_its_base():
    x = tl.ones(3, dtype=tl.float64, requires_grad=True)
    base = tl.zeros(3, 3, dtype=tl.float64)
    view = base.view_as(base)
    view.add_(x)
    view.t_()
    weight = tl.arange(9.0, dtype=tl.float64).reshape(3, 3)
    ((base * weight).sum() + 10 * (view * weight).sum()).backward()
    assert x.grad.tolist() == [39, 132, 225]  # sums of columns, and ten times sums of rows


@pytest.mark.parametrize("change", ["squeeze_", "unsqueeze_", "transpose_", "swapaxes_", "t_", "as_strided_"])
def test_a_view_is_written_after_its_shape_changed(change):
    args = {"unsqueeze_": (0,), "transpose_": (0, 1), "swapaxes_": (0, 1), "as_strided_": ((2,), (1,), 1)}
    x = tl.ones(1, 3, dtype=tl.float64, requires_grad=True)
    whole = x * 1
    view = whole[:, 1:]
    getattr(view, change)(*args.get(change, ()))
    view.mul_(2)
    ((view.reshape(-1) * tl.tensor([1.0, 2.0])).sum() + (whole * 3).sum()).backward()
    assert x.grad.tolist() == [[3, 8, 10]]


def test_writes_after_index_put_and_gather():
    x = tl.ones(3, dtype=tl.float64, requires_grad=True)
    values = x[:2] * 1
    result = tl.index_put(x * 1, (tl.tensor([0, 2]),), values)
    values.add_(1)
    (result * values.sum()).sum().backward()
    assert x.grad.tolist() == [7, 11, 0]  # of `values`: 4 + 3 each; of x[1]: 4
    source = x * 1
    taken = source.gather(0, tl.tensor([0, 0]))
    source.add_(1)
    (grad,) = tl_autograd.grad(taken.sum(), x)
    assert grad.tolist() == [2, 0, 0]


def test_a_row_is_written_to_all_rows_of_its_matrix():
    matrix = tl.arange(6.0).reshape(2, 3)
    matrix[...] = matrix[-1]
    assert matrix.tolist() == [[3, 4, 5]] * 2
    matrix[:, :] = matrix[0] + 1
    assert matrix.tolist() == [[4, 5, 6]] * 2
