"""The names of TorchScript: marks, questions, tasks, switches, and what refuses values that are no programs."""

import ast
import typing

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import jit
from tl_compiler.compat.script import builtins, recursive, state
from tl_compiler.jit import decorations, frontend, internal, scripts


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


# ---- questions about annotations and functions


def test_kinds_of_annotations():
    checks = {
        "tuple": internal.is_tuple, "list": internal.is_list, "dict": internal.is_dict, "union": internal.is_union,
        "optional": internal.is_optional, "final": internal.is_final, "future": internal.is_future,
    }  # fmt: skip
    for annotation, kinds in (
        (tuple, {"tuple"}), (tuple[int, str], {"tuple"}), (typing.List[int], {"list"}), (list, {"list"}),  # noqa: UP006
        (dict[str, int], {"dict"}), (int | str, {"union"}), (typing.Optional[int], {"union", "optional"}),  # noqa: UP045
        (int | str | None, {"union"}), (typing.Final[int], {"final"}), (jit.Future[int], {"future"}), (int, set()),
    ):  # fmt: skip
        assert {kind for kind, check in checks.items() if check(annotation)} == kinds, annotation


def test_modifiers_of_functions():
    modifiers = decorations.FunctionModifiers

    def unmarked():
        pass

    expected = {jit.ignore: modifiers.IGNORE, jit.unused: modifiers.UNUSED, jit.export: modifiers.EXPORT}
    for mark, modifier in expected.items():
        function = mark(lambda: 0)
        assert internal.get_torchscript_modifier(function) == modifier
        assert internal.is_ignored_fn(function) is (mark is not jit.export)
        assert internal.should_drop(function) is (mark is jit.unused)
        copy = unmarked.__class__(unmarked.__code__, {})
        internal.copy_torchscript_modifier(function, copy)
        assert internal.get_torchscript_modifier(copy) == modifier
    assert internal.get_torchscript_modifier(unmarked) == modifiers.DEFAULT and not internal.is_ignored_fn(
        unmarked
    )
    internal.copy_torchscript_modifier(unmarked, unmarked)
    assert not hasattr(unmarked, "_torchscript_modifier")
    holder = type("Holder", (), {"method": jit.export(lambda self: 0)})
    assert internal.module_has_exports(holder()) and not internal.module_has_exports(Model())


def test_names_in_scopes():
    local = 5

    def inner(a, b=local):
        return a + local + b

    assert internal.createResolutionCallbackFromFrame()("local") == 5
    assert internal.createResolutionCallbackFromFrame()("len") is len
    assert (lambda: internal.createResolutionCallbackFromFrame(1))()("local") == 5
    assert internal.get_closure(inner)["local"] == 5 and internal.get_closure(inner)["typing"] is typing
    find = internal.createResolutionCallbackFromClosure(inner)
    assert find("local") == 5 and find("jit") is jit
    with pytest.raises(AttributeError, match="sees no name 'nothing'"):
        find("nothing")
    assert internal.createResolutionCallbackFromEnv(jit)("Future.done") is jit.Future.done
    assert internal.get_callable_argument_names(inner) == ["a", "b"]
    assert (
        internal.get_callable_argument_names(lambda a, *b: 0) == internal.get_callable_argument_names(3) == []
    )


def test_functions_selected_by_an_argument():
    call = internal.boolean_dispatch(
        arg_name="flag", arg_index=1, default=True, if_true=lambda x, flag=True: ("true", x),
        if_false=lambda x, flag=False: ("false", x), module_name="somewhere", func_name="chosen",
    )  # fmt: skip
    assert [call(1), call(1, False), call(1, flag=False), call(1, flag=True)] == [
        ("true", 1), ("false", 1), ("false", 1), ("true", 1)
    ]  # fmt: skip
    assert (call.__module__, call.__name__) == ("somewhere", "chosen")
    assert internal.boolean_dispatched[call]["index"] == 1


def test_errors_of_the_source():
    assert str(frontend.FrontendError(None, "no comprehensions")) == "no comprehensions"
    assert str(frontend.FrontendTypeError("line 3", "no sets")) == "no sets\nline 3"
    (node,) = ast.parse("x = 1\nasync def f(): pass").body[1:]

    class Context:
        def make_range(self, line, first, last):
            return f"{line}:{first}-{last}"

    error = frontend.UnsupportedNodeError(Context(), node)
    assert isinstance(error, frontend.NotSupportedError) and error.source_range == "2:0-2"
    assert str(error) == "AsyncFunctionDef nodes aren't supported\n2:0-2"
    assert str(frontend.UnsupportedNodeError(None, node, "no coroutines")) == "no coroutines"


def test_lists_of_a_fixed_length():
    assert decorations.BroadcastingListCls()[int] is None and jit.frontend is frontend


def test_names_of_operators_of_modules():
    program = jit.script(nn.Sequential(nn.Linear(2, 2), nn.Tanh()).eval())
    assert scripts.export_opnames(program) == ["aten::linear", "aten::tanh"]
    assert scripts.run_frozen_optimizations(jit.freeze(program)) is None
    for call in (scripts.export_opnames, scripts.run_frozen_optimizations):
        with pytest.raises(RuntimeError, match="expects a ScriptModule"):
            call(nn.ReLU())


def test_functions_that_stand_for_operators():
    def root(x):
        raise NotImplementedError

    assert builtins._find_builtin(tl.add) == "aten::add" and builtins._find_builtin(root) is None
    assert builtins._find_builtin(tl.ops.aten.relu) == "aten::relu"
    builtins._register_builtin(root, "aten::sqrt")
    assert builtins._find_builtin(root) == "aten::sqrt"

    @jit.script
    def twice(x):
        return root(root(x))

    assert twice(tl.tensor([16.0])).tolist() == [2.0]
    with pytest.raises(ValueError, match="full name of an operator"):
        builtins._register_builtin(root, "sqrt")


def test_private_state(monkeypatch):
    monkeypatch.setenv("PYTORCH_JIT", "1")
    state.disable()
    assert not state._enabled and jit.script(abs) is abs
    state.enable()
    assert state._enabled.enabled
    assert state._python_cu.drop_all_functions() is None and state._python_cu.get_functions() == []
    state._add_script_class(Model, "script")
    assert state._get_script_class(Model) == "script" and state._get_script_class(dict) is None
    assert state._get_python_class(f"{__name__}.Model") is Model
    state._clear_class_state()
    assert state._get_python_class(f"{__name__}.Model") is None and not state._script_classes
    store = recursive.ConcreteTypeStore()
    assert store.type_store == {} and recursive.concrete_type_store.methods_compiled == set()
    with pytest.raises(NotImplementedError, match="outside of a compilation"):
        store.get_or_create_concrete_type(nn.Linear(1, 1))
