# ruff: noqa: UP006, UP035 - TorchScript compiles these forms
"""Small rules of packages, graphs and scripts, each against its definition, Python or PyTorch's answer."""

import io
import pickle
from collections import OrderedDict
from typing import Dict, List

import pytest

import tl_core as tl
import tl_nn as nn
from tl_compiler import fx, jit
from tl_compiler.compiler import annotations
from tl_compiler.decompositions import arithmetic
from tl_compiler.fx.operator_schemas import normalize_function
from tl_compiler.fx.passes.dialect.common.cse_pass import CSEPass
from tl_compiler.package import PackageExporter, PackageImporter
from tl_compiler.package.module_dependencies import _modules_of
from tl_core import Tensor

aten = tl.ops.aten


# ---- packages
class First:
    pass


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_modules_that_a_pickle_names(protocol):
    """The module of the second class is the text of an earlier entry, so that the pickle reads its memo."""
    module = First.__module__
    data = pickle.dumps([First, module, OrderedDict, First, io.BytesIO, module], protocol=protocol)
    names = {"copyreg", module, "collections", "io", "_io"}
    assert {module, "collections"} <= set(_modules_of(data)) <= names


def test_the_memo_of_a_pickle_starts_at_zero():
    text = b"\x8c\x04json\x94\x8c\x05dumps\x94\x93."  # MEMOIZE
    assert list(_modules_of(b"\x80\x04" + text)) == ["json"]
    # PUT 0, then other texts, then GET 0: the module is the text of entry 0.
    for put, get in ((b"q\x00", b"h\x00"), (b"p0\n", b"g0\n"), (b"r\x00\x00\x00\x00", b"j\x00\x00\x00\x00")):
        data = b"\x80\x04\x8c\x04json" + put + b"0\x8c\x03csv0" + get + b"\x8c\x05dumps\x93."
        assert list(_modules_of(data)) == ["json"]


def test_a_folder_becomes_a_package(tmp_path):
    folder = tmp_path / "tools"
    (folder / "deep").mkdir(parents=True)
    (folder / "__init__.py").write_text("from .one import NUMBER\n")
    (folder / "one.py").write_text("NUMBER = 1\n")
    (folder / "deep" / "__init__.py").write_text("")
    (folder / "deep" / "two.py").write_text("NUMBER = 2\n")
    (folder / "data.txt").write_text("no source")
    file = io.BytesIO()
    with PackageExporter(file) as exporter:
        exporter.save_source_file("tools", str(folder))
        exporter.save_source_file("alone", str(folder / "one.py"))
        exporter.save_text("tools", "words.txt", "some words")
    file.seek(0)
    importer = PackageImporter(file)
    assert importer.import_module("tools").NUMBER == 1
    assert importer.import_module("tools.deep.two").NUMBER == 2
    assert importer.import_module("alone").NUMBER == 1
    reader = importer.get_resource_reader("tools")
    assert set(reader.contents()) == {"__init__.py", "one.py", "deep", "words.txt"}
    assert reader.is_resource("words.txt") and not reader.is_resource("data.txt")
    assert reader.open_resource("words.txt").read() == b"some words"


