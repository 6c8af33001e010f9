"""Gradients of programs against closed forms, and what backward and grad accept."""

import math
import threading

import pytest

import tl_autograd
import tl_core as tl
from tl_core.compat.zero_tensor import ZeroTensor


def leaf(*values, dtype=tl.float64):
    return tl.tensor(values, dtype=dtype, requires_grad=True)


def close(a, b):
    return tl.allclose(a, tl.tensor(b, dtype=a.dtype))


def test_backward_accumulates_into_leaves():
    x = leaf(1.0, 2.0, 3.0)
    (x * x).sum().backward()
    assert close(x.grad, [2.0, 4.0, 6.0])
    (x * 3).sum().backward()
    assert close(x.grad, [5.0, 7.0, 9.0])
    assert not x.grad.requires_grad


def test_both_operands_of_one_operator_may_be_the_same_leaf():
    x = leaf(2.0)
    (x + x).backward()
    assert close(x.grad, [2.0])


def test_two_leaves_do_not_share_their_gradient():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x + y).sum().backward()
    x.grad.zero_()
    assert close(y.grad, [1.0, 1.0])


@pytest.mark.parametrize("gradient", [[tl.tensor(3.0)], (tl.tensor(3.0),), tl.tensor(3.0)])
def test_the_gradient_of_one_tensor_may_be_a_sequence_of_one(gradient):
    x = tl.ones(2, requires_grad=True)
    x.sum().backward(gradient)
    assert x.grad.tolist() == [3.0, 3.0]
    x.sum().backward([None])
    assert x.grad.tolist() == [4.0, 4.0]
    for wrong in ([], [tl.tensor(1.0)] * 2):
        with pytest.raises(RuntimeError, match=f"got 1 tensors and {len(wrong)} gradients"):
            x.sum().backward(wrong)


def test_broadcast_operands_get_gradients_of_their_own_shape():
    x = tl.ones(3, 1, dtype=tl.float64, requires_grad=True)
    y = tl.ones(4, dtype=tl.float64, requires_grad=True)
    z = tl.tensor(2.0, dtype=tl.float64, requires_grad=True)
    (x * y * z).sum().backward()
    assert x.grad.shape == (3, 1) and close(x.grad, [[8.0]] * 3)
    assert y.grad.shape == (4,) and close(y.grad, [6.0] * 4)
    assert z.grad.shape == () and z.grad.item() == 12.0


def test_promoted_operands_get_gradients_of_their_own_dtype():
    x = leaf(1.0, 2.0, dtype=tl.float32)
    y = leaf(3.0, 4.0)
    (x * y).sum().backward()
    assert x.grad.dtype == tl.float32 and y.grad.dtype == tl.float64


def test_real_input_of_a_complex_result_gets_a_real_gradient():
    x = leaf(1.0, 2.0)
    w = tl.tensor([1 + 2j, 3 - 1j], dtype=tl.complex128)
    y = x * w
    y.backward(tl.ones(2, dtype=tl.complex128))
    assert x.grad.dtype == tl.float64 and close(x.grad, [1.0, 3.0])


def test_chain_of_functions():
    x = leaf(0.5)
    y = (x.exp() * x.sin() + x.log() / x).sum()
    y.backward()
    v = 0.5
    expected = math.exp(v) * (math.sin(v) + math.cos(v)) + (1 - math.log(v)) / v**2
    assert x.grad.item() == pytest.approx(expected)


def test_gradient_of_a_gradient():
    x = leaf(2.0)
    (first,) = tl_autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = tl_autograd.grad(first.sum(), x, create_graph=True)
    (third,) = tl_autograd.grad(second.sum(), x)
    assert (first.item(), second.item(), third.item()) == pytest.approx((12.0, 12.0, 6.0))


