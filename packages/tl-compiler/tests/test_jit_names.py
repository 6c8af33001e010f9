"""The names of TorchScript: marks, questions, tasks, switches, and what refuses values that are no programs."""

import typing

import pytest

from tl_compiler import jit


class Model:
    def forward(self, x):
        return x + 1

    __call__ = forward


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
    with pytest.raises(AttributeError, match=r"expected torch\.nn\.Module as the first argument"):
        jit.trace_module(Model(), {"forward": (1,)})


def test_annotations_change_nothing():
    def function(x):
        return x

    annotations = (jit.ignore, jit.ignore(), jit.ignore(drop=True), jit.unused, jit.export, jit.interface)
    for mark in (*annotations, jit.script_method):
        assert mark(function) is function
    assert jit.script_if_tracing(function)(3) == 3
    with pytest.raises(RuntimeError, match="must be a bool or a function but got 3"):
        jit.ignore(3)


def test_python_runs_outside_of_programs():
    assert jit.is_scripting() is jit.is_tracing() is False
    assert not isinstance(Model(), (jit.ScriptModule, jit.ScriptFunction, jit.TracedModule))
    for kind in (jit.RecursiveScriptModule, jit.TracedModule, jit.TopLevelTracedModule):
        with pytest.raises(RuntimeError, match=r"torch\.jit\.script compiles a subclass of nn\.Module"):
            kind()
    with pytest.raises(TypeError, match="No constructor defined"):
        jit.ScriptFunction()


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


@pytest.mark.parametrize("name", ["RecursiveScriptClass", "last_executed_optimized_graph"])
def test_names_that_are_not_built_say_so(name):
    assert not hasattr(jit, name)
    with pytest.raises(AttributeError, match=rf"{name}.* tl runs the code of a program .*as Python"):
        getattr(jit, name)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda: jit.save(Model(), "model.pt"),
            r"expects a ScriptModule or a ScriptFunction, got .*Model.*state_dict",
        ),
        (lambda: jit.freeze(Model()), r"Freezing expects a ScriptModule as input\. .*Got .*Model"),
        (lambda: jit.optimize_for_inference(Model()), r"expects a ScriptModule as input\. .*Got .*Model"),
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
