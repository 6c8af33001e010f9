"""Every way to say a name gives one object, whose own name is that of its package."""

import importlib
import pickle
import sys

import pytest

import tl

MODULES = {
    "nn": "tl_nn",
    "nn.functional": "tl_nn.functional",
    "nn.modules.linear": "tl_nn.modules.linear",
    "optim": "tl_nn.optim",
    "autograd": "tl_autograd",
    "backends": "tl_backends.backends",
    "backends.mkl": "tl_backends.backends.mkl",
    "cuda": "tl_backends.cuda",
    "cuda.random": "tl_backends.cuda.random",
    "compiler": "tl_compiler.compiler",
}


@pytest.mark.parametrize(("name", "real"), MODULES.items())
def test_an_import_gives_the_real_module(name, real):
    module = importlib.import_module(f"tl.{name}")
    assert module is importlib.import_module(real)
    assert module.__name__ == real
    assert module.__spec__.name == real
    assert module is sys.modules[f"tl.{name}"] is sys.modules[real]


@pytest.mark.parametrize(("name", "real"), MODULES.items())
def test_the_real_module_may_come_first(execute, name, real):
    execute(
        f"import {real}, tl, tl.{name}\nassert tl.{name} is {real}\nassert {real}.__spec__.name == {real!r}"
    )


@pytest.mark.parametrize(("name", "real"), MODULES.items())
def test_attributes_need_no_import(execute, name, real):
    execute(f"import tl\nfound = tl.{name}\nimport {real}\nassert found is {real}")


def test_a_name_with_modules_below_it_and_objects_of_another_package(execute):
    execute(
        "from tl.distributed._composable.fsdp import fully_shard\n"
        "from tl.distributed._composable import replicate\n"
        "import tl.distributed.fsdp, tl_distributed.parallel.replicate as module\n"
        "assert fully_shard is tl.distributed.fsdp.fully_shard and replicate is module.replicate"
    )


def test_the_forms_of_an_import():
    import tl.nn.functional as first
    import tl_nn
    import tl_nn.functional
    from tl import nn
    from tl.nn import functional as second
    from tl.nn.modules.linear import Linear

    assert nn is tl.nn is tl_nn
    assert first is second is tl.nn.functional is tl_nn.functional
    assert Linear is tl.nn.Linear is tl_nn.Linear
    assert Linear.__module__.startswith("tl_nn")


def test_a_star_import_gives_the_core(execute):
    program = """
from types import ModuleType
from tl import *
import tl, tl_core
for name in tl.__all__:
    own = vars(tl_core).get(name)
    assert globals()[name] is (getattr(tl, name) if own is None or isinstance(own, ModuleType) else own), name
assert zeros is tl_core.zeros and einsum is tl_core.einsum
"""
    execute(program)


def test_only_the_core_is_loaded_at_first(execute):
    program = """
        import sys, tl
        owners = {name.partition('.')[0] for name in sys.modules if name.startswith('tl_')}
        assert owners == {'tl_core'}, owners
        tl.nn
        assert 'tl_nn' in sys.modules and 'tl_backends' not in sys.modules
    """
    execute("\n".join(line.strip() for line in program.splitlines()))


def test_reload_keeps_the_object():
    import tl.nn.functional

    before, spec = tl.nn.functional, tl.nn.functional.__spec__
    assert importlib.reload(tl.nn.functional) is before is tl.nn.functional
    assert before.__spec__.name == spec.name == "tl_nn.functional"
    assert before.__spec__.origin == spec.origin
    assert "BroadcastingList1" in before.__all__


def test_reload_of_the_facade():
    nn = tl.nn
    assert importlib.reload(tl) is tl
    assert tl.nn is nn
    assert sum(type(finder).__module__ == "tl._finder" for finder in sys.meta_path) == 1


def test_pickles_name_the_package_that_has_the_class():
    data = pickle.dumps(
        [tl.nn.Linear, tl.optim.SGD, tl.nn.functional.relu, tl.backends.cpu.get_cpu_capability]
    )
    assert b"tl_nn" in data
    assert b"ctl." not in data
    assert pickle.loads(data)[0] is tl.nn.Linear


def test_pickles_load_without_the_facade(execute):
    data = pickle.dumps(tl.nn.Linear)
    execute(
        f"import pickle, sys\nassert pickle.loads({data!r}).__name__ == 'Linear'\nassert 'tl' not in sys.modules"
    )


