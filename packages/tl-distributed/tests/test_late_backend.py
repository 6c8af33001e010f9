"""A backend of somebody's own whose operations end late, with handles that say as little as they may."""

from __future__ import annotations

import copy
import queue
import threading
import time
from datetime import timedelta

import pytest

import tl_core as tl
import tl_distributed as dist
import tl_nn as nn
from tl_core.futures import Future
from tl_distributed.algorithms.ddp_comm_hooks import default_hooks, quantization_hooks
from tl_distributed.backends.engine_backend import EngineBackend
from tl_distributed.base.work import all_of
from tl_distributed.collectives.coalescing import coalescing_manager
from tl_distributed.nn import functional as with_gradients
from tl_distributed.nn.functional_collectives import all_reduce as all_reduce_functional
from tl_distributed.parallel import DistributedDataParallel

DELAY = 0.01


class Job:
    """What an operation under way knows."""

    def __init__(self):
        self.over, self.error = threading.Event(), None


class OnlyWait(dist.Work):
    """Says when it is over to who waits."""

    def __init__(self, job, result):
        super().__init__(result)
        self.job = job

    def wait(self, timeout=timedelta(0)):
        if not self.job.over.wait(timeout.total_seconds() or None):
            raise dist.DistBackendError("still under way")
        if self.job.error is not None:
            raise self.job.error
        return True


class OnlyCompleted(dist.Work):
    """Says whether it is over."""

    def __init__(self, job, result):
        super().__init__(result)
        self.job = job

    def is_completed(self):
        return self.job.over.is_set()

    def exception(self):
        return self.job.error


class OnlyFuture(dist.Work):
    """Has a future."""

    def __init__(self, job, result):
        super().__init__(result)
        self.future = Future()

        def settle():
            job.over.wait()
            if job.error is None:
                self.future.set_result(result)
            else:
                self.future.set_exception(job.error)

        threading.Thread(target=settle, daemon=True).start()

    def get_future(self):
        return self.future


class WaitAndCompleted(OnlyWait):
    """Says both."""

    def is_completed(self):
        return self.job.over.is_set()


class Silent(OnlyWait):
    """Calls no constructor and knows no result."""

    def __init__(self, job, result):
        self.job = job


KINDS = [OnlyWait, OnlyCompleted, OnlyFuture, WaitAndCompleted]


class Late(dist.Communicator):
    """Does in a thread, one after the other and late, what `gloo` does; it has the operations that it must have."""

    name = "late"
    kind: type = OnlyWait

    def __init__(self, context):
        super().__init__(context)
        self.inner = EngineBackend(context)
        self.jobs = queue.SimpleQueue()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while (work := self.jobs.get()) is not None:
            job, operation, outputs = work
            try:
                copies = [each.clone() for each in outputs]
                operation(copies).wait()
                time.sleep(DELAY)
                for each, copy in zip(outputs, copies, strict=True):
                    each.copy_(copy)
            except BaseException as error:
                job.error = error
            job.over.set()

    def begin(self, operation, outputs):
        job = Job()
        self.jobs.put((job, operation, [each.detach() for each in outputs]))
        return self.kind(job, list(outputs))

    def all_reduce(self, tensor, op):
        return self.begin(lambda out: self.inner.all_reduce(out[0], op), [tensor])

    def broadcast(self, tensor, root):
        return self.begin(lambda out: self.inner.broadcast(out[0], root), [tensor])

    def all_gather(self, outputs, tensor):
        return self.begin(lambda out: self.inner.all_gather(out, tensor), outputs)

    def reduce_scatter(self, output, tensors, op):
        return self.begin(lambda out: self.inner.reduce_scatter(out[0], tensors, op), [output])

    def all_to_all(self, outputs, tensors):
        return self.begin(lambda out: self.inner.all_to_all(out, tensors), outputs)

    def barrier(self):
        return self.begin(lambda out: self.inner.barrier(), [])

    def close(self):
        self.jobs.put(None)
        self.inner.close()


dist.Backend.register_backend("late", Late)


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def late(request, ranks, monkeypatch):
    """`late(size, body)` runs a body on ranks whose backend is late."""
    monkeypatch.setattr(Late, "kind", request.param)
    return lambda size, body: ranks(size, body, "late")


