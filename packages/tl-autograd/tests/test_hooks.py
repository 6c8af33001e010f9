"""Hooks on tensors and nodes, and what nodes show."""

import gc
import math
import threading
import warnings
import weakref

import pytest

import tl_autograd
import tl_core as tl
from tl_autograd import _C, graph
from tl_autograd.graph import GradientEdge, Node, get_gradient_edge, register_multi_grad_hook
from tl_autograd.hooks import RemovableHandle, unserializable_hook, warn_if_has_hooks


def leaf(*values):
    return tl.tensor(values, dtype=tl.float64, requires_grad=True)


def test_tensor_hooks_see_and_replace():
    x = leaf(1.0)
    y = x * 2
    records = []
    y.register_hook(lambda g: records.append(g.item()))
    handle = y.register_hook(lambda g: g * 10)
    (y * 3).backward(retain_graph=True)
    assert records == [3.0] and x.grad.item() == 60.0
    handle.remove()
    x.grad = None
    (y * 3).backward()
    assert x.grad.item() == 6.0


def test_leaf_hooks():
    x = leaf(1.0)
    x.register_hook(lambda g: g + 1)
    after = []
    x.register_post_accumulate_grad_hook(lambda p: after.append((p is x, p.grad.item())))
    (x * 2).backward()
    assert x.grad.item() == 3.0 and after == [(True, 3.0)]


def test_a_leaf_is_filled_before_older_nodes_run():
    """Communication that starts in the hooks of one layer goes on beside the derivatives of those below."""
    layers = [leaf(0.5), leaf(0.7), leaf(0.9)]
    order, h = [], leaf(1.0)
    for i, w in enumerate(layers):
        w.register_post_accumulate_grad_hook(lambda p, i=i: order.append(f"leaf {i}"))
        h = (h * w).tanh()
        h.grad_fn.register_prehook(lambda g, i=i: order.append(f"node {i}"))
    h.sum().backward()
    assert order == ["node 2", "leaf 2", "node 1", "leaf 1", "node 0", "leaf 0"]


def test_a_leaf_waits_for_all_its_uses():
    w, x = leaf(2.0), leaf(3.0)
    records = []
    w.register_post_accumulate_grad_hook(lambda p: records.append(p.grad.item()))
    early = w * 5  # the oldest node, and the last that delivers
    (early * x * w).sum().backward()
    assert records == [60.0]


class Cut(tl_autograd.Function):
    """A result from which no gradient comes back."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return None


def test_an_undefined_gradient_is_a_delivery():
    w, order = leaf(2.0), []
    oldest = leaf(1.0) * 3
    oldest.register_hook(lambda g: order.append("oldest"))
    w.register_post_accumulate_grad_hook(lambda p: order.append("leaf"))
    (oldest * w + Cut.apply(w * 4)).sum().backward()
    assert order == ["leaf", "oldest"] and w.grad.item() == 3.0


def test_nodes_run_with_undefined_gradients():
    class Seen(Cut):
        @staticmethod
        def backward(ctx, g):
            records.append(g.item())
            return g

    x, records = leaf(2.0), []
    Cut.apply(Seen.apply(x)).sum().backward()
    assert records == [0.0] and x.grad.item() == 0.0


def test_hooks_see_undefined_gradients():
    x = leaf(2.0)
    y = x * 2
    records = []
    y.register_hook(lambda g: records.append(g))
    y.grad_fn.register_prehook(lambda grads: records.append(grads))
    y.grad_fn.register_hook(lambda inputs, outputs: records.append((inputs, outputs)))
    x.register_hook(lambda g: records.append("leaf") if g is None else None)
    x.register_post_accumulate_grad_hook(lambda p: records.append(p.grad))
    Cut.apply(y).sum().backward()
    assert records == [None, (None,), ((None, None), (None,)), "leaf", None] and x.grad is None


def test_a_hook_may_give_what_was_undefined():
    x = leaf(2.0)
    x.register_hook(lambda g: tl.ones(1, dtype=tl.float64))
    Cut.apply(x).sum().backward()
    assert x.grad.item() == 1.0


def test_nodes_of_several_threads_wait_for_each_other():
    """Numbers of nodes are a thread's own: an older node may have the greater one."""
    x = leaf(2.0)
    for _ in range(100):
        y = x * 3
    result = []
    thread = threading.Thread(target=lambda: result.append(y * y))
    thread.start()
    thread.join()
    assert result[0].grad_fn._sequence_nr() < y.grad_fn._sequence_nr()
    (result[0] + y).backward()
    assert x.grad.item() == 39.0


