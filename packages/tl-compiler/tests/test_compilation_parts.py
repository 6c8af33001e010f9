"""The parts of `compile`: backends, reasons of a new compilation, sizes, folded norms, rules of a replay."""

import collections
import functools
import types

import pytest

import tl_core
import tl_nn as nn
from tl_compiler.compiler import backends, call_sizes, compile_events, errors, graph_backends, reset
from tl_compiler.compiler import compile as compile_function
from tl_compiler.compiler.break_errors import raises_on_break
from tl_compiler.compiler.breaks import ForbiddenCall
from tl_compiler.compiler.code_facts import facts_of
from tl_compiler.compiler.explanation import operators_of
from tl_compiler.compiler.folding import changes_state, fold_batch_norms
from tl_compiler.compiler.function_annotations import Mark, check_signatures
from tl_compiler.compiler.function_hooks import plain_copy
from tl_compiler.compiler.reachable import state_of, trail_of
from tl_compiler.compiler.recompile_reasons import key_difference, size_difference
from tl_compiler.compiler.replay.attributes import look_up
from tl_compiler.compiler.replay.callables import is_pure_method, normal_form
from tl_compiler.compiler.replay.operands import makes_iterator
from tl_compiler.compiler.replay.world import is_plain, is_python_class
from tl_compiler.compiler.stance import initial_conditions
from tl_compiler.compiler.state import Unprovable
from tl_compiler.compiler.thread_state import can_be_set, thread_state
from tl_compiler.export import export_for_training
from tl_compiler.fx import symbolic_trace
from tl_compiler.fx.experimental.proxy_tensor import make_fx
from tl_compiler.symbolic.ranges import ValueRanges


@pytest.fixture(autouse=True)
def _without_graphs():
    yield
    reset()


# ---- backends


class Square(nn.Module):
    def forward(self, x):
        return (x * x).sum()


@pytest.mark.parametrize(
    "backend", ["eager_noexcept", "eager_debug", "pre_dispatch_eager", "aot_eager_default_partitioner",
                "aot_eager_decomp_partition"],
)  # fmt: skip
def test_backends_compute_values_and_gradients(backend):
    x = tl_core.tensor([1.0, -3.0], requires_grad=True)
    compiled = compile_function(Square(), backend=getattr(graph_backends, backend))
    y = compiled(x)
    y.backward()
    assert float(y.detach()) == 10.0 and x.grad.tolist() == [2.0, -6.0]


def test_a_backend_names_itself_in_errors():
    def fail(x):
        raise ValueError("no")

    run = graph_backends.eager_noexcept(fail, [])
    with pytest.raises(errors.TorchDynamoException, match="Unexpected exception") as caught:
        run(tl_core.ones(1))
    assert isinstance(caught.value.__cause__, ValueError)


def test_results_that_differ_from_the_capture():
    gm = make_fx(lambda x: x + 1)(tl_core.ones(2))
    debug = graph_backends.eager_debug(gm, [])
    assert debug(tl_core.ones(2)).tolist() == [2.0, 2.0]
    node = next(n for n in gm.graph.nodes if n.op == "call_function")
    node.meta["val"] = tl_core.ones(2, 2)
    with pytest.raises(AssertionError, match=r"2 dimensions, the run torch\.float32 and 1"):
        debug(tl_core.ones(2))


def test_inputs_in_one_list():
    run = graph_backends.boxed_nop(symbolic_trace(lambda a, b: a - b), [])
    inputs = [tl_core.tensor(5.0), tl_core.tensor(3.0)]
    assert float(run(inputs)) == 2.0


def test_backends_that_are_missing():
    assert backends.is_absent(None) and not backends.is_absent("eager") and not backends.is_absent(print)
    assert backends.is_default(None) and backends.is_default("inductor") and not backends.is_default("eager")
    assert raises_on_break() is None


def test_errors_of_tracing():
    unsupported = ("AttributeMutationError", "ArgsMismatchError", "CondOpArgsMismatchError", "InfiniteGeneratorError",
                   "RecompileLimitExceeded", "UncapturedHigherOrderOpError")  # fmt: skip
    assert all(issubclass(getattr(errors, name), errors.Unsupported) for name in unsupported)
    assert errors.CacheLimitExceeded is errors.RecompileLimitExceeded
    assert issubclass(errors.UnsafeScriptObjectError, RuntimeError)
    assert not issubclass(errors.IncorrectUsage, errors.TorchDynamoException)
    assert issubclass(ForbiddenCall, AssertionError)


