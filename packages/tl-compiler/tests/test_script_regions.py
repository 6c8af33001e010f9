"""Regions of programs, which `with` opens, and what scripts and traces refuse."""

import io
import typing

import pytest

import tl_autograd  # noqa: F401 - gradients of results
import tl_core as tl
import tl_nn as nn
from tl_compiler import jit
from tl_compiler.jit.frontend import FrontendError


def reload(program):
    file = io.BytesIO()
    jit.save(program, file)
    return jit.load(io.BytesIO(file.getvalue()))


class Level:
    def __init__(self, depth: tl.Tensor):
        self.depth = depth

    def __enter__(self) -> tl.Tensor:
        self.depth += 1
        return self.depth.clone()

    def __exit__(self, kind: typing.Any, value: typing.Any, trace: typing.Any) -> None:
        self.depth -= 1


class Nested(nn.Module):
    def forward(self, x: tl.Tensor, depth: tl.Tensor, fails: bool):
        level = Level(depth)
        with level as outer, level as inner:
            if fails:
                raise ValueError("no result")
            if bool(x.sum() > 100):
                return x
            x = x * outer + inner
        return x - depth


def test_regions_are_left_on_every_way():
    for program in (jit.script(Nested()), reload(jit.script(Nested()))):
        depth = tl.zeros(1)
        assert program(tl.ones(2), depth, False).tolist() == [3, 3] and depth.item() == 0
        assert program(tl.full((2,), 60.0), depth, False).tolist() == [60, 60] and depth.item() == 0
        with pytest.raises(jit.Error, match="no result"):
            program(tl.ones(2), depth, True)
        assert depth.item() == 0


class WithoutGradients(nn.Module):
    def forward(self, x: tl.Tensor, fails: bool):
        with tl.no_grad():
            double = x * 2
            if fails:
                raise ValueError("no result")
            with tl.enable_grad():
                y = x * 3
            with tl.set_grad_enabled(False):
                z = x * 4
        return double, y, z


def test_gradients_are_on_again_after_a_region():
    for program in (jit.script(WithoutGradients()), reload(jit.script(WithoutGradients()))):
        x = tl.ones(1, requires_grad=True)
        assert [t.requires_grad for t in program(x, False)] == [False, True, False]
        with pytest.raises(jit.Error, match="no result"):
            program(x, True)
        assert tl.is_grad_enabled() and (x * 2).requires_grad


def test_a_region_needs_both_methods():
    class Half:
        def __init__(self):
            self.value = 1

        def __enter__(self) -> int:
            return self.value

    def enters(x: int):
        with Half() as y:
            x = x + y
        return x

    with pytest.raises(RuntimeError, match="has no attribute or method '__exit__'"):
        jit.script(enters)


# ---- parts of tensors
def test_dimensions_after_an_ellipsis():
    unit = jit.CompilationUnit(
        "def f(x):\n    return x[..., None], x[1, ..., None, 0], x[..., 1:, None, 2], x[None, ..., None]\n"
    )
    x = tl.arange(24).reshape(2, 3, 4)
    expected = x[..., None], x[1, ..., None, 0], x[..., 1:, None, 2], x[None, ..., None]
    for value, other in zip(unit.f(x), expected, strict=True):
        assert value.shape == other.shape and tl.equal(value, other)
    with pytest.raises(RuntimeError, match="Ellipses followed by tensor indexing"):
        jit.CompilationUnit("def f(x, i):\n    return x[..., i]\n")


# ---- hooks
class Inner(nn.Module):
    def forward(self, x: tl.Tensor):
        return x + 1


class OfTuples(nn.Module):
    def forward(self, pair: typing.Tuple[int]):  # noqa: UP006 - a type of TorchScript
        return pair


Pair = typing.Tuple[tl.Tensor]  # noqa: UP006 - a type of TorchScript
Wrong = typing.Tuple[int]  # noqa: UP006


def no_annotation(self, inputs: Pair):
    return inputs[0]


