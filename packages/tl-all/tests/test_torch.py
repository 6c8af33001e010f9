"""Programs that say `import torch`."""

import pytest

POOL = """
import multiprocessing, pickle, sys
import torch, torch.nn.functional as F
from torch.nn import Linear
import torch.optim as optim

class Thing:
    def __init__(self, value):
        self.value, self.layer = value, torch.nn.Linear

def work(value):
    import torch.nn as again
    assert again.Linear is Linear
    return Thing(value), str(Linear.__module__), torch.__version__

def nested(value):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, (value,))[1]

if __name__ == "__main__":
    method, preload = sys.argv[1:3]
    if preload != "none":
        multiprocessing.set_forkserver_preload(preload.split(","))
    with multiprocessing.get_context(method).Pool(2) as pool:
        for value, (thing, where, version) in enumerate(pool.map(work, range(3))):
            assert (thing.value, thing.layer, version) == (value, Linear, torch.__version__)
            assert type(thing) is Thing and where == Linear.__module__
    from concurrent.futures import ProcessPoolExecutor
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as executor:
        assert executor.submit(nested, 1).result() == Linear.__module__
    print("done")
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing(python, method):
    assert python("-m", "tl.torch", "program.py", method, "none", files={"program.py": POOL}) == "done\n"
    assert python("-m", "tl.torch", "-m", "program", method, "none", files={"program.py": POOL}) == "done\n"


@pytest.mark.parametrize("preload", ["__main__", "__main__,torch.nn"])
def test_a_fork_server_that_preloads(python, preload):
    assert (
        python("-m", "tl.torch", "program.py", "forkserver", preload, files={"program.py": POOL}) == "done\n"
    )


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_install_in_a_program_reaches_children_too(execute, method):
    program = """
if __name__ == "__main__":
    import multiprocessing, os, sys, tl.torch, work
    tl.torch.install()
    tl.torch.install()
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print(pool.apply(work.where))
"""
    files = {
        "work.py": "def where():\n    import torch.nn\n    return torch.nn.Linear.__module__.split('.')[0]\n"
    }
    assert execute(program, method, files=files) == "torch\n"


def test_workers_of_a_loader_do_not_load_another_torch(execute):
    program = """
import tl.torch
tl.torch.install()
if __name__ == "__main__":
    from squares import Squares
    from torch.utils.data import DataLoader
    print([int(x) for x in DataLoader(Squares(), num_workers=1)])
"""
    files = {
        "torch/__init__.py": "raise AssertionError('this is another torch')\n",
        "squares.py": """
import torch
class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 3
    def __getitem__(self, i):
        return torch.tensor(i * i)
""",
    }
    assert execute(program, files=files) == "[0, 1, 4]\n"


def test_children_find_tl_where_the_program_found_it(execute, tmp_path):
    program = """
import sys
sys.path.insert(0, "hidden")
import tl.torch
tl.torch.install()
if __name__ == "__main__":
    import multiprocessing
    multiprocessing.set_start_method("spawn")
    multiprocessing.Process(target=print, args=("ran",)).start()
"""
    assert execute(program) == "ran\n"


def test_the_alias_is_the_same_object_at_every_depth(python):
    code = """
import torch, tl, torch.nn.functional, tl_nn, torch.nn.modules.linear, importlib.util, pickle
assert torch is tl and torch.nn is tl.nn is tl_nn and torch.nn.functional is tl_nn.functional
assert torch.nn.modules.linear.Linear is torch.nn.Linear
assert torch.nn.functional.__spec__.name == "tl_nn.functional" and tl_nn.__spec__.name == "tl_nn"
assert importlib.util.find_spec("torch") is not None
assert importlib.util.find_spec("torch.nowhere_at_all") is None
linear = pickle.loads(b"ctorch.nn.modules.linear\\nLinear\\n.")
assert linear is tl_nn.Linear
torch.zeros = 3
assert tl.zeros == 3
"""
    assert python("-m", "tl.torch", "-c", code) == ""


def test_versions(python):
    code = """
import importlib.metadata, torch.version, tl.version
assert torch.__version__ == importlib.metadata.version("torch") == torch.version.__version__ == "2.7.0+tl"
assert tuple(map(int, torch.__version__.partition("+")[0].split("."))) >= (2, 7)
assert tl.version.tl.startswith("0.") and torch.version.cuda is None
"""
    assert python("-m", "tl.torch", "-c", code) == ""
    assert "PackageNotFoundError" in python(
        "-c", "import tl, importlib.metadata as m; m.version('torch')", code=1
    )


@pytest.mark.parametrize(
    ("other", "order"),
    [
        ("2.7.0", 0),
        ("2.7", 0),
        ("2.7.0+cpu", 0),
        ((2, 7), 0),
        ([2, 7, 0], 0),
        ("2.10", -1),
        ("2.7.1", -1),
        ("3.0.0a0", -1),
        ((2, 8), -1),
        ("2.6.9+cu126", 1),
        ("1.13.1", 1),
        ("2", 1),
        ((1, 13), 1),
        ("2.7rc1", 0),
    ],
)
def test_the_version_compares_by_its_numbers(other, order):
    from tl.torch import API_VERSION

    version = API_VERSION
    assert (version < other) is (order < 0)
    assert (version <= other) is (order <= 0)
    assert (version > other) is (order > 0)
    assert (version >= other) is (order >= 0)
    assert (other < version) is (order > 0)


def test_the_version_is_text():
    import json

    from tl.torch import API_VERSION

    assert API_VERSION == "2.7.0+tl"
    assert {API_VERSION: 1}["2.7.0+tl"] == 1
    assert json.dumps(API_VERSION) == '"2.7.0+tl"'
    with pytest.raises(TypeError):
        API_VERSION < 2  # noqa: B015


def test_the_program_is_main(python, tmp_path):
    program = """