def test_compilations_call_back():
    events, texts = compile_events.CompilationCallbacks(), []
    begin = events.register_start_callback(lambda e: texts.append(("begin", e)))
    end = events.register_end_callback(lambda e: texts.append(("end", e.compile_id)))
    with events.region():
        texts.append("body")
    assert texts == [("begin", compile_events.CallbackArgs("DYNAMO", "0")), "body", ("end", "0")]
    events.remove_start_callback(begin)
    with pytest.raises(ZeroDivisionError), events.region():
        raise ZeroDivisionError
    assert texts[3:] == [("end", "1")]
    events.remove_end_callback(end)
    with pytest.raises(ValueError, match="not in list"):
        events.remove_end_callback(end)
    events.register_end_callback(end)
    events.clear()
    with events.region():
        pass
    assert len(texts) == 4


# ---- graphs


def test_operators_in_order():
    gm = symbolic_trace(lambda x: tl_core.relu(x).view(-1))
    assert operators_of(gm) == [tl_core.relu, "view"]


def test_norms_are_folded_into_convolutions():
    model = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2), nn.ReLU()).eval()
    model[1].running_mean.copy_(tl_core.tensor([0.5, -1.0]))
    model[1].running_var.copy_(tl_core.tensor([4.0, 0.25]))
    x = tl_core.arange(4.0).reshape(1, 1, 2, 2)
    expected = model(x)
    gm = make_fx(lambda x: model(x))(x)
    assert fold_batch_norms(gm) == 0  # the operator below autograd has another name
    gm = export_for_training(model, (x,)).module()
    assert not changes_state(gm)
    count = fold_batch_norms(gm)
    assert count == 1 and tl_core.allclose(gm(x), expected, atol=1e-6)


def test_graphs_that_write_or_draw():
    def write(x):
        x.add_(1)
        return x

    def own(x):
        y = x + 1
        y.add_(1)
        return y

    x = tl_core.ones(2)
    states = [
        changes_state(make_fx(f)(x)) for f in (write, own, lambda x: x + tl_core.rand(2), lambda x: x.sin())
    ]
    assert states == [True, False, True, False]


# ---- reasons


def test_the_first_difference_of_a_state():
    def f(x, flag):
        return x

    x = tl_core.ones(2)
    key, trail = trail_of(f, (x, True), {})
    assert trail and all(0 <= index < len(key) for index, _ in trail)
    assert trail_of(f, (x, True), {})[0] == key
    text = key_difference(f, (x, False), {}, key)
    assert text == "args_1: expected True, got False"
    assert "got 3" not in key_difference(f, (x, True), {}, (*key[:-1], "other"))
    with pytest.raises(Unprovable):
        trail_of(f, (x, (i for i in range(3))), {})
    assert key_difference(f, (x, (i for i in range(3))), {}, key)


def test_the_first_difference_of_sizes():
    def f(x, n):
        return x * n

    def state(*shape, n=5):
        return state_of(f, (tl_core.ones(*shape), n), {})

    guards = call_sizes.SizeGuards(state(2, 3))
    assert size_difference(state(2, 4), guards).endswith("size mismatch at index 1. expected 3, actual 4")
    assert size_difference(state(2, 3, n=7), guards).endswith("expected 5, got 7")
    assert size_difference(state(2, 3), guards) == "a condition on sizes doesn't hold"
    assert guards.values(state(2, 3)) == {} and guards.values(state(2, 4)) is None


def test_sizes_that_change_become_symbols():
    def f(x):
        return x

    def state(*shape):
        x = tl_core.ones(*shape)
        return state_of(f, (x,), {}), [x]

    history = call_sizes.History()
    first, leaves = state(2, 3)
    history.note(first)
    assert call_sizes.wishes(first, leaves, None, history) == {}
    assert call_sizes.wishes(first, leaves, False, history) == {}
    second, leaves = state(2, 5)
    history.note(second)
    assert {d for _, d in history.changed} == {1}
    result = call_sizes.wishes(second, leaves, None, history)
    assert [d for _, d in result] == [1] and all(isinstance(w, call_sizes.Wish) for w in result.values())
    assert {d for _, d in call_sizes.wishes(second, leaves, True, history)} == {0, 1}
    assert call_sizes.wishes(second, leaves, False, history) == {}
    history.clear()
    assert call_sizes.wishes(second, leaves, None, history) == {}
    wish = call_sizes.Wish(next(iter(result.values())).how, ValueRanges(2, 8))
    assert not wish.is_promise and 8 in wish.range and 9 not in wish.range