def too_many(self, inputs: Pair, more: int) -> Pair:
    return inputs


def no_tuple(self, inputs: int) -> None:
    pass


def other_types(self, inputs: Wrong) -> None:
    pass


def two_types(self, inputs: typing.Tuple[int, int]) -> None:  # noqa: UP006
    pass


def returns_other(self, inputs: Pair) -> int:
    return 1


def unpacks(self, inputs: typing.Tuple[Wrong]) -> Wrong:  # noqa: UP006
    return inputs[0]


def other_output(self, inputs: Pair, output: int) -> None:
    pass


@pytest.mark.parametrize(
    ("module", "register", "hook", "text"),
    [
        (Inner, "forward_pre", no_annotation, "is missing a return annotation"),
        (Inner, "forward_pre", too_many, "expected to only have exactly 2 inputs but it had 3 inputs"),
        (Inner, "forward_pre", no_tuple, "to be typed as a Tuple but found type: 'int' instead"),
        (Inner, "forward_pre", other_types, "has the wrong inner types for the input tuple argument"),
        (Inner, "forward_pre", two_types, "has the wrong number of contained types"),
        (Inner, "forward_pre", returns_other, "returned the wrong type of: 'int'"),
        (OfTuples, "forward_pre", unpacks, r"as in: 'Tuple\[Tuple\[int\]\]'"),
        (Inner, "forward", other_output, "has the wrong type for the output argument"),
    ],
)
def test_hooks_with_other_signatures(module, register, hook, text):
    model = module()
    getattr(model, f"register_{register}_hook")(hook)
    with pytest.raises(RuntimeError, match=text):
        jit.script(model)


# ---- classes and interfaces
class Scale:
    def __init__(self, factor: int):
        self.factor = factor

    def apply(self, x: tl.Tensor) -> tl.Tensor:
        return x * self.factor