def test_gradient_of_a_gradient_through_a_saved_result():
    x = leaf(0.3)
    (first,) = tl_autograd.grad(x.exp().sum(), x, create_graph=True)
    first.sum().backward()
    assert x.grad.item() == pytest.approx(math.exp(0.3))


def test_grad_leaves_other_leaves_alone_and_prunes():
    x, y = leaf(1.0), leaf(2.0)
    calls = []
    branch = y * 2
    branch.register_hook(lambda g: calls.append(g))
    (gx,) = tl_autograd.grad((x * 3 + branch).sum(), x)
    assert gx.item() == 3.0 and x.grad is None and y.grad is None and calls == []


def test_grad_of_an_intermediate():
    x = leaf(2.0)
    y = x * x
    z = y * y
    gy, gx = tl_autograd.grad(z.sum(), (y, x))
    assert gy.item() == 8.0 and gx.item() == 32.0


def test_unused_inputs():
    x, y = leaf(1.0), leaf(1.0)
    out = (x * 2).sum()
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        tl_autograd.grad(out, (x, y), retain_graph=True)
    assert tl_autograd.grad(out, (x, y), allow_unused=True, retain_graph=True)[1] is None
    for recorded in (True, False):
        zero = tl_autograd.grad(out, (x, y), materialize_grads=True, create_graph=recorded)[1]
        assert zero.item() == 0.0 and zero.requires_grad is recorded


def test_backward_into_chosen_inputs():
    x, y = leaf(1.0), leaf(5.0)
    (x * y).backward(inputs=[x])
    assert x.grad.item() == 5.0 and y.grad is None


def test_backward_into_an_intermediate_fills_its_grad():
    x = leaf(1.0)
    y = x * 3
    (y * y).backward(inputs=(y,))
    assert y.grad.item() == 6.0 and x.grad is None


def test_second_backward_needs_retain_graph():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_errors_name_what_is_wrong():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        (x * 2).backward()
    with pytest.raises(
        RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"
    ):
        tl.ones(1).backward()
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        (x * 2).backward(tl.ones(3, dtype=tl.float64))
    with pytest.raises(RuntimeError, match="One of the differentiated Tensors does not require grad"):
        tl_autograd.grad(x.sum(), tl.ones(1))
    with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype"):
        tl.tensor([1, 2], requires_grad=True)
    with pytest.raises(RuntimeError, match="cannot be empty"):
        tl_autograd.backward(x.sum(), inputs=[])
    with pytest.raises(RuntimeError, match="needs grad_outputs"):
        tl_autograd.grad(x.sum(), x, is_grads_batched=True)


def test_out_refuses_to_be_recorded():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match=r"out=... arguments don't support automatic differentiation"):
        tl.add(x, x, out=tl.empty(1, dtype=tl.float64))


@pytest.mark.parametrize(
    ("name", "args", "dtype", "expected"),
    [
        ("eq", (1.0,), "bool", [False, True, False]),
        ("lt", (1.0,), "float32", [1.0, 0.0, 0.0]),
        ("isposinf", (), "bool", [False, False, False]),
        ("signbit", (), "bool", [True, False, False]),
        ("argmax", (0,), "int64", 2),
        ("all", (), "bool", True),
    ],
)
def test_out_takes_results_that_have_no_gradient(name, args, dtype, expected):
    x = leaf(-1.0, 1.0, 2.0)
    for function in (getattr(tl, name), getattr(tl.ops.aten, name)):
        out = tl.empty(0, dtype=getattr(tl, dtype))
        assert function(x, *args, out=out) is out
        assert out.tolist() == expected and not out.requires_grad
    if dtype == "float32":
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            function(x, *args, out=out.requires_grad_())


def test_several_results():
    x = leaf(3.0, 1.0, 2.0)
    values, indices = x.topk(2)
    assert not indices.requires_grad
    (values * tl.tensor([1.0, 10.0], dtype=tl.float64)).sum().backward()
    assert close(x.grad, [1.0, 0.0, 10.0])