def test_retain_grad():
    x = leaf(2.0)
    y = x * 3
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    (y * y).backward()
    assert y.retains_grad and y.grad.item() == 12.0
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        tl.ones(1).retain_grad()


def test_grad_of_a_non_leaf_warns():
    y = leaf(1.0) * 2
    with pytest.warns(UserWarning, match="not a leaf Tensor is being accessed"):
        assert y.grad is None


def test_node_hooks():
    x = leaf(2.0)
    y = x * 3
    calls = []
    y.grad_fn.register_prehook(lambda grads: calls.append(("pre", grads[0].item())))
    y.grad_fn.register_hook(
        lambda inputs, outputs: calls.append(("post", inputs[0].item(), outputs[0].item()))
    )
    (y * 2).backward()
    assert calls == [("pre", 2.0), ("post", 6.0, 2.0)]
    y = x * 3
    y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * 100, *inputs[1:]))
    x.grad = None
    y.backward()
    assert x.grad.item() == 300.0


def test_nodes_show_themselves():
    x = leaf(2.0)
    y = x.exp() * x
    node = y.grad_fn
    assert (
        node is y.grad_fn and isinstance(node, Node) and type(node).__name__ == "MulBackward0" == node.name()
    )
    (exp, zero), (acc, nr) = node.next_functions
    assert (
        exp.name() == "ExpBackward0"
        and acc.name() == "torch::autograd::AccumulateGrad"
        and acc.variable is x
        and (zero, nr) == (0, 0)
    )
    assert tl.equal(exp._saved_result, x.exp()) and node._saved_other is x
    node.metadata["note"] = 1
    del node
    assert y.grad_fn.metadata == {"note": 1}
    with pytest.raises(AttributeError):
        getattr(y.grad_fn, "_saved_nothing")  # noqa: B009


def test_leaf_properties():
    x = tl.ones(2)
    assert x.is_leaf and not x.requires_grad and x.grad_fn is None and x.grad is None
    assert x.requires_grad_() is x and x.requires_grad and x.is_leaf
    x.requires_grad = False
    assert not x.requires_grad
    x.requires_grad = True
    y = x * 2
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
        y.requires_grad = False


def test_assigning_grad():
    x = leaf(1.0, 2.0)
    g = tl.zeros(2, dtype=tl.float64)
    x.grad = g
    assert x.grad is g
    x.sum().backward()
    assert x.grad is g and g.tolist() == [1.0, 1.0]
    for bad, error, text in (
        (1.0, TypeError, "assigned grad expected to be a Tensor or None"),
        (tl.zeros(3, dtype=tl.float64), RuntimeError, r"a gradient of size '\[3\]' to a tensor of size '"),
        (tl.zeros(2), RuntimeError, "the same dtype"),
        (x, RuntimeError, "can't assign Variable as its own grad"),
    ):
        with pytest.raises(error, match=text):
            x.grad = bad
    del x.grad
    assert x.grad is None
    plain = tl.zeros(2)
    plain.grad = tl.ones(2)
    assert plain.grad.tolist() == [1.0, 1.0] and not plain.requires_grad


def test_hooks_need_a_gradient():
    with pytest.raises(
        RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"
    ):
        tl.ones(1).register_hook(print)
    with pytest.raises(
        RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"
    ):
        (leaf(1.0) * 2).register_post_accumulate_grad_hook(print)
    with pytest.raises(TypeError, match="must be callable"):
        leaf(1.0).register_hook(3)
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: tl.ones(7, dtype=tl.float64))
    with pytest.raises(RuntimeError, match="hook has changed the size of value"):
        y.backward()


def test_edges_stand_for_tensors():
    x = leaf(3.0)
    y = x * x
    edge = get_gradient_edge(y)
    assert isinstance(edge, GradientEdge) and edge.node is y.grad_fn
    (g,) = tl_autograd.grad(edge, x, tl.ones(1, dtype=tl.float64), retain_graph=True)
    assert g.item() == 6.0
    assert tl_autograd.grad((y * 2).sum(), edge)[0].item() == 2.0


def test_edges_know_what_they_stand_for():
    x = tl.ones(2, requires_grad=True)
    edge = graph.get_gradient_edge((x * 3).sum())
    assert tl_autograd.grad(edge, x, retain_graph=True)[0].tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        tl_autograd.grad(edge, x, tl.ones(4))
    with pytest.raises(RuntimeError, match="required to have the same dtype"):
        tl_autograd.grad(edge, x, tl.ones((), dtype=tl.complex64))
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        tl_autograd.grad(graph.get_gradient_edge(x * 3), x)
    with pytest.raises(RuntimeError, match="must be given"):
        tl_autograd.grad(graph.GradientEdge(edge.node, edge.output_nr), x)