class Scaled(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return self.scale.apply(x)


def test_objects_of_plain_classes_are_parts_of_programs():
    program = jit.script(Scaled(Scale(3)))
    for each in (program, reload(program)):
        assert each(tl.ones(2)).tolist() == [3, 3]
    with pytest.raises(RuntimeError, match="Could not cast attribute 'factor' to type int"):
        jit.script(Scaled(Scale("3")))


def test_arguments_are_objects_of_the_class():
    @jit.script
    def factor(scale: Scale) -> int:
        return scale.factor

    assert factor(Scale(4)) == 4
    with pytest.raises(RuntimeError, match="object was missing attribute factor"):
        factor(tl.ones(1))
    with pytest.raises(RuntimeError, match=r"expected at most 1 argument\(s\) but received 2"):
        factor(Scale(4), 1)


@jit.interface
class Layer(nn.Module):
    def forward(self, x: tl.Tensor) -> tl.Tensor:
        pass


class OfInts(nn.Module):
    def forward(self, x: int) -> int:
        return x


def test_interfaces_are_checked():
    @jit.script
    def run(layer: Layer, x: tl.Tensor) -> tl.Tensor:
        return layer.forward(x)

    assert run(jit.script(Inner()), tl.ones(1)).item() == 2
    with pytest.raises(RuntimeError, match=r"is not compatible with interface .*forward has the type"):
        run(jit.script(OfInts()), tl.ones(1))
    with pytest.raises(RuntimeError, match="only a ScriptModule class can be subtype of module interface"):
        run(Scale(1), tl.ones(1))
    with pytest.raises(RuntimeError, match="does not support inheritance yet"):

        @jit.interface
        class Derived(nn.ReLU):
            pass


@jit.ignore
class Python:
    pass


def test_what_scripts_refuse():
    def makes():
        return Python()

    def default(x: typing.List[int] = [1]):  # noqa: UP006, B006 - the mistake
        return x

    def unknown(x: typing.Dict[str, jit.ScriptModule]):  # noqa: UP006
        return 1

    def failing(x):
        return undefined  # noqa: F821 - the mistake

    with pytest.raises(FrontendError, match="Cannot instantiate class 'Python'"):
        jit.script(makes)
    with pytest.raises(RuntimeError, match="Mutable default parameters are not supported"):
        jit.script(default)
    with pytest.raises(ValueError, match=r"Unknown type annotation.* at +File"):
        jit.script(unknown)

    class Acts(nn.Module):
        def __init__(self):
            super().__init__()
            self.act = failing

        def forward(self, x):
            return self.act(x)

    with pytest.raises(RuntimeError, match="we failed to compile it to a TorchScript function"):
        jit.script(Acts())


# ---- traces
def test_traces_of_scripts_with_nested_results():
    @jit.script
    def table_and_pairs(x):
        return {"a": [x + 1, x * 2]}, [(x, x - 1)]

    def run(x):
        table, pairs = table_and_pairs(x)
        return table["a"][1] + pairs[0][1]

    program = jit.trace(run, tl.ones(2))
    assert program(tl.tensor([1.0, 2.0, 3.0])).tolist() == [2, 5, 8]
    assert reload(program)(tl.zeros(1)).tolist() == [-1]


def test_dictionaries_with_tensors_as_keys():
    program = jit.trace(lambda a, b: {a: b * 2}, (tl.ones(1), tl.ones(1)), strict=False, check_trace=False)
    ((key, value),) = program(tl.zeros(1), tl.ones(1)).items()
    assert key.item() == 0 and value.item() == 2


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        part = jit.script(Inner())
        self.first = part
        self.second = nn.Sequential(part, nn.ReLU())

    def forward(self, x):
        return self.second(self.first(x))


def test_a_scripted_part_with_two_paths():
    assert jit.trace(Shared(), tl.ones(1))(tl.zeros(2)).tolist() == [2, 2]


class Exporting(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 3
        self.part = nn.ReLU()
        self.part = None

    @jit.export
    def twice(self, x: tl.Tensor) -> tl.Tensor:
        return x * 2 if self.count > 2 else x

    @jit.export
    def __getstate__(self):
        return self.count, self.training

    @jit.export
    def __setstate__(self, state):
        self.count = state[0] + 1
        self.training = state[1]

    def forward(self, x):
        return (lambda y: y + self.count)(x)


def test_exported_methods_of_traced_modules():
    program = jit.trace(nn.Sequential(Exporting()), tl.ones(1))
    part = program._modules["0"]
    assert program(tl.zeros(1)).item() == 3 and part.twice(tl.ones(1)).item() == 2
    assert not hasattr(part, "part")
    loaded = reload(program)._modules["0"]
    assert loaded.count == 4 and loaded.twice(tl.ones(1)).item() == 2


def test_what_traces_refuse():
    results = []

    def keeps(x):
        results.append(x * 2)
        return x + results[0]

    with pytest.raises(jit.TracingCheckError, match="Graphs differed across invocations"):
        jit.trace(keeps, tl.ones(2), check_inputs=[(tl.ones(2),)])
    model = Exporting()
    with pytest.raises(AttributeError, match="doesn't support compiling individual module's functions"):
        jit.trace(model.twice, tl.ones(1))
    with pytest.raises(RuntimeError, match="Only tensors, lists, tuples of tensors"):
        jit.trace(lambda x: [[x]], tl.ones(1))
    with pytest.raises(ValueError, match="backward hooks assigned can't be compiled"):
        hooked = Inner()
        hooked.register_full_backward_hook(lambda *args: None)
        jit.trace(hooked, tl.ones(1))


def test_a_size_that_is_read_is_a_constant_of_the_trace():
    with pytest.warns(jit.TracerWarning, match="Converting a tensor to a Python integer"):
        program = jit.trace(lambda x, k: x.topk(k)[0], (tl.arange(5), tl.tensor(2)), check_trace=False)
    assert program(tl.arange(9), tl.tensor(4)).tolist() == [8, 7]