# ---- graphs
@pytest.mark.parametrize("weight", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_interpolation_meets_both_ends(weight):
    x, y = tl.tensor([1.0, -3.0]), tl.tensor([2.0, 5.0])
    expected = [1 + weight, -3 + 8 * weight]
    assert arithmetic.lerp(x, y, weight).tolist() == expected
    assert arithmetic.lerp(x, y, tl.full((2,), weight)).tolist() == expected


def test_written_values_are_not_merged():
    graph = fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    first, second, third, fourth = (graph.call_function(aten.add.Tensor, (x, y)) for _ in range(4))
    view = graph.call_function(aten.view.default, (first, [-1]))
    graph.call_function(aten.add_.Tensor, (view, third))
    graph.output((first, second, third, fourth))
    module = fx.GraphModule(nn.Module(), graph)
    result = CSEPass()(module).graph_module
    calls = [node for node in result.graph.nodes if node.target is aten.add.Tensor]
    # The first has a value of its own. The third is only read, so the second, third and fourth are one.
    assert len(calls) == 2
    a, b = tl.ones(2), tl.tensor([1.0, 2.0])
    assert [v.tolist() for v in result(a, b)] == [[4.0, 6.0], *[[2.0, 3.0]] * 3]


def test_an_interpreter_keeps_values_on_request():
    traced = fx.symbolic_trace(lambda x: (x + 1) * 2)
    for keeps in (False, True):
        interpreter = fx.Interpreter(traced, garbage_collect_values=not keeps)
        assert interpreter.garbage_collect_values is not keeps
        assert interpreter.run(tl.ones(1)).item() == 4.0
        names = {node.name for node in interpreter.env}
        assert ({"x", "add"} <= names) is keeps


def test_calls_are_told_apart_by_types():
    options = {"normalize_to_only_use_kwargs": True}
    for kind, named in ((Tensor, {"other": 2}), (int, {"dim": 2, "keepdim": False})):
        arguments = normalize_function(aten.max, (1, 2), {}, arg_types=(Tensor, kind), **options)
        assert arguments == ((), {"input": 1, **named})
    assert normalize_function(aten.add.Tensor, (1, 2)) == ((1, 2), {"alpha": 1})
    named = normalize_function(aten.add.Tensor, (1,), {"other": 2}, **options)
    assert named == ((), {"input": 1, "other": 2, "alpha": 1})
    assert normalize_function(aten.add.Tensor, (), {}) is None


@pytest.mark.parametrize("mark", [annotations.forbid_in_graph, annotations.disallow_in_graph])
def test_annotations_are_for_functions(mark):
    def function(x):
        return x

    assert mark(function) is function and mark([function, function]) == [function, function]
    for wrong in (3, [function, "text"]):
        with pytest.raises(AssertionError, match="callable"):
            mark(wrong)


# ---- scripts
def empty_dictionaries(n: int):
    a: Dict[str, int] = {}
    b = {}
    for i in range(n):
        a[str(i)] = i
        b[str(i)] = tl.full((1,), i)
    return a, b


def sorted_lists(x: List[int], y: List[float], z: List[str]):
    x.sort()
    y.sort(reverse=True)
    z.sort(False)
    return x, y, z


def test_empty_dictionaries_in_scripts():
    numbers, tensors = jit.script(empty_dictionaries)(2)
    assert numbers == {"0": 0, "1": 1}
    assert {key: value.item() for key, value in tensors.items()} == {"0": 0.0, "1": 1.0}


def test_lists_are_sorted_in_place():
    arguments = [3, 1, 2], [0.5, 2.5, 1.5], ["b", "a"]
    assert jit.script(sorted_lists)(*arguments) == ([1, 2, 3], [2.5, 1.5, 0.5], ["a", "b"])


@pytest.mark.parametrize("kind", ["Reflection", "Replication", "Circular", "Zero", "Constant"])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_paddings_of_each_dimension(kind, axes):
    numpy = pytest.importorskip("numpy")
    layer = getattr(nn, f"{kind}Pad{axes}d")(*((1, 0.0) if kind == "Constant" else (1,)))
    x = tl.arange(float(2 * 3**axes)).reshape(1, 2, *[3] * axes)
    modes = {"Reflection": "reflect", "Replication": "edge", "Circular": "wrap"}
    expected = numpy.pad(x.numpy(), [(0, 0)] * 2 + [(1, 1)] * axes, modes.get(kind, "constant"))
    assert (jit.script(layer)(x).numpy() == expected).all()


# ---- replayed calls
@pytest.mark.parametrize(
    ("function", "arguments", "text"),
    [
        (tl.nonzero, (tl.ones(2),), "the shape of the result of nonzero depends on values"),
        (
            tl.masked_select,
            (tl.ones(2), tl.tensor([True, False])),
            "the shape of the result of masked_select",
        ),
        (tl.where, (tl.tensor([True]),), "where(condition) has a shape that depends on values"),
        (tl.where, (tl.tensor([True]), tl.ones(1), tl.zeros(1)), None),
        (tl.add, (tl.ones(2), 1), None),
        (Tensor.__getitem__, (tl.ones(2), tl.tensor([True, False])), "a mask selects elements"),
        (
            Tensor.__getitem__,
            (tl.ones(2), (slice(None), tl.tensor([1, 0], dtype=tl.uint8))),
            "a mask selects elements",
        ),
        (Tensor.__getitem__, (tl.tensor([True]), 0), None),  # only the index may be no mask
        (Tensor.__getitem__, (tl.ones(2), tl.tensor([1, 0])), None),
        (Tensor.__setitem__, (tl.ones(2), tl.tensor([True, False]), 0.0), "a mask selects elements"),
        (
            Tensor.index_put_,
            (tl.ones(2), (tl.tensor([True, False]),), tl.tensor(0.0)),
            "a mask selects elements",
        ),
        (Tensor.index_put_, (tl.ones(2), [tl.tensor([0])], tl.tensor(0.0)), None),
    ],
)
def test_calls_whose_shapes_depend_on_values_are_not_replayed(function, arguments, text):
    from tl_compiler.compiler.replay.tensor_rules import refusal_of

    result = refusal_of(function, arguments, {})
    assert result is None if text is None else text in result