def test_threads_that_race_for_a_name_get_one_object(execute):
    program = """
import importlib, sys, threading
sys.setswitchinterval(1e-6)
import tl
forms = {
    "nn": [
        lambda: importlib.import_module("tl.nn"),
        lambda: importlib.import_module("tl_nn"),
        lambda: tl.nn,
        lambda: __import__("tl", fromlist=["nn"]).nn,
    ],
    "nn.functional": [
        lambda: importlib.import_module("tl.nn.functional"),
        lambda: tl.nn.functional,
        lambda: __import__("tl.nn", fromlist=["functional"]).functional,
        lambda: __import__("tl.nn.functional").nn.functional,
    ],
    "cuda.memory": [
        lambda: importlib.import_module("tl.cuda.memory"),
        lambda: tl.cuda.memory,
        lambda: __import__("tl.cuda", fromlist=["memory"]).memory,
        lambda: __import__("tl.cuda.memory").cuda.memory,
    ],
}
found, errors = {name: [] for name in forms}, []
barrier = threading.Barrier(24)
def touch(name, form):
    barrier.wait()
    try:
        found[name].append(form())
    except BaseException as error:
        errors.append(error)
threads = [threading.Thread(target=touch, args=(n, f)) for _ in range(2) for n in forms for f in forms[n]]
[t.start() for t in threads]
[t.join() for t in threads]
assert not errors, errors
for name, modules in found.items():
    assert len(modules) == 8 and len(set(map(id, modules))) == 1, modules
    assert modules[0].__spec__.name == modules[0].__name__, modules[0].__spec__
for name, module in list(sys.modules.items()):
    if name.startswith("tl_"):
        assert module.__spec__.name == name, (name, module.__spec__)
"""
    for _ in range(5):
        execute(program)


def test_a_module_that_its_package_made_itself(execute):
    program = """
import sys, types, tl_core
sys.modules["tl_core.handmade"] = tl_core.handmade = types.ModuleType("tl_core.handmade")
import tl, tl.handmade
assert tl.handmade is tl_core.handmade
assert tl.handmade.__spec__ is None
"""
    execute(program)


def test_setting_an_attribute_is_seen_by_all():
    plain = tl.zeros
    try:
        tl.zeros = "another"
        from tl import zeros

        assert zeros == tl.zeros == "another"
    finally:
        tl.zeros = plain


def test_deleting_an_attribute_brings_back_the_original():
    original = tl.nn
    del tl.nn
    assert tl.nn is original


def test_objects_of_other_packages():
    from tl_compiler import compiler

    assert tl.compile is compiler.compile


def test_dir_shows_what_is_there():
    names = dir(tl)
    assert {"nn", "optim", "autograd", "cuda", "zeros", "compile", "torch", "version"} <= set(names)
    assert all(hasattr(tl, name) for name in names)


def test_running_a_module_by_its_name_in_the_facade(python):
    assert python("-m", "tl.nn.modules.linear") == ""
    assert "usage: python -m tl.torch" in python("-m", "tl.torch", "--help")


def test_the_code_of_an_alias_is_that_of_the_module(execute):
    execute("""
import importlib.util, runpy
assert importlib.util.find_spec("tl.cuda.nvtx").loader is not None
names = runpy.run_module("tl.cuda.nvtx")
assert names["__name__"] == "tl.cuda.nvtx"

import tl
assert names["__doc__"] == tl.cuda.nvtx.__doc__
""")


def test_tl_has_its_own_version():
    import tl.version

    assert tl.__version__ == tl.version.__version__
    assert tl.__version__.startswith("0.")


@pytest.mark.parametrize("name", ["_nn", "_linalg"])
def test_an_import_keeps_a_namespace_of_native_functions(name):
    """The import system stores the module in `tl._C`, which is tl-core's own module."""
    native = getattr(tl._C, name)
    assert importlib.import_module(f"tl._C.{name}") is native
    assert getattr(tl._C, name) is native
    assert tl.masked.norm(tl.tensor([[3.0, 4.0]]), 2.0, 1).tolist() == [5]
    assert tl.nn.functional.linear(tl.ones(1, 2), tl.ones(1, 2)).item() == 2