def test_one_of_several_results_is_enough():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    _, second = x.split(2)
    (second * 5).sum().backward()
    assert close(x.grad, [0.0, 0.0, 5.0, 5.0])


def test_many_results():
    x = tl.ones(40, 2, dtype=tl.float64, requires_grad=True)
    rows = x.unbind(0)
    assert rows[33].output_nr == 33
    (rows[33] * 7).sum().backward()
    assert x.grad[33].tolist() == [7.0, 7.0] and x.grad.sum().item() == 14.0


def test_tensor_lists():
    x, y = leaf(1.0, 2.0), leaf(3.0)
    (tl.cat([x, y, x]) * tl.tensor([1.0, 2.0, 3.0, 4.0, 5.0], dtype=tl.float64)).sum().backward()
    assert close(x.grad, [5.0, 7.0]) and close(y.grad, [3.0])
    z = leaf(1.0, 2.0)
    (tl.stack([z, z], 1) * tl.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=tl.float64)).sum().backward()
    assert close(z.grad, [3.0, 7.0])


def test_matrix_product():
    a = tl.rand(3, 4, dtype=tl.float64, requires_grad=True)
    b = tl.rand(4, 2, dtype=tl.float64, requires_grad=True)
    (a @ b).sum().backward()
    assert tl.allclose(a.grad, b.detach().sum(1).expand(3, 4)) and tl.allclose(
        b.grad, a.detach().sum(0).unsqueeze(1).expand(4, 2)
    )


def test_no_grad_and_enable_grad():
    x = leaf(1.0)
    with tl.no_grad():
        assert not (x * 2).requires_grad
        with tl.enable_grad():
            assert (x * 2).requires_grad
    assert (x * 2).requires_grad
    assert not x.detach().requires_grad
    assert not (x > 0).requires_grad


def test_inference_tensors_are_not_saved():
    x = leaf(1.0)
    with tl.inference_mode():
        w = tl.ones(1, dtype=tl.float64) * 2
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * w


