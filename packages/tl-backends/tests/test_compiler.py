"""`compile` and its marks: nothing is compiled, everything works, and that is said once."""

import inspect
import warnings

import pytest

from tl_backends import compiler, eagerly


@pytest.fixture(autouse=True)
def nothing_said_yet(monkeypatch):
    monkeypatch.setattr(eagerly, "_said", set())


@pytest.fixture
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def double(x):
    return 2 * x


class Doubler:
    def __call__(self, x):
        return 2 * x


@pytest.mark.parametrize("model", [double, Doubler(), Doubler, len, double.__call__])
def test_what_is_compiled_works_and_stays_what_it_is(quiet, model):
    assert compiler.compile(model) is model
    assert compiler.compile(model, fullgraph=True, dynamic=False, mode="max-autotune") is model


def test_decorators(quiet):
    @compiler.compile
    def first(x):
        return x + 1

    @compiler.compile(mode="reduce-overhead")
    def second(x):
        return x + 2

    @compiler.compile()
    def third(x):
        return x + 3

    assert (first(1), second(1), third(1), first.__name__) == (2, 3, 4, "first")


def test_it_is_said_once():
    with pytest.warns(
        UserWarning, match=r"tl\.compile: tl has no compiler yet; what it is given runs eagerly"
    ) as said:
        compiler.compile(double)
    assert said[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiler.compile(double)
        compiler.compile()(double)


def test_a_decorator_warns_when_it_is_applied():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        decorate = compiler.compile()
    with pytest.warns(UserWarning, match="runs eagerly") as said:
        decorate(double)
    assert said[0].filename == __file__


@pytest.mark.parametrize("options", [{"backend": "eager"}, {"backend": "aot_eager"}, {"disable": True}])
def test_who_asks_for_eager_is_not_warned(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compiler.compile(double, **options) is double


def test_backends(quiet):
    for backend in ("inductor", "cudagraphs", "eager", None, lambda graph, inputs: graph):
        assert compiler.compile(double, backend=backend)(2) == 4
    with pytest.raises(
        compiler.InvalidBackend, match="Invalid backend: 'nonsense', should be a function or one of"
    ):
        compiler.compile(double, backend="nonsense")
    with pytest.raises(compiler.InvalidBackend, match="Invalid backend: 3"):
        compiler.compile(double, backend=3)


def test_options(quiet):
    assert compiler.compile(double, options={"trace.enabled": True, "max_autotune": True})(2) == 4
    with pytest.raises(RuntimeError, match="Either mode or options can be specified"):
        compiler.compile(double, mode="default", options={})
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast, should be one of: default"):
        compiler.compile(double, mode="fast")
    for wrong in ([], "x", {1: 2}):
        with pytest.raises(RuntimeError, match="options must be a dictionary of settings by name, got"):
            compiler.compile(double, options=wrong)


@pytest.mark.parametrize("name", ["fullgraph", "dynamic", "disable"])
def test_flags_are_bools(name):
    with pytest.raises(AssertionError, match=f"Expected {name} to be a bool, got <class 'str'>: 'yes'"):
        compiler.compile(double, **{name: "yes"})


def test_only_what_can_be_called_is_compiled():
    with pytest.raises(AssertionError, match="A callable function is expected as model, but <class 'int'>"):
        compiler.compile(3)
    with pytest.raises(AssertionError, match="A callable function is expected as model, but <class 'int'>"):
        compiler.compile()(3)


def test_the_signature_names_the_options():
    names = list(inspect.signature(compiler.compile).parameters)
    assert names == ["model", "fullgraph", "dynamic", "backend", "mode", "options", "disable"]


def test_nothing_is_compiling():
    assert not compiler.is_compiling()
    assert not compiler.is_dynamo_compiling()
    assert not compiler.is_exporting()
    assert compiler.config.job_id is None
    assert compiler.reset() is compiler.cudagraph_mark_step_begin() is None


def test_the_backends_that_are_there():
    assert compiler.list_backends() == []
    assert compiler.list_backends(None) == ["aot_eager", "eager"]


def test_annotations_change_nothing():
    for mark in (compiler.disable, compiler.allow_in_graph, compiler.assume_constant_result):
        assert mark(double) is double
    assert compiler.disable()(double) is compiler.disable(recursive=False, reason="why")(double) is double
    assert compiler.allow_in_graph([double, len]) == [double, len]
    assert compiler.substitute_in_graph(len, skip_signature_check=True)(double) is double


@pytest.mark.parametrize(
    "mark",
    [
        compiler.disable,
        compiler.disable(),
        compiler.allow_in_graph,
        compiler.assume_constant_result,
        compiler.substitute_in_graph,
        compiler.set_stance("default"),
    ],
)
def test_annotations_are_for_what_can_be_called(mark):
    with pytest.raises(AssertionError, match=r"must be callable: .* got <class 'int'>"):
        mark(3)


def test_stances():
    assert compiler.set_stance("force_eager")(double) is double
    with compiler.set_stance("fail_on_recompile"):
        assert double(1) == 2
    assert compiler.set_stance("default", force_backend="eager") is not None
    with pytest.raises(RuntimeError, match=r"invalid torch\.compile stance 'nonsense'"):
        compiler.set_stance("nonsense")
    with pytest.raises(RuntimeError, match="force_backend needs the stance 'default', got 'force_eager'"):
        compiler.set_stance("force_eager", force_backend="eager")