CALLS = {
    "all_reduce": lambda t, **o: dist.all_reduce(t, **o),
    "broadcast": lambda t, **o: dist.broadcast(t, 1, **o),
    "all_gather": lambda t, **o: dist.all_gather(list(t.new_empty(2, 4).unbind(0)), t, **o),
    "all_gather_into_tensor": lambda t, **o: dist.all_gather_into_tensor(t.new_empty(8), t, **o),
    "reduce_scatter": lambda t, **o: dist.reduce_scatter(t.new_empty(2), list(t.view(2, 2).unbind(0)), **o),
    "reduce_scatter_tensor": lambda t, **o: dist.reduce_scatter_tensor(t.new_empty(2), t, **o),
    "all_to_all_single": lambda t, **o: dist.all_to_all_single(t.new_empty(4), t, **o),
    "all_to_all_single of nothing": lambda t, **o: dist.all_to_all_single(t.new_empty(0), t[:0], **o),
    "all_to_all": lambda t, **o: dist.all_to_all(list(t.new_empty(2, 2)), list(t.view(2, 2).unbind(0)), **o),
}
EXPECTED = {
    "all_reduce": lambda rank: [[2.0, 4, 6, 8]],
    "broadcast": lambda rank: [[2.0, 3, 4, 5]],
    "all_gather": lambda rank: [[0.0, 1, 2, 3], [2.0, 3, 4, 5]],
    "all_gather_into_tensor": lambda rank: [[0.0, 1, 2, 3, 2, 3, 4, 5]],
    "reduce_scatter": lambda rank: [[[2.0, 4], [6.0, 8]][rank]],
    "reduce_scatter_tensor": lambda rank: [[[2.0, 4], [6.0, 8]][rank]],
    "all_to_all_single": lambda rank: [[[0.0, 1, 2, 3], [2.0, 3, 4, 5]][rank]],
    "all_to_all_single of nothing": lambda rank: [[]],
    "all_to_all": lambda rank: [[[0.0, 1], [2.0, 3]], [[2.0, 3], [4.0, 5]]][rank],
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("way", ["wait", "synchronize", "future", "completed", "then"])
def test_an_operation_is_over_when_its_handle_says_so(late, name, way):
    def body(rank):
        tensor = tl.arange(4.0) + 2 * rank
        work = CALLS[name](tensor, async_op=True)
        values = []
        if way == "wait":
            assert work.wait()
        elif way == "synchronize":
            work.synchronize()
        elif way == "future":
            values = [t.tolist() for t in work.get_future().wait()]
        elif way == "then":
            values = work.get_future().then(lambda done: [t.tolist() for t in done.value()]).wait()
        else:
            while not work.is_completed():
                time.sleep(0.001)
        result = [t.tolist() for t in work.result()]
        assert values in ([], result)
        assert work.is_completed() and work.is_success() and work.exception() is None
        assert result == EXPECTED[name](rank)

    late(2, body)


HOOKS = {
    "none": None,
    "allreduce": default_hooks.allreduce_hook,
    "half": default_hooks.fp16_compress_hook,
    "bfloat16": default_hooks.bf16_compress_hook,
    "eight bits": quantization_hooks.quantization_pertensor_hook,
    "eight bits a row": quantization_hooks.quantization_perchannel_hook,
}


def train(hook, options):
    tl.manual_seed(0)
    initial = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 3))
    data = tl.randn(2, 6, 5)

    def body(rank):
        model = copy.deepcopy(initial)
        wrapped = DistributedDataParallel(model, bucket_cap_mb=0.0001, **options)
        if hook is not None:
            wrapped.register_comm_hook(None, hook)
        for _ in range(3):
            wrapped.zero_grad()
            wrapped(data[rank]).square().sum().backward()
            with tl.no_grad():
                for parameter in model.parameters():
                    parameter -= 0.05 * parameter.grad
        return [p.tolist() for p in model.parameters()]

    return body


@pytest.mark.parametrize("options", [{}, {"find_unused_parameters": True}, {"gradient_as_bucket_view": True}])
@pytest.mark.parametrize("hook", HOOKS)
def test_training_is_that_of_a_punctual_backend(late, ranks, hook, options):
    first, second = late(2, train(HOOKS[hook], options))
    assert first == second == ranks(2, train(HOOKS[hook], options))[0]


def test_training_where_handles_know_no_result(ranks, monkeypatch):
    monkeypatch.setattr(Late, "kind", Silent)
    first, second = ranks(2, train(None, {}), "late")
    assert first == second == ranks(2, train(None, {}))[0]


def test_collectives_that_return_their_result(late):
    def body(rank):
        tensor = tl.arange(3.0).requires_grad_()
        total = with_gradients.all_reduce(tensor * (rank + 1))
        assert total.tolist() == [0, 3, 6]
        total.sum().backward()
        assert tensor.grad.tolist() == [2.0 * (rank + 1)] * 3
        assert all_reduce_functional(tl.ones(2), "sum", dist.group.WORLD).tolist() == [2, 2]
        with coalescing_manager() as manager:
            several = [tl.ones(2) * i for i in range(3)]
            for each in several:
                dist.all_reduce(each, async_op=True)
        assert manager is not None and [t.tolist() for t in several] == [[0, 0], [2, 2], [4, 4]]

    late(2, body)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_an_operation_fails_with_is_raised(kind):
    def failing():
        job = Job()
        timer = threading.Timer(DELAY, lambda: (setattr(job, "error", KeyError("lost")), job.over.set()))
        timer.start()
        return kind(job, [tl.ones(1)])

    with pytest.raises(KeyError, match="lost"):
        failing().wait()
    with pytest.raises(KeyError, match="lost"):
        failing().synchronize()
    with pytest.raises(KeyError, match="lost"):
        failing().get_future().wait()
    with pytest.raises(KeyError, match="lost"):
        all_of([failing(), failing()]).get_future().wait()
    work = failing()
    while not work.is_completed():
        time.sleep(0.001)
    assert not work.is_success() and isinstance(work.exception(), KeyError)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_wait_ends_with_its_time(kind):
    job = Job()
    works = [kind(job, []), all_of([kind(job, []), kind(job, [])])]
    for work in works:
        began = time.monotonic()
        with pytest.raises(dist.DistBackendError, match=r"not over after 0\.0\d+ s|still under way"):
            work.wait(timedelta(seconds=0.05))
        assert 0.04 < time.monotonic() - began < 2 and not work.is_completed()
    job.over.set()
    assert all(work.wait(timedelta(seconds=5)) for work in works)


def test_a_plain_handle_is_that_of_an_operation_that_is_over():
    work = dist.Work([1])
    assert work.is_completed() and work.wait() and work.is_success() and work.get_future().done()
    assert work.get_future().value() == [1]