def test_a_hook_that_comes_while_its_node_runs_sees_no_gradients():
    records = []

    def unpack(t):
        def hook(inputs, outputs):
            records.append((inputs[0].tolist(), outputs))
            return (inputs[0] / 2,)

        _C.current_node().register_hook(hook)
        return t

    x = tl.ones(2, requires_grad=True)
    with graph.saved_tensors_hooks(lambda t: t, unpack):
        y = x.exp().sum()
    y.backward()
    assert records == [([pytest.approx(math.e)] * 2, (None,))]
    assert x.grad.tolist() == pytest.approx([math.e / 2] * 2)


def test_multi_grad_hooks():
    a, b = leaf(2.0), leaf(3.0)
    c, d = a * b, a * b
    records = []
    handle = register_multi_grad_hook(
        (a, b, c, d), lambda grads: records.append([g is not None for g in grads])
    )
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    assert records == [[True, True, True, False], [True, False, True, False]]
    handle.remove()
    c.sum().backward()
    assert len(records) == 2
    first = []
    register_multi_grad_hook((a, b), lambda g: first.append(1), mode="any")
    (a * b).sum().backward()
    assert first == [1]


def test_callbacks_at_the_end_of_a_backward():
    engine, records = tl_autograd.Variable._execution_engine, []

    def hook(grad):
        engine.queue_callback(
            lambda: (records.append("first"), engine.queue_callback(lambda: records.append("last")))
        )
        records.append("hook")

    x = tl.ones(2, requires_grad=True)
    x.register_hook(hook)
    (x * 2).sum().backward()
    assert records == ["hook", "first", "last"] and x.grad.tolist() == [2, 2]
    with pytest.raises(RuntimeError, match="only be installed during backward"):
        engine.queue_callback(lambda: None)


def test_hooks_that_do_what_they_may_not():
    x = tl.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda t: t.grad)
    with pytest.raises(RuntimeError, match="should return None"):
        x.sum().backward()
    hooks = tl_autograd.graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t)
    with hooks, pytest.raises(RuntimeError, match="modifying its input in place"):
        tl.exp(tl.ones(2, requires_grad=True))


def test_grad_runs_hooks_of_nodes_only_where_they_run():
    a = leaf(1.0)
    b = a * 2
    order = []
    a.register_hook(lambda g: order.append("a"))
    b.register_hook(lambda g: order.append("b"))
    b.grad_fn.register_prehook(lambda g: order.append("before"))
    b.grad_fn.register_hook(lambda g, h: order.append("after"))
    accumulator = b.grad_fn.next_functions[0][0]
    accumulator.register_prehook(lambda g: order.append("leaf before"))
    tl_autograd.grad(b * 2, b, retain_graph=True)
    assert order == ["b"]
    order.clear()
    tl_autograd.grad(b * 2, (a, b), retain_graph=True)
    assert order == ["b", "before", "after", "a"]
    order.clear()
    (b * 2).backward()
    assert order == ["b", "before", "after", "a", "leaf before"]


def test_hooks_after_accumulation_run_before_those_of_the_node():
    x = leaf(1.0)
    accumulator = x.view_as(x).grad_fn.next_functions[0][0]
    order = []
    accumulator.register_hook(lambda g, h: order.append("node"))
    x.register_post_accumulate_grad_hook(lambda p: order.append("tensor"))
    (x * 1).backward()
    assert order == ["tensor", "node"]


def test_the_node_that_runs():
    x = leaf(1.0)
    y = x * 2
    result = []
    y.register_hook(lambda g: result.append((_C.current_node() is y.grad_fn, _C.keeps_graph())))
    y.backward(retain_graph=True)
    y.backward()
    assert result == [(True, True), (True, False)] and _C.current_node() is None
    with pytest.raises(RuntimeError, match="no backward is running"):
        _C.keeps_graph()
    x.register_hook(lambda g: _C.will_run(accumulator))
    z = x * 3
    accumulator = z.grad_fn.next_functions[0][0]
    with pytest.raises(RuntimeError, match=r"currently running autograd\.grad"):
        tl_autograd.grad(z, x)


@pytest.mark.parametrize("on_tensor", [False, True])
def test_a_hook_that_holds_its_node_is_collected(on_tensor):
    class Sentinel:
        pass

    def build():
        y = leaf(1.0).clone()
        node, sentinel = y.grad_fn, Sentinel()
        (y if on_tensor else node).register_hook(lambda *_: [node, sentinel].clear())
        return y.clone(), weakref.ref(sentinel)

    out, alive = build()
    out.backward(tl.ones_like(out), retain_graph=True)
    gc.collect()
    out.backward(tl.ones_like(out), retain_graph=True)
    assert alive() is not None
    del out
    gc.collect()
    assert alive() is None