def test_threads_share_a_graph():
    x = tl.ones(50, dtype=tl.float64, requires_grad=True)
    y = x
    for _ in range(200):
        y = y * 1.01 + x
    total = (y * y).sum()
    expected = tl_autograd.grad(total, x, retain_graph=True)[0]
    gradients = []

    def work():
        gradients.extend(tl_autograd.grad(total, x, retain_graph=True)[0] for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(gradients) == 80 and all(tl.allclose(g, expected) for g in gradients)


def test_a_backward_inside_a_backward():
    x = leaf(2.0)
    inner = []

    def hook(g):
        z = leaf(3.0)
        with tl.enable_grad():
            (z * z).backward()
        inner.append(z.grad.item())

    y = x * x
    y.register_hook(hook)
    y.backward()
    assert inner == [6.0] and x.grad.item() == 4.0


def test_a_backward_through_nodes_that_another_one_has():
    """The inner run finds the outer one's nodes taken, keeps notes of its own, and disturbs nothing."""
    x = leaf(2.0)
    a, b = (x * 3).unbind()[0], x * x
    y = a * b
    inner = []

    def again(g):
        handle.remove()
        inner.append(tl_autograd.grad(y, (x, b), retain_graph=True))

    handle = y.register_hook(again)
    y.backward()
    assert [g.item() for g in inner[0]] == [36.0, 6.0] and x.grad.item() == 36.0


def test_version_check_of_saved_tensors():
    x, w = leaf(1.0, 2.0), tl.ones(2, dtype=tl.float64)
    y = x * w
    w.add_(1)
    with pytest.raises(
        RuntimeError,
        match=r"modified by an inplace operation: \[torch.DoubleTensor \[2\]\].* is "
        r"at version 1; expected version 0",
    ):
        y.sum().backward()


def test_version_check_names_the_node_of_a_saved_result():
    x = leaf(1.0)
    y = x.exp()
    z = y * 2
    y.add_(1)
    with pytest.raises(RuntimeError, match="which is output 0 of ExpBackward0"):
        z.sum().backward()


def test_gradients_keep_the_layout_of_the_leaf():
    x = tl.zeros(3, 2, dtype=tl.float64).t().clone().requires_grad_()
    (x * tl.ones(2, 3, dtype=tl.float64)).sum().backward()
    assert x.grad.stride() == x.stride()


def test_expanded_gradients_are_copied_for_the_leaf():
    x = tl.zeros(3, dtype=tl.float64, requires_grad=True)
    x.sum().backward()
    assert x.grad.stride() == (1,)
    x.grad[0] = 5
    assert x.grad.tolist() == [5.0, 1.0, 1.0]


def test_detach_and_data_share_memory_but_no_gradient():
    x = leaf(1.0)
    y = x * 2
    y.detach().mul_(3)
    assert y.item() == 6.0 and y.grad_fn.name() == "MulBackward0"


def test_names_of_nodes_have_large_letters_after_digits_and_underscores():
    image = tl.rand(1, 1, 4, 4).requires_grad_()
    nodes = {
        "UpsampleNearest2DBackward0": tl.ops.aten.upsample_nearest2d(image, [8, 8]),
        "Im2ColBackward0": tl.ops.aten.im2col(image, [2, 2], [1, 1], [0, 0], [1, 1]),
        "Log1PBackward0": tl.log1p(image),
        "FftR2CBackward0": tl.fft.rfft(image),
        "LogSoftmaxBackward0": tl.ops.aten.log_softmax(image, 1),
    }
    assert [result.grad_fn.name() for result in nodes.values()] == list(nodes)  # PyTorch's names


def test_backward_of_a_leaf():
    x = tl.tensor(1.0, requires_grad=True)
    x.backward()
    assert x.grad.item() == 1.0


def test_interrupted_or_failed_backward_leaves_the_graph_usable():
    x = leaf(2.0)
    y = x * x

    def fail(g):
        raise ValueError("from the hook")

    handle = y.register_hook(fail)
    with pytest.raises(ValueError, match="from the hook"):
        y.backward(retain_graph=True)
    handle.remove()
    y.backward()
    assert x.grad.item() == 4.0


def test_the_switch_of_several_threads():
    assert tl_autograd.is_multithreading_enabled()
    with tl_autograd.set_multithreading_enabled(False):
        assert not tl_autograd.is_multithreading_enabled()
    assert tl_autograd.is_multithreading_enabled()
    tl_autograd.set_multithreading_enabled(False)
    assert not tl_autograd.is_multithreading_enabled()
    tl_autograd.set_multithreading_enabled(True)


def test_what_can_require_gradients():
    for make in (
        lambda: tl.ones(2, dtype=tl.int64, requires_grad=True),
        lambda: tl.tensor([1], requires_grad=True),
    ):
        with pytest.raises(RuntimeError, match="Only Tensors of floating point and complex dtype"):
            make()
    with pytest.raises(RuntimeError, match="only Tensors of floating point dtype can require gradients"):
        tl.ones(2, dtype=tl.int64).requires_grad_()
    assert not tl.tensor([1], requires_grad=False).requires_grad


def test_what_is_like_a_tensor_is_asked():
    class Like:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func, types, args, kwargs["create_graph"]

    x, y = Like(), Like()
    assert tl_autograd.grad(y, [x], create_graph=True) == (tl_autograd.grad, (Like,), ((y,), (x,)), True)


def test_zeros_without_memory_have_gradients():
    zeros = ZeroTensor(tl.empty(2, device="meta"), "cpu", requires_grad=True)
    x = tl.ones(2, requires_grad=True)
    ((zeros + x) * x).sum().backward()
    assert zeros.grad.tolist() == [1.0, 1.0]
    assert x.grad.tolist() == [2.0, 2.0]
