"""The names of TorchScript: marks and eager functions work, compiled programs are refused."""

import typing
import warnings

import pytest

import tl_core
from tl_compiler import jit
from tl_compiler.jit import eagerly


@pytest.fixture(autouse=True)
def nothing_said_yet(monkeypatch):
    monkeypatch.setattr(eagerly, "_warned_features", set())


class Model:
    def forward(self, x):
        return x + 1

    __call__ = forward


@pytest.mark.parametrize(
    ("name", "compiled"),
    [
        ("script", lambda model: jit.script(model)),
        ("trace", lambda model: jit.trace(model, (1,))),
        ("trace_module", lambda model: jit.trace_module(model, {"forward": (1,)})),
    ],
)
def test_it_runs_eagerly_and_that_is_said_once(name, compiled):
    model = Model()
    with pytest.warns(UserWarning, match=rf"tl\.jit\.{name}: tl compiles nothing to TorchScript") as said:
        assert compiled(model) is model
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiled(model)(1) == 2


def test_functions_and_classes_can_be_scripted():
    with pytest.warns(UserWarning, match="runs as Python"):
        assert jit.script(Model) is Model

    @jit.script
    def increased(x: int) -> int:
        return x + 1

    assert increased(1) == 2


def test_only_what_can_be_traced():
    with pytest.raises(TypeError, match="func must be a function or module, got <class 'int'>"):
        jit.trace(3)
    with pytest.raises(RuntimeError, match="expected example_inputs"):
        jit.trace(Model())
    with pytest.raises(RuntimeError, match="example_kwarg_inputs should be a dict, got list"):
        jit.trace(Model(), example_kwarg_inputs=[1])
    with pytest.raises(AttributeError, match="nonsense"):
        jit.trace_module(Model(), {"nonsense": (1,)})
    with pytest.raises(AttributeError, match="expected a dictionary"):
        jit.trace_module(Model(), [1])


def test_annotations_change_nothing():
    def function(x):
        return x

    annotations = (jit.ignore, jit.ignore(), jit.ignore(drop=True), jit.unused, jit.export, jit.interface)
    for mark in (*annotations, jit.script_method, jit.script_if_tracing):
        assert mark(function) is function
    with pytest.raises(RuntimeError, match="must be a bool or a function but got 3"):
        jit.ignore(3)


def test_nothing_is_compiled():
    assert jit.is_scripting() is jit.is_tracing() is False
    assert not isinstance(Model(), (jit.ScriptModule, jit.ScriptFunction, jit.TracedModule))
    for kind in (jit.ScriptModule, jit.ScriptFunction, jit.TracedModule, jit.TopLevelTracedModule):
        with pytest.raises(RuntimeError, match="tl compiles nothing to TorchScript"):
            kind()


@pytest.mark.filterwarnings("ignore")
def test_trace_calls_once_with_the_example_inputs():
    calls = []

    def record(*args, **kwargs):
        calls.append((args, kwargs))

    number = tl_core.tensor(3.0)
    jit.trace(record, (1, 2))
    jit.trace(record, number)
    jit.trace(record, [1], example_kwarg_inputs={"k": 2})
    jit.trace(record, example_kwarg_inputs={"k": 2})
    assert calls == [((1, 2), {}), ((number,), {}), ((1,), {"k": 2}), ((), {"k": 2})]
    with pytest.raises(ValueError, match="unfit"):
        jit.trace(raise_unfit, number)


def raise_unfit(x):
    raise ValueError("unfit")


def test_what_is_given_back_is_no_compiled_module():
    model = Model()

    def function(x):
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert jit.script(model) is jit.trace(model, (1,)) is model and jit.trace(function, (1,)) is function
    kinds = (jit.ScriptModule, jit.RecursiveScriptModule, jit.TracedModule, jit.ScriptFunction)
    for given in (model, function):
        assert not isinstance(given, kinds) and not hasattr(given, "code") and not hasattr(given, "save")


def test_forked_functions():
    future = jit.fork(lambda x, y=1: x + y, 2, y=3)
    assert isinstance(future, jit.Future) and jit.wait(future) == 5
    assert jit.wait(future.then(lambda done: done.value() * 2)) == 10
    with pytest.raises(ValueError, match="no"):
        jit.fork(int, "no")
    for call in (lambda: jit.fork(3), lambda: jit.wait(3)):
        with pytest.raises(TypeError, match="got <class 'int'>"):
            call()


def test_switches_of_code_generators_that_are_not_there():
    with pytest.warns(UserWarning, match="nothing is fused here"), jit.strict_fusion():
        pass
    with jit.optimized_execution(False), jit.fuser("fuser1"):
        assert jit.onednn_fusion_enabled() is False and jit.set_fusion_strategy([("STATIC", 2)]) == []
    jit.enable_onednn_fusion(False)
    with pytest.raises(RuntimeError, match="neither TorchScript nor oneDNN"):
        jit.enable_onednn_fusion(True)
    with pytest.raises(RuntimeError, match="unknown fusion strategy 'x'"):
        jit.set_fusion_strategy([("x", 1)])
    with pytest.raises(Exception, match="unrecognized fuser"), jit.fuser("x"):
        pass


@pytest.mark.parametrize("name", ["CompilationUnit", "export_opnames", "RecursiveScriptClass"])
def test_names_that_are_not_built_say_so(name):
    assert not hasattr(jit, name)
    with pytest.raises(
        AttributeError, match=rf"torch\.jit\.{name} isn't built: tl compiles nothing to TorchScript"
    ):
        getattr(jit, name)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: jit.save(Model(), "model.pt"), r"'model\.pt'.*tl\.save\(m\.state_dict\(\), f\)"),
        (lambda: jit.freeze(Model()), "Freezing expects a ScriptModule as input, got .*Model"),
        (lambda: jit.optimize_for_inference(Model()), "expects a ScriptModule as mod, got .*Model"),
    ],
)
def test_what_needs_a_compiled_program_says_what_to_do_instead(call, said):
    with pytest.raises(RuntimeError, match=said):
        call()


@pytest.mark.parametrize(
    ("value", "kind", "verdict"),
    [
        (1, int, True),
        (1, str, False),
        (None, None, True),
        ([1, 2], list[int], True),
        ([1, "a"], list[int], False),
        ([], list[int], True),
        ((1, "a"), tuple[int, str], True),
        ((1, 2), tuple[int, str], False),
        ((1,), tuple[int, str], False),
        ({"a": 1}, dict[str, int], True),
        ({"a": "b"}, dict[str, int], False),
        ({"a": [1]}, dict[str, list[int]], True),
        ({"a": [None]}, dict[str, list[int]], False),
        (None, typing.Optional[int], True),  # noqa: UP045
        (1, int | None, True),
        ("a", int | None, False),
        ([1, None], list[int | None], True),
        ("a", typing.Union[int, str], True),  # noqa: UP007
        ("a", (int, str), True),
        (1.5, (int, str), False),
    ],
)
def test_isinstance_looks_inside(value, kind, verdict):
    assert jit.isinstance(value, kind) is verdict


def test_annotations_are_for_the_compiler():
    assert jit.annotate(list[int], [1]) == [1]
    assert jit.Attribute(3, int) == (3, int)