def test_settings_of_a_thread():
    before = thread_state()
    assert can_be_set(before, before)
    with tl_core.no_grad():
        assert can_be_set(before, thread_state())
    assert not can_be_set(before, (*before[:-1], object()))
    ((values, key, expected),) = initial_conditions()
    assert (values[key],) == expected


# ---- functions


def test_signatures_of_substitutes():
    check_signatures(lambda a, *, b=1: a, lambda a, *, b=1: b)
    for other in (lambda a, *, b: a, lambda a, b=1: a, lambda c, *, b=1: c):
        with pytest.raises(TypeError, match="skip_signature_check=True"):
            check_signatures(lambda a, *, b=1: a, other)
    assert Mark("CONSTANT").substitute is None


def test_copies_of_functions():
    def outer(z):
        def f(x, y=2, *, k=3):
            return x + y + k + z

        f.note = "n"
        return f

    function = outer(10)
    copy = plain_copy(function)
    assert copy(1) == 16 and copy is not function and copy.note == "n"
    assert (copy.__kwdefaults__, copy.__qualname__) == ({"k": 3}, function.__qualname__)
    assert plain_copy(function, function.__code__.replace(co_name="g")).__code__.co_name == "g"


def test_calls_without_their_bindings():
    method, args, kwargs = normal_form(functools.partial([3].append, 1), (), {"k": 2})
    assert (method, args, kwargs) == (list.append, ([3], 1), {"k": 2})
    nested = functools.partial(functools.partial(print, 1, a=1, b=1), 2, b=3)
    assert normal_form(nested, (3,), {"c": 4}) == (print, (1, 2, 3), {"a": 1, "b": 3, "c": 4})
    model = Square()
    assert normal_form(model.forward, (1,), {}) == (Square.forward, (model, 1), {})
    assert normal_form(len, (1,), {})[0] is len


def test_methods_that_only_compute():
    assert is_pure_method(str.split) and is_pure_method(int.bit_length)
    assert not is_pure_method(list.append) and not is_pure_method(str.__init__) and not is_pure_method(print)


@pytest.mark.parametrize(
    ("value", "is_new"),
    [([1], True), ({}.items(), True), (collections.OrderedDict(), True), (collections.defaultdict(int), True),
     (iter([1]), False), ((i for i in ()), False), (nn.ModuleList(), False)],
)  # fmt: skip
def test_iterators_of_containers(value, is_new):
    assert makes_iterator(value) is is_new


def test_values_that_cannot_change():
    assert all(map(is_plain, [1, "a", (1, ("b", None)), slice(0, 2), frozenset({1}), tl_core.float32, int]))
    assert not any(map(is_plain, [[1], (1, [2]), {}, slice([], 2), tl_core.ones(1)]))


def test_classes_of_python():
    assert is_python_class(Square) and is_python_class(ValueError)
    assert not is_python_class(types.SimpleNamespace) and not is_python_class(nn.Parameter)


def test_attributes_of_classes():
    class Base:
        a = 1

        def method(self):
            return 2

    class Derived(Base):
        a = property(lambda self: 3)

    assert (
        isinstance(look_up(Derived, "a"), property) and look_up(Derived, "method") is Base.__dict__["method"]
    )
    missing = look_up(Derived, "b")
    assert missing is look_up(Base, "c") and missing not in (None, 1)


some_global = 0


def test_code_that_no_graph_repeats_is_named_by_its_line():
    def function(x):
        global some_global

        z = (x + 1) * 2
        del some_global
        return z

    code = function.__code__
    reason, line = facts_of(code).refused[code]
    assert (reason, line) == ("the global variable some_global is deleted", code.co_firstlineno + 4)

    def outer(x):
        return x

    def inner():
        nonlocal outer
        x = 1
        del outer
        return x

    reason, line = facts_of(inner.__code__).refused[inner.__code__]
    assert reason == "the variable outer of an enclosing function is deleted"
    assert line == inner.__code__.co_firstlineno + 3

    async def later():
        return 1

    assert facts_of(later.__code__).refused[later.__code__] == (
        "the function is asynchronous", later.__code__.co_firstlineno
    )  # fmt: skip


def test_calls_that_write_a_variable_of_an_enclosing_function():
    count = 0

    def outer(x):
        nonlocal count
        count += 1
        return x + count

    def own(x):
        scale = 2

        def double():
            nonlocal scale
            scale += 1
            return x * scale

        return double() + scale

    x = tl_core.ones(2)
    for function, values in ((outer, [2.0, 3.0, 4.0, 5.0, 6.0]), (own, [6.0] * 5)):
        compiled = compile_function(function, mode="reduce-overhead")
        assert [float(compiled(x)[0]) for _ in range(5)] == values
    assert count == 5