def test_saved_sizes_are_python_numbers():
    """What Python is given is its own memory, not that of the node."""
    x = tl.ones(2, 3, requires_grad=True)
    node = x.mean().grad_fn
    for _ in range(200):
        sizes = node._saved_self_sym_sizes
        assert tuple(sizes) == (2, 3) and type(sizes[0]) is int
    assert "_saved_self_sym_sizes" in dir(node)


def test_hooks_given_as_a_mapping():
    x = leaf(2.0)
    x._backward_hooks = {"a": lambda g: g * 3}
    (x * 1).sum().backward()
    assert x.grad.tolist() == [3.0]
    x._backward_hooks = None
    assert x._backward_hooks is None
    with pytest.raises(RuntimeError, match="can't be deleted"):
        del x._backward_hooks
    with pytest.raises(TypeError, match="mapping"):
        x._backward_hooks = 3
    with pytest.raises(RuntimeError, match="None only"):
        x._grad_fn = 3
    tl.ones(2)._backward_hooks = None


def test_which_nodes_run_is_asked_of_nodes_during_a_backward():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="during the backward pass"):
        _C.will_run((x * 2).grad_fn)
    with pytest.raises(RuntimeError, match="expects an grad_fn"):
        _C.will_run(x)


def test_nodes_with_greater_numbers_run_first():
    x = leaf(1.0)
    nodes = {"a": x * 2, "b": x * 3}
    out = nodes["a"] + nodes["b"]
    order = []
    for name, tensor in nodes.items():
        tensor.register_hook(lambda g, name=name: order.append(name))
    out.grad_fn._set_sequence_nr(1)
    for number, name in enumerate("ba", 99):
        nodes[name].grad_fn._set_sequence_nr(number)
        assert nodes[name].grad_fn._sequence_nr() == number
    out.sum().backward()
    assert order == ["a", "b"]
    with pytest.raises((TypeError, OverflowError)):
        out.grad_fn._set_sequence_nr(-1)


def test_hooks_after_accumulation_can_be_read():
    x = leaf(1.0)
    assert x._post_accumulate_grad_hooks is None and tl.ones(1)._post_accumulate_grad_hooks is None
    hook = print
    handle = x.register_post_accumulate_grad_hook(hook)
    assert list(x._post_accumulate_grad_hooks.values()) == [hook]
    handle.remove()
    assert not x._post_accumulate_grad_hooks and (x * 2)._post_accumulate_grad_hooks is None


class Table(dict):
    """A dictionary with weak references."""


def test_handles_remove_from_all_their_tables():
    hooks, flags, more = Table(), Table(), Table()
    handle = RemovableHandle(hooks, extra_dict=[flags, more])
    hooks[handle.id] = flags[handle.id] = print
    hooks["other"] = more["other"] = 1
    handle.remove()
    assert hooks == {"other": 1} == more and flags == {}
    handle.remove()
    with RemovableHandle(hooks) as inner:
        hooks[inner.id] = print
        assert inner.id == RemovableHandle.next_id - 1 > handle.id
    assert hooks == {"other": 1}
    del flags
    handle.remove()


def test_handles_pickle_with_their_tables():
    hooks = Table()
    handle = RemovableHandle(hooks)
    copy = RemovableHandle.__new__(RemovableHandle)
    copy.__setstate__(handle.__getstate__())
    hooks[handle.id] = print
    copy.remove()
    assert hooks == {} and copy.id == handle.id


def test_hooks_that_do_not_travel():
    x = leaf(1.0)
    assert warn_if_has_hooks(x) is None
    marked = unserializable_hook(lambda g: g)
    x.register_hook(marked)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_has_hooks(x)
    x.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match="is not serialized"):
        warn_if_has_hooks(x)


def test_each_backward_has_a_number():
    numbers = []
    x = leaf(1.0)
    x.register_hook(lambda g: numbers.append(graph.current_graph_task_id()))
    for _ in range(2):
        (x * 2).backward()
    assert graph.current_graph_task_id() == -1 and -1 < numbers[0] < numbers[1]


def test_versions_count_writes_that_autograd_did_not_see():
    x, y, other = leaf(1.0), tl.ones(1, dtype=tl.float64), tl.ones(1)
    product = x * y
    graph.increment_version(y)
    graph.increment_version([y, other])
    assert (y._version, other._version) == (2, 1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_streams_of_graphs_are_switched_by_a_bool():
    assert graph.set_override_stale_capture_stream(True) is None
    with pytest.raises(TypeError, match="must be a bool, got int"):
        graph.set_override_stale_capture_stream(1)