import sys, threading, __main__
assert __name__ == "__main__" and __main__.__dict__ is globals()
assert __file__ == sys.path[0] + "/program.py" and __spec__ is None
assert sys.argv == ["program.py", "-m", "--help", "x"], sys.argv
def late():
    threading.main_thread().join()
    assert sys.modules["__main__"].late is late
    print("after the end", flush=True)
threading.Thread(target=late).start()
"""
    program = program.replace("and __spec__ is None", "and globals().get('__spec__') is None")
    text = python("-m", "tl.torch", "program.py", "-m", "--help", "x", files={"program.py": program})
    assert text == "after the end\n"


def test_a_package_a_folder_and_code(python):
    main = "import sys, torch\nprint(__name__, __package__, sys.argv[1:], torch.__name__)\n"
    files = {"package/__init__.py": "", "package/__main__.py": main, "folder/__main__.py": main}
    assert python("-m", "tl.torch", "-m", "package", "a", files=files) == "__main__ package ['a'] torch\n"
    assert python("-m", "tl.torch", "folder", "b", files=files) == "__main__  ['b'] torch\n"
    assert "no __main__ in empty" in python("-m", "tl.torch", "empty", files={"empty/x.py": ""}, code=1)
    assert python("-m", "tl.torch", "-c", "import sys, torch; print(sys.argv)", "c") == "['-c', 'c']\n"


def test_the_exit_code_is_the_programs(python):
    assert python("-m", "tl.torch", "-c", "raise SystemExit(7)", code=7) == ""
    assert "ValueError: 3" in python("-m", "tl.torch", "-c", "raise ValueError(3)", code=1)


def test_a_program_that_is_not_there(python):
    assert "cannot open nothing.py: No such file" in python("-m", "tl.torch", "nothing.py", code=2)
    assert "no module named nothing" in python("-m", "tl.torch", "-m", "nothing", code=1)
    assert "usage" in python("-m", "tl.torch", code=2)
    assert "usage" in python("-m", "tl.torch", "-c", code=2)


def test_another_torch_is_not_replaced(execute):
    program = """
import sys, types
sys.modules["torch"] = types.ModuleType("torch")
import tl.torch
try:
    tl.torch.install()
except RuntimeError as error:
    assert "already imported" in str(error)
else:
    raise AssertionError("installed over another torch")
"""
    execute(program)


def test_starting_is_cheap(python):
    code = (
        "import sys; assert 'multiprocessing' not in sys.modules and 'importlib.metadata' not in sys.modules"
    )
    python("-m", "tl.torch", "-c", code)


def test_a_missing_package_is_named_for_torch_too(python):
    code = "from tl import _names; _names.MODULES['nowhere'] = 'tl_nowhere'; _names.TOPS |= {'nowhere'}"
    text = python("-m", "tl.torch", "-c", f"{code}; import torch.nowhere", code=1)
    assert "tl.nowhere is part of the package tl-nowhere" in text


def test_functorch_comes_with_torch(execute):
    program = """
import tl.torch
tl.torch.install()
import functorch, torch
from functorch import FunctionalModule, make_functional, make_fx, vmap
from functorch.experimental import control_flow, replace_all_batch_norm_modules_
assert control_flow.cond is torch.cond
assert replace_all_batch_norm_modules_ is torch.func.replace_all_batch_norm_modules_
assert vmap is torch.func.vmap and functorch.grad is torch.func.grad
function, parameters = make_functional(torch.nn.Linear(1, 1))
assert isinstance(function, FunctionalModule) and len(parameters) == 2
try:
    from functorch import dim
except ImportError:
    print("none")
"""
    assert execute(program) == "none\n"


def test_overridable_functions_have_names_in_a_program(execute):
    program = """
import tl.torch
tl.torch.install()
import torch, tl_core
from torch.overrides import get_overridable_functions, get_testing_overrides, resolve_name
assert resolve_name(torch.abs) == "torch.abs" and torch.abs in get_testing_overrides()
assert torch.stft in get_overridable_functions()[tl_core]
assert {"abs", "stft", "Tensor"} <= set(dir(tl_core))
print(len(get_testing_overrides()) > 1400)
"""
    assert execute(program) == "True\n"
