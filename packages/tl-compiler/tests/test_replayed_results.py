"""Tests of what a replayed call returns: objects of classes of the program, as its code has built them."""

from __future__ import annotations

import abc
import collections
import copy
import dataclasses
import pickle
from typing import Any, Generic, NamedTuple, TypeVar

import pytest

import tl_core
import tl_nn
from tl_compiler import _C
from tl_compiler.compiler import compile as tl_compile
from tl_compiler.compiler.object_parts import assemble, dissect

recorded = pytest.mark.skipif(not _C.reads_frames(), reason="calls are recorded on CPython 3.11 only")
T = TypeVar("T")


@dataclasses.dataclass
class Output:
    loss: Any
    logits: Any = None
    states: Any = None


@dataclasses.dataclass(frozen=True)
class Frozen:
    value: Any
    name: str = "a"


@dataclasses.dataclass(slots=True)
class Slotted:
    value: Any
    rest: Any = None


class Point(NamedTuple):
    x: Any
    y: Any = 1


class ModelOutput(collections.OrderedDict[str, Any]):
    """A dictionary whose items are attributes, as libraries of models have it."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.keys() and value is not None:
            super().__setitem__(name, value)
        super().__setattr__(name, value)


@dataclasses.dataclass
class Causal(ModelOutput):
    loss: Any = None
    logits: Any = None
    hidden_states: Any = None


class Numbers(list[Any]):
    name = "numbers"


class Box(Generic[T]):
    __slots__ = ("__dict__", "item")

    def __init__(self, item: T) -> None:
        self.item = item
        self.rest = [item]


class Abstract(abc.ABC):
    @abc.abstractmethod
    def f(self) -> None: ...


class Concrete(Abstract):
    def f(self) -> None: ...


def compile(function: Any, **options: Any) -> Any:
    """A compiled function, of which a test asks more than its type says."""
    return tl_compile(function, **options)


def parts_of(x: Any) -> Any:
    """A value as plain containers, with the names of classes."""
    if isinstance(x, tl_core.Tensor):
        return x.tolist()
    if isinstance(x, (int, float, str, type(None))):
        return x
    parts = dissect(x)
    assert parts is not None
    return [parts.cls, list(map(parts_of, parts.items)), parts.names, list(map(parts_of, parts.values))]


def hits(function: Any, *args: Any, calls: int = 6) -> tuple[Any, int]:
    """The last result of some calls, and how many were replayed."""
    for _ in range(calls):
        result = function(*args)
    return result, function.get_compiled().entry.hits


def output(x: Any) -> Any:
    return Output(x.sum(), x * 2, (x, [x + 1]))


def frozen(x: Any) -> Any:
    return Frozen(x * 2)


def slotted(x: Any) -> Any:
    return Slotted(x * 2)


def point(x: Any) -> Any:
    return Point(x * 2), Point(1, y=x)


def model_output(x: Any) -> Any:
    return Causal(logits=x * 2, hidden_states=(x, x + 1))


def numbers(x: Any) -> Any:
    result = Numbers([x, 1])
    result.append([x + 1])
    result.label = "a"  # type: ignore[attr-defined]
    return result


def box(x: Any) -> Any:
    return Box(x + 1)


def concrete(x: Any) -> Any:
    result = Concrete()
    result.x = x + 1  # type: ignore[attr-defined]
    return result


def ordered(x: Any) -> Any:
    return collections.OrderedDict(b=x, a=x + 1)


def named(x: Any) -> Any:
    return x.max(-1)


@recorded
@pytest.mark.parametrize(
    "function", [output, frozen, slotted, point, model_output, numbers, box, concrete, ordered]
)
def test_objects_are_built_without_their_class(function: Any) -> None:
    x = tl_core.arange(6.0).reshape(2, 3)
    fast = compile(function, mode="reduce-overhead")
    result, replayed = hits(fast, x)
    assert replayed == 4
    assert parts_of(result) == parts_of(function(x))
    assert fast(x) is not result


@pytest.mark.parametrize(
    "function", [output, frozen, slotted, point, model_output, numbers, box, concrete, ordered]
)
def test_graphs_return_objects(function: Any) -> None:
    graphs = []

    def backend(graph: Any, examples: list[Any]) -> Any:
        graphs.append(graph)
        return graph.forward

    x = tl_core.arange(6.0).reshape(2, 3)
    fast = compile(function, backend=backend, fullgraph=True)
    for factor in (1, 2):
        assert parts_of(fast(x * factor)) == parts_of(function(x * factor))
    assert len(graphs) == 1


@recorded
def test_named_results_of_operators() -> None:
    x = tl_core.arange(6.0).reshape(2, 3)
    result, replayed = hits(compile(named, mode="reduce-overhead"), x)
    assert replayed == 4
    assert type(result) is type(x.max(-1))
    assert result.values.tolist() == [2, 5]
    assert result.indices.tolist() == [2, 2]


@recorded
def test_replayed_objects_behave_as_others() -> None:
    x = tl_core.ones(3)
    result, _ = hits(compile(model_output, mode="reduce-overhead"), x)
    assert list(result) == ["logits", "hidden_states"]
    assert result["logits"] is result.logits
    assert result["hidden_states"] is result.hidden_states
    result["loss"] = 1.0
    assert result.loss == 1.0
    frozen_result, _ = hits(compile(frozen, mode="reduce-overhead"), x)
    with pytest.raises(dataclasses.FrozenInstanceError):
        frozen_result.name = "b"
    assert pickle.loads(pickle.dumps(frozen_result)).value.tolist() == [2, 2, 2]
    assert copy.deepcopy(frozen_result).name == "a"


@recorded
def test_an_object_that_is_there_twice() -> None:
    def twice(x: Any) -> Any:
        shared = [x]
        return {"a": shared, "b": Output(shared)}

    result, replayed = hits(compile(twice, mode="reduce-overhead"), tl_core.ones(2))
    assert replayed == 4
    assert result["a"] is result["b"].loss


@recorded
def test_objects_of_the_program_are_returned_themselves() -> None:
    settings, holder = {"gain": 2.0}, Output(1)

    def call(x: Any) -> Any:
        return x * 2, settings, holder

    fast = compile(call, mode="reduce-overhead")
    result, replayed = hits(fast, tl_core.ones(2))
    assert replayed == 4
    assert result[1] is settings
    assert result[2] is holder
    holder.logits = 5
    assert fast(tl_core.ones(2))[2].logits == 5


@recorded
@pytest.mark.parametrize("kind", ["set", "cycle", "argument", "generator", "key"])
def test_results_that_are_not_replayed(kind: str) -> None:
    def call(x: Any, given: Any) -> Any:
        if kind == "set":
            return {x.ndim, "a"}, {object}
        if kind == "cycle":
            result: list[Any] = [x]
            result.append(result)
            return result
        if kind == "argument":
            return given
        if kind == "generator":
            return (t for t in (x, x))
        return {x.sum().item(): 1}

    fast = compile(call, mode="reduce-overhead")
    for _ in range(5):
        result = fast(tl_core.ones(2), [1])
    assert type(result) is type(call(tl_core.ones(2), [1]))
    given = [1]
    if kind == "argument":
        assert fast(tl_core.ones(2), given) is given
    if kind == "cycle":
        assert result[1] is result
    if kind != "set":
        assert fast.get_compiled().entry.hits == 0


@recorded
def test_a_class_that_changes() -> None:
    class Local:
        def __init__(self, x: Any) -> None:
            self.x = x

    def call(x: Any) -> Any:
        return Local(x + 1)

    fast = compile(call, mode="reduce-overhead")
    hits(fast, tl_core.ones(2))

    def initialize(self: Any, x: Any) -> None:
        self.x, self.more = x, 2

    Local.__init__ = initialize  # type: ignore[method-assign]
    assert fast(tl_core.ones(2)).more == 2


def test_parts_of_objects() -> None:
    for value in (Output(1, 2), Frozen(1), Slotted(1), Point(1, 2), Causal(loss=1), Numbers([1, 2]), Box(3)):
        parts = dissect(value)
        assert parts is not None
        again = assemble(parts)
        assert type(again) is type(value)
        assert again is not value
        assert parts_of(again) == parts_of(value)
    assert dissect(collections.deque([1])) is None
    assert dissect(tl_core.ones(1)) is None
    assert dissect(ValueError("a")) is None
    assert dissect(3) is None
    with pytest.raises(AttributeError):
        assemble(dissect(Slotted(1))._replace(names=("absent",), values=[1]))  # type: ignore[union-attr]


# ---- calls of the default mode ----------------------------------------------------------------------------------
@recorded
def test_three_equal_calls_are_followed_by_a_recording() -> None:
    net = tl_nn.Sequential(tl_nn.Linear(4, 4), tl_nn.ReLU(), tl_nn.Linear(4, 2))
    fast = compile(net)
    state = fast.dynamo_ctx.get_compiled()
    x = tl_core.ones(2, 4)
    counts = []
    for _ in range(6):
        assert tl_core.equal(fast(x), net(x))
        counts.append((len(state.replays.tapes), state.entry.hits))
    assert counts == [(0, 0), (0, 0), (0, 0), (1, 0), (1, 1), (1, 2)]
    with tl_core.no_grad():
        net[0].weight.mul_(2)
    assert tl_core.equal(fast(x), net(x))
    net[1] = tl_nn.Tanh()
    assert tl_core.equal(fast(x), net(x))


@recorded
@pytest.mark.parametrize("case", ["sizes", "operators", "large", "none"])
def test_calls_that_do_not_repeat_are_not_recorded(case: str) -> None:
    calls = 0

    def call(x: Any) -> Any:
        nonlocal calls
        calls += 1
        if case == "none":
            return x
        return x.sin() if case == "operators" and calls % 3 == 0 else x.cos()

    fast = compile(call)
    sizes = {"sizes": range(1, 20), "large": [1 << 15] * 8}.get(case, [3] * 12)
    for n in sizes:
        x = tl_core.ones(n)
        before = calls
        result = fast(x)
        calls = before
        assert tl_core.equal(result, call(x))
    assert fast.get_compiled().replays.tapes == []


@recorded
def test_effects_are_repeated_after_equal_calls() -> None:
    seen = []

    def call(x: Any) -> Any:
        seen.append(float(x[0]))
        return x + 1

    fast = compile(call)
    for i in range(20):
        fast(tl_core.full((2,), float(i)))
    assert seen == list(map(float, range(20)))


@recorded
def test_tapes_end_with_the_calls_that_left_them() -> None:
    held = [tl_core.ones(2)]

    def call(x: Any) -> Any:
        return x + held[0]

    fast = compile(call)
    for _ in range(6):
        fast(tl_core.ones(2))
    state = fast.get_compiled()
    assert state.entry.hits == 2
    for i in range(40):
        held[0] = tl_core.full((2,), float(i))
        assert fast(tl_core.ones(2)).tolist() == [i + 1.0] * 2
    assert state.replays.tapes == []


@recorded
@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_calls_that_are_never_replayed_run_without_waiting(mode: str | None) -> None:
    calls = []

    def call(x: Any, *, scale: float = 1.0) -> Any:
        calls.append(_C.in_region())
        return (x * scale + 1).sin() - x

    fast = compile(call, mode=mode)
    for n in [*[16] * 80, *[4096] * 140]:
        x = tl_core.rand(n)
        assert tl_core.equal(fast(x, scale=2.0), call(x, scale=2.0))
    assert calls == [True, False] * 220
    before = _C.counters()["operators"]
    fast(tl_core.rand(4096))
    assert (
        _C.counters()["operators"] == before + 4
    )  # a call has shown that operators on so many elements wait
    with pytest.raises(TypeError, match="scal"):
        fast(tl_core.rand(3), scal=1)
    fast.get_compiled().reset()
    assert fast(tl_core.ones(2)).shape == (2,)


def test_a_replayed_call_is_left_to_a_function() -> None:
    from tl_compiler._C import ReplayedCall

    entry = ReplayedCall(lambda args, kwargs, tried: (args, kwargs, tried), [], ())
    assert entry(1, a=2) == ((1,), {"a": 2}, True)
    entry.leave_to(lambda *args, **kwargs: (args, kwargs), False)
    assert entry(1, a=2) == ((1,), {"a": 2})
    entry.leave_to(None, True)
    assert entry(1) == ((1,), {}, True)
    with pytest.raises(TypeError, match="argument"):
        entry.leave_to()  # type: ignore[call-arg]
