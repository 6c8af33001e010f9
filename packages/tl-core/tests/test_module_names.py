"""Names of modules and objects, weak references and recordings."""

import copy
import gc
import pickle

import pytest

import tl_core as tl
from tl_core.base import (
    component_logging,
    keyword_names,
    name_table,
    native_enum,
    operator_hooks,
    public_names,
    ranks,
    recording,
    weak,
)
from tl_core.operators import names


def test_modules_of_the_facade():
    assert name_table.module_of("nn.functional") == "tl_nn.functional"
    assert name_table.facade_of("tl_nn.functional") == "nn.functional"
    assert name_table.facade_of("numpy.linalg") is None
    assert name_table.first_name_of("quantization.QConfig") == "ao.quantization.QConfig"
    assert name_table.first_name_of("nn.Linear") == "nn.Linear"
    assert (
        name_table.real_name_of("nn.Linear") == "tl_nn.Linear"
        and name_table.real_name_of("ones") == "tl_core.ones"
    )
    assert name_table.home_of("tl_nn.modules.multihead_attention") == "nn.modules.activation"


def test_names_in_pickles():
    name = public_names.PublicModuleName("torch.nn.modules.linear", "tl_nn.modules.linear")
    assert name == "torch.nn.modules.linear" and pickle.loads(pickle.dumps(name)) == "tl_nn.modules.linear"
    kind = type("Kind", (), {"__module__": name})
    assert public_names.own_module_of(kind) == "tl_nn.modules.linear"
    assert public_names.own_module_of(test_names_in_pickles) == __name__


class Level(native_enum.NativeEnum):
    """Numbers as in PyTorch's files."""

    OFF = 0
    DETAIL = 2


def test_native_enums():
    assert int(Level.DETAIL) == 2 and Level(2) is Level.DETAIL and [10, 20, 30][Level.DETAIL] == 30
    assert Level.DETAIL != 2 and Level.DETAIL != Level.OFF
    loaded = pickle.loads(pickle.dumps(Level.DETAIL))
    assert loaded == Level.DETAIL and hash(loaded) == hash(Level.DETAIL) and loaded.name == "DETAIL"
    assert copy.deepcopy(Level.OFF) is copy.copy(Level.OFF) is Level.OFF


def test_other_names_of_keywords():
    @tl._C.overridable
    @keyword_names.also_named(input="A")
    def double(A):
        return A * 2

    assert double(input=tl.ones(1)).item() == double(A=tl.ones(1)).item() == 2
    with pytest.raises(TypeError):
        double(B=tl.ones(1))


def test_loggers_of_artifacts():
    for artifact, component in component_logging.ARTIFACTS.items():
        loggers = component_logging.artifact_names(artifact)
        assert loggers and all(name.endswith(f".__{artifact}") for name in loggers)
        assert [name.rpartition(".")[0] for name in loggers] == list(component_logging.COMPONENTS[component])


def test_hooks_of_packages(monkeypatch):
    with pytest.raises(RuntimeError, match="offers 'no such hook'"):
        operator_hooks.maker("no such hook")
    monkeypatch.setitem(operator_hooks.makers, "example", "math:sqrt")
    assert operator_hooks.maker("example")(9) == 3
    monkeypatch.setattr(operator_hooks, "python_operators", ["first"])
    operator_hooks.add_python_operators("second", "first")
    assert operator_hooks.python_operators == ["first", "second"]


def test_groups_of_processes():
    assert ranks.default_group() is None


def test_weak_references():
    x = tl.ones(1)
    reference = weak.TensorWeakRef(x)
    same, other = weak.WeakIdRef(x), weak.WeakIdRef(tl.ones(1))
    assert reference() is x and same == weak.WeakIdRef(x) and hash(same) == id(x) and same != other
    key = weak.WeakIdRef(x)
    del x
    gc.collect()
    assert reference() is None and same != key and same == same
    with pytest.raises(TypeError, match="got int"):
        weak.TensorWeakRef(3)


def test_work_of_other_processes():
    recording.take_foreign()
    recording.note_foreign(1, "load", "data", 10, 20)
    assert recording.take_foreign() == []
    recording.start()
    try:
        recording.note_foreign(1, "load", "data", 10, 20)
    finally:
        recording.stop()
    assert recording.take_foreign() == [recording.ForeignEvent(1, "load", "data", 10, 20)]
    assert recording.take_foreign() == []


def test_names_of_operators():
    assert names.parse_namespace("mylib::sinc") == ("mylib", "sinc")
    for name in "sinc", "a::b::c":
        with pytest.raises(ValueError, match="namespace::name"):
            names.parse_namespace(name)
    add = names.lookup_op("aten::add.Tensor")
    assert add is tl.ops.aten.add.Tensor and add(tl.ones(1), tl.ones(1)).item() == 2
    with pytest.raises(AttributeError):
        names.lookup_op("aten::no_such_operator")
    assert (
        names.native_name("aten::relu.default") == "relu"
        and names.native_name("mylib::sinc") == "mylib::sinc"
    )
    assert (
        names.qualified_name(add, "f") == "aten::add.Tensor" and names.qualified_name("a::b", "f") == "a::b"
    )
    with pytest.raises(ValueError, match=r"f\(op\): got unexpected type"):
        names.qualified_name(3, "f")
