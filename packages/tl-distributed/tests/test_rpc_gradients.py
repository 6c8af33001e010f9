"""Gradients through several workers, their optimizer, and modules of other workers."""

from __future__ import annotations

import operator

import pytest

import tl_core as tl
import tl_nn as nn
from tl_core.testing import assert_close
from tl_distributed import autograd, rpc
from tl_distributed.nn.api.remote_module import RemoteModule
from tl_distributed.optim import DistributedOptimizer
from tl_distributed.rpc.gradients import contexts
from tl_nn.optim import SGD, Adam

WEIGHTS = [tl.arange(9.0).reshape(3, 3).div(10).requires_grad_() for _ in range(3)]


def through(rank, x, to=None):
    """A layer of one worker, and then of another."""
    x = (x @ WEIGHTS[rank]).sin()
    return x if to is None else rpc.rpc_sync(f"worker{to}", through, (to, x))


def twice(x):
    return x * 2, x + 1, 5


def gradients_of(context_id, rank):
    return autograd.get_gradients(context_id).get(WEIGHTS[rank])


def weight(rank):
    return rpc.RRef(WEIGHTS[rank])


def break_backward(x):
    class Broken(__import__("tl_autograd").Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            raise ValueError("no gradient there")

    return Broken.apply(x)


def expected():
    """The gradients of the chain 0 -> 1 -> 2 -> back, in one process."""
    weights = [each.detach().clone().requires_grad_() for each in WEIGHTS]
    x = tl.ones(2, 3, requires_grad=True)
    y = x
    for each in weights:
        y = (y @ each).sin()
    (y * x).sum().backward()
    return x.grad, [each.grad for each in weights]


def test_a_chain_of_workers_has_the_gradients_of_one_process(workers):
    def body(rank):
        if rank == 0:
            x = tl.ones(2, 3, requires_grad=True)
            with autograd.context() as context_id:
                y = (x @ WEIGHTS[0]).sin()
                y = rpc.rpc_sync("worker1", through, (1, y, 2))
                autograd.backward(context_id, [(y * x).sum()])
                by_x, by_weights = expected()
                assert_close(autograd.get_gradients(context_id)[x], by_x)
                assert_close(gradients_of(context_id, 0), by_weights[0])
                for other in (1, 2):
                    there = rpc.rpc_sync(f"worker{other}", gradients_of, (context_id, other))
                    assert_close(there, by_weights[other])
                assert x.grad is None and WEIGHTS[0].grad is None
            with pytest.raises(RuntimeError, match="Could not find autograd context"):
                autograd.get_gradients(context_id)

    workers(3, body)


def test_results_used_twice_are_answered_once(workers):
    depth = 12

    def body(rank):
        if rank == 0:
            x = tl.tensor(0.5, requires_grad=True)
            with autograd.context() as context_id:
                y = x
                for _ in range(depth):
                    first = rpc.rpc_async("worker1", operator.mul, (y, 0.75))
                    second = rpc.rpc_async("worker1", operator.mul, (y, 0.5))
                    y = first.wait() + second.wait()
                autograd.backward(context_id, [y], retain_graph=True)
                assert_close(autograd.get_gradients(context_id)[x], tl.tensor(1.25**depth))
                autograd.backward(context_id, [y])
                assert_close(autograd.get_gradients(context_id)[x], tl.tensor(2 * 1.25**depth))
                with pytest.raises(RuntimeError, match="second time"):
                    autograd.backward(context_id, [y])

    workers(2, body)


def test_several_results_and_a_reference(workers):
    def body(rank):
        to = f"worker{1 - rank}"
        x = tl.ones(2, requires_grad=True)
        with autograd.context() as context_id:
            doubled, more, number = rpc.rpc_sync(to, twice, (x,))
            reference = rpc.remote(to, operator.mul, (x, 3))
            loss = doubled.sum() + more.mul_(2).sum() + reference.to_here().sum() * number
            autograd.backward(context_id, [loss])
            assert_close(autograd.get_gradients(context_id)[x], tl.full((2,), 2.0 + 2 + 15))
        with autograd.context() as context_id:
            total = rpc.remote(to, tl.sum, (x,))
            total.backward(context_id)
            assert_close(autograd.get_gradients(context_id)[x], tl.ones(2))
        with pytest.raises(RuntimeError, match="dist_autograd_ctx_id"):
            total.backward()
        own = rpc.RRef((x * 2).sum())
        own.backward()
        assert x.grad.tolist() == [2, 2]

    workers(2, body)


def test_contexts_end_everywhere(workers):
    def body(rank):
        with autograd.context() as context_id:
            assert context_id >> 48 == rank
            rpc.rpc_sync(f"worker{1 - rank}", operator.add, (tl.ones(1), 1))
            with pytest.raises(RuntimeError, match="Already have"), autograd.context():
                pass
            assert autograd._current_context()._known_worker_ids() == {1 - rank}
        rpc.api._barrier({"worker0", "worker1"})
        for _ in range(500):
            if contexts.counts()["num_autograd_contexts"] == "0":
                return
            rpc.rpc_sync(f"worker{1 - rank}", operator.add, (1, 1))
        raise AssertionError(contexts.counts())

    workers(2, body)


def test_gradients_have_no_memory_in_common(workers):
    """A write to the gradient of one tensor changes no other, also where one gradient is that of two tensors."""

    def body(rank):
        if rank:
            return
        x, y, z = (tl.ones(2, 3, requires_grad=True) for _ in range(3))
        with autograd.context() as context_id:
            autograd.backward(
                context_id, [(x + y).sum() + rpc.rpc_sync("worker1", operator.mul, (z, 2)).sum()]
            )
            gradients = autograd.get_gradients(context_id)
            gradients[x][0, 0] = 7.0
            assert gradients[x].tolist() == [[7, 1, 1], [1, 1, 1]] and gradients[y].tolist() == [[1] * 3] * 2
            assert gradients[z].tolist() == [[2] * 3] * 2

    workers(2, body)


def test_errors(workers):
    def body(rank):
        if rank:
            return
        x = tl.ones(2, requires_grad=True)
        with autograd.context() as context_id:
            for roots, kind, text in (
                (None, TypeError, "incompatible function arguments"),
                ([], RuntimeError, "No tensors provided"),
                ([tl.ones(1)], RuntimeError, "requires_grad not set on"),
                ([x * 2], RuntimeError, "is not a scalar"),
                ([tl.ones(1, requires_grad=True)], RuntimeError, "does not have a valid gradient function"),
            ):
                with pytest.raises(kind, match=text):
                    autograd.backward(context_id, roots)
            with pytest.raises(RuntimeError, match="Could not find autograd context with id: 100"):
                autograd.backward(100, [x.sum()])
            y = rpc.rpc_sync("worker1", break_backward, (x,))
            with pytest.raises(RuntimeError, match="Error on Node 1: no gradient there"):
                autograd.backward(context_id, [y.sum()])
        with autograd.context() as context_id:
            y = rpc.rpc_sync("worker1", operator.mul, (break_backward(x), 2))  # whose gradient comes back
            with pytest.raises(RuntimeError, match="Error on Node 0: no gradient there"):
                autograd.backward(context_id, [y.sum()])
        with autograd.context() as context_id, pytest.raises(ValueError, match="no gradient there"):
            autograd.backward(context_id, [break_backward(x).sum()])  # without another worker
        with autograd.context() as context_id:
            rpc.rpc_sync("worker1", operator.mul, (x, 2))  # the loss doesn't depend on it
            with pytest.raises(RuntimeError, match="1 messages to worker1 in this context have no gradients"):
                autograd.backward(context_id, [x.sum()])

    workers(2, body, timeout=1.5)


@pytest.mark.parametrize("kind", [SGD, Adam])
def test_an_optimizer_on_the_owners(workers, kind):
    local = nn.Linear(3, 2)
    before = {name: each.clone() for name, each in local.state_dict().items()}

    def there():
        linear = nn.Linear(3, 2)
        linear.load_state_dict(before)
        return linear

    globals()["there"] = there
    there.__module__, there.__qualname__ = __name__, "there"
    optimizer, x = kind(local.parameters(), lr=0.1), tl.arange(12.0).reshape(4, 3).div(12)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = (local(x) - 1).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    def body(rank):
        if rank:
            return None
        module = RemoteModule("worker1/cpu", there)
        steps = DistributedOptimizer(kind, module.remote_parameters(), lr=0.1)
        matches = []
        for _ in range(4):
            with autograd.context() as context_id:
                loss = (module(x) - 1).square().mean()
                autograd.backward(context_id, [loss])
                steps.step(context_id)
                matches.append(loss.item())
        return matches

    assert workers(2, body)[0] == pytest.approx(losses, rel=1e-6)


def test_remote_modules(workers):
    def body(rank):
        if rank:
            return
        module = RemoteModule("worker1", nn.Dropout, kwargs={"p": 1.0})
        assert module.forward(tl.ones(2)).tolist() == [0, 0]
        module.eval()
        assert module.forward_async(tl.ones(2)).wait().tolist() == [1, 1]
        assert module.train().get_module_rref().owner_name() == "worker1"
        with pytest.raises(ValueError, match="Method ``to`` not supported for RemoteModule"):
            module.to("cpu")
        with pytest.raises(ValueError, match="``remote_parameters`` instead"):
            module.parameters()
        with pytest.raises(ValueError, match=r"returns an instance of <class nn.Module>"):
            RemoteModule("worker1", dict)
        with pytest.raises(ValueError, match=r"expected '<worker>/<device>'"):
            RemoteModule("cpu", nn.ReLU)
        again = RemoteModule.init_from_module_rref("worker1", module.get_module_rref())
        assert again.eval().forward(tl.ones(1)).item() == 1

    workers(2, body)
