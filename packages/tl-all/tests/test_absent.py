# ruff: noqa: E501
"""Programs that import names of PyTorch that tl lacks: stand-ins, and what asks whether a name is there."""

import os
import subprocess
import sys

import pytest

ABSENT = "from torch._inductor.lowering import register_lowering"

# Each sets `answer`, and says what a program finds out of a name that isn't there. The answers are the same whether or
# not imports give stand-ins.
IDIOMS = {
    "try": f"try:\n    {ABSENT}\n    answer = 1\nexcept ImportError:\n    answer = 0",
    "bare": f"try:\n    {ABSENT}\n    answer = 1\nexcept:\n    answer = 0",
    "exception": f"try:\n    {ABSENT}\n    answer = 1\nexcept Exception as e:\n    answer = type(e).__name__",
    "module": "try:\n    import torch._inductor.lowering\n    answer = 1\nexcept ModuleNotFoundError as e:\n    answer = e.name",
    "as": "try:\n    import torch._inductor.lowering as l\n    answer = 1\nexcept ImportError:\n    answer = 0",
    "tuple": f"try:\n    {ABSENT}\n    answer = 1\nexcept (ImportError, AttributeError):\n    answer = 0",
    "own sentence": (
        f"try:\n    try:\n        {ABSENT}\n    except ImportError as e:\n        raise RuntimeError('newer') from e\n"
        "except RuntimeError as e:\n    answer = str(e)"
    ),
    "else": f"try:\n    {ABSENT}\nexcept ImportError:\n    answer = 'except'\nelse:\n    answer = 'else'",
    "finally": f"answer = []\ntry:\n    try:\n        {ABSENT}\n    finally:\n        answer.append(1)\nexcept ImportError:\n    answer.append(2)",
    "suppress": f"import contextlib\nanswer = 0\nwith contextlib.suppress(ImportError):\n    {ABSENT}\n    answer = 1",
    "function": f"def f():\n    {ABSENT}\ntry:\n    f()\n    answer = 1\nexcept ImportError:\n    answer = 0",
    "function with try": f"def f():\n    try:\n        {ABSENT}\n    except ImportError:\n        return False\n    return True\nanswer = f()",
    "method": f"class A:\n    def has(self):\n        try:\n            {ABSENT}\n            return 1\n        except ImportError:\n            return 0\nanswer = A().has()",
    "lambda": "answer = 0\ntry:\n    (lambda: __import__('torch._inductor.lowering'))()\n    answer = 1\nexcept ImportError:\n    pass",
    "hasattr": "import torch\nanswer = hasattr(torch.nn.functional, 'scaled_grouped_mm'), hasattr(torch, 'cudnn_batch_norm')",
    "getattr": "import torch\nanswer = getattr(torch, 'cudnn_batch_norm', None)",
    "getattr raises": "import torch\ntry:\n    answer = getattr(torch, 'cudnn_batch_norm')\nexcept AttributeError as e:\n    answer = e.name",
    "attribute": "import torch\ntry:\n    torch._inductor.lowering.x\n    answer = 1\nexcept AttributeError:\n    answer = 0",
    "find_spec": "import importlib.util\nanswer = importlib.util.find_spec('torch._inductor.lowering') is None",
    "find_spec and import": (
        "import importlib.util\nanswer = 0\nif importlib.util.find_spec('torch._inductor.lowering'):\n"
        f"    {ABSENT}\n    answer = 1"
    ),
    "import_module": "import importlib\ntry:\n    importlib.import_module('torch._inductor.lowering')\n    answer = 1\nexcept ImportError:\n    answer = 0",
    "__import__": "try:\n    __import__('torch._inductor.lowering')\n    answer = 1\nexcept ImportError:\n    answer = 0",
    "fromlist": "try:\n    m = __import__('torch._inductor', fromlist=['lowering'])\n    answer = hasattr(m, 'lowering')\nexcept ImportError:\n    answer = 0",
    "sys.modules": "import sys, torch\nanswer = 'torch._inductor.lowering' in sys.modules",
    "after": "import helper_plain\ntry:\n    import torch._inductor.lowering\n    answer = 1\nexcept ImportError:\n    answer = 0",
    "after, hasattr": "import helper_plain, torch\nanswer = hasattr(torch._inductor, 'lowering')",
    "helper": "try:\n    import helper\n    answer = helper.register_lowering\nexcept ImportError:\n    answer = 0",
    "helper of helper": "try:\n    import helper_of_helper\n    answer = 1\nexcept ImportError:\n    answer = 0",
    "helper by function": "import importlib\ndef load(name):\n    try:\n        return importlib.import_module(name)\n    except ImportError:\n        return None\nanswer = load('helper2')",
    "helper in a package": "try:\n    from package_of_helpers import thing\n    answer = 1\nexcept ImportError:\n    answer = 0",
    "unknown name": "answer = 0\ntry:\n    import helper_unknown\nexcept ImportError as e:\n    answer = str(e)[:60]",
    "unknown module": "try:\n    import torch.no_such_module\n    answer = 1\nexcept ModuleNotFoundError as e:\n    answer = e.name",
    "exec": f"try:\n    exec({ABSENT!r})\n    answer = 1\nexcept ImportError:\n    answer = 0",
    "version": "import torch\nanswer = tuple(map(int, torch.__version__.split('+')[0].split('.')[:2])) >= (2, 8)",
    "version and import": (
        "import torch\nanswer = 0\nif tuple(map(int, torch.__version__.split('.')[:2])) >= (2, 9):\n"
        "    from torch.nn.functional import scaled_grouped_mm\n    answer = 1"
    ),
    "loop": (
        "import importlib\nanswer = []\nfor name in ('torch.nn', 'torch._inductor.lowering'):\n    try:\n"
        "        importlib.import_module(name)\n        answer.append(name)\n    except ImportError:\n        continue"
    ),
    "flag": f"FLAG = True\ntry:\n    {ABSENT}\nexcept ImportError:\n    FLAG = False\nanswer = FLAG",
    "dummy class": f"try:\n    {ABSENT}\nexcept ImportError:\n    class register_lowering:\n        pass\nanswer = register_lowering.__name__",
    "older name": "try:\n    from torch._inductor.lowering import x as Linear\nexcept ImportError:\n    from torch.nn import Linear\nanswer = Linear.__name__",
    "type checking": f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {ABSENT}\nanswer = 'register_lowering' in globals()",
    "is_available": "import torch\nanswer = torch.distributed.is_available(), torch.cuda.is_available()",
    "dir": "import torch\nanswer = 'lowering' in dir(torch._inductor), 'lowering' in vars(torch._inductor)",
    "pkgutil": "import pkgutil, torch\nanswer = [m.name for m in pkgutil.iter_modules(torch._inductor.__path__) if m.name == 'lowering'] if hasattr(torch._inductor, '__path__') else None",
    "loader": (
        "import importlib.util\nspec = importlib.util.find_spec('helper3')\nm = importlib.util.module_from_spec(spec)\n"
        "try:\n    spec.loader.exec_module(m)\n    answer = 1\nexcept ImportError:\n    answer = 0"
    ),
}

HELPERS = {
    **dict.fromkeys(("helper", "helper2", "helper3", "package_of_helpers/inner"), f"{ABSENT}\n"),
    "helper_plain": "import os\nif os.environ['TL_ABSENT'] != 'error':\n    import helper_plain2\n",
    "helper_plain2": "import torch._inductor.lowering\n",
    "helper_of_helper": "import helper_between\n",
    "helper_between": "import helper\n",
    "package_of_helpers/__init__": "from .inner import register_lowering as thing\n",
    "helper_unknown": "from torch.nn import NoSuchLayer\n",
}


def run(folder, *arguments, files=(), absent="", code=0):
    for name, text in dict(files).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(folder), "TL_ABSENT": absent}
    process = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    assert process.returncode == code, process.stdout + process.stderr
    return process


def test_programs_that_ask_are_answered_as_without_stand_ins(tmp_path):
    files = {f"{name}.py": text for name, text in HELPERS.items()}
    files |= {f"idiom_{i}.py": text + "\n" for i, text in enumerate(IDIOMS.values())}
    driver = "import importlib\n" + "".join(
        f"print({name!r}, importlib.import_module('idiom_{i}').answer)\n" for i, name in enumerate(IDIOMS)
    )
    files["driver.py"] = driver
    ways = [
        run(tmp_path, "-W", "ignore", "-m", "tl.torch", "driver.py", files=files, absent=absent).stdout
        for absent in ("error", "")
    ]
    assert ways[0].splitlines() == ways[1].splitlines()
    assert len(IDIOMS) >= 40 and len(ways[0].splitlines()) == len(IDIOMS)
    assert "try 0" in ways[0] and "helper 0" in ways[0]


PROGRAM = """
import asyncio, copy, pickle, torch, typing, dataclasses, abc, enum, functools
from torch._inductor.lowering import (register_lowering, Thing,
                                      FaultError)
import torch._inductor.ir
import torch._inductor.scheduler as scheduler
from torch._inductor import dependencies

def raises(use, *words, kind=NotImplementedError):
    try:
        value = use()
    except kind as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError(f"gave {value}")

name, line = "torch._inductor.lowering.Thing", f"program.py:3"
for use in (
    lambda: Thing(), lambda: Thing(1, a=2), lambda: Thing == 1, lambda: Thing != 1, lambda: 1 == Thing, lambda: Thing < 1,
    lambda: len(Thing), lambda: iter(Thing), lambda: bool(Thing), lambda: Thing + 1, lambda: 1 - Thing, lambda: 1 in Thing,
    lambda: Thing in [1], lambda: setattr(Thing, "x", 1), lambda: Thing.method(), lambda: float(Thing), lambda: -Thing,
    lambda: Thing.inner.deep(1),
):
    raises(use, name, line)
async def wait():
    await Thing
raises(lambda: asyncio.run(wait()), name, line)
async def enter():
    async with Thing:
        pass
raises(lambda: asyncio.run(enter()), name)
def manage():
    with Thing:
        pass
raises(manage, name, line)
raises(lambda: torch._inductor.ir.Buffer(), "torch._inductor.ir.Buffer", "program.py:5")
raises(lambda: scheduler.Scheduler([]), "torch._inductor.scheduler.Scheduler", "program.py:6")
raises(lambda: dependencies.Dep(1), "torch._inductor.dependencies.Dep", "program.py:7")
raises(lambda: FaultError("x"), "FaultError")
assert "stand-in" in repr(Thing) and "stand-in" in repr(scheduler)

# classes
class A(Thing): pass
class B(torch.nn.Module, Thing): pass
class C(Thing, torch.nn.Module, Thing.Inner):
    def __init__(self):
        super().__init__()
class D(Thing[int], abc.ABC): pass
class E(A, dict): pass
class F(scheduler.Base): pass
@dataclasses.dataclass
class G(Thing):
    x: int = 0
for made in (A, B, C, D, E, G):
    raises(made, "torch._inductor.lowering.Thing", line)
raises(F, "torch._inductor.scheduler.Base", "program.py:6")
raises(lambda: A(1, b=2), name)
assert issubclass(A, Thing) and not issubclass(int, Thing) and issubclass(E, dict)
assert not isinstance(1, Thing) and not isinstance(torch.ones(1), (int, Thing)) and isinstance(1, (int, Thing))
class MyFault(FaultError): pass
raises(lambda: MyFault(1), "FaultError")
try:
    1 / 0
except FaultError:
    raise AssertionError
except (MyFault, ZeroDivisionError):
    pass

# annotations, defaults
def f(x: Thing | None = None, y: "Thing" = Thing, *, z: None | Thing = Thing.MEMBER, w: typing.Optional[Thing] = None): return y
assert f() is Thing and typing.get_type_hints(f)["y"] is Thing
typing.Union[Thing, int]; Thing | int; int | Thing; list[Thing]; typing.List[Thing]; typing.Callable[[Thing], None]
@dataclasses.dataclass
class Config:
    kind: object = Thing
assert Config().kind is Thing
table = {Thing: 1, scheduler: 2}
assert table[Thing] == 1 and Thing is Thing and Thing in [Thing] and callable(Thing)

# decorators raise when what they decorated is called
@register_lowering
def g(x):
    "doc"
    return x
@register_lowering(torch.add, broadcast=True)
@functools.wraps(g)
def h(x): return x
@register_lowering(1)
class K:
    def __init__(self, x): self.x = x
class L:
    @register_lowering
    def method(self): return 1
    @scheduler.register("x")
    @staticmethod
    def other(): return 1
for use in (lambda: g(1), lambda: h(1), lambda: K(1), L().method):
    raises(use, "torch._inductor.lowering.register_lowering", "program.py:3")
raises(lambda: L.other(), "torch._inductor.scheduler.register")
assert g.__name__ == "g" and g.__doc__ == "doc"

# copies and pickles
for thing in (Thing, scheduler, FaultError, Thing.MEMBER):
    assert pickle.loads(pickle.dumps(thing)) is thing and copy.copy(thing) is thing
assert copy.deepcopy({"a": [Thing]})["a"][0] is Thing
raises(lambda: getattr(Thing, "x"), kind=AttributeError)
assert not hasattr(Thing, "x") and not hasattr(scheduler, "y") and getattr(scheduler, "y", 3) == 3
import helper
assert helper.Thing is Thing
raises(helper.use, name, "helper.py:1")
raises(lambda: Thing(), name, line)
print("whole")
"""


def test_stand_ins_raise_where_they_are_used(tmp_path):
    helper = "from torch._inductor.lowering import Thing\ndef use(): return Thing(2)\n"
    files = {"program.py": PROGRAM, "helper.py": helper}
    process = run(tmp_path, "-m", "tl.torch", "program.py", files=files)
    assert process.stdout == "whole\n"
    warned = [line for line in process.stderr.splitlines() if "AbsentNameWarning" in line]
    named = [line.split(": ")[2].split()[0] for line in warned]
    assert sorted(named) == sorted(
        [f"torch._inductor.lowering.{name}" for name in ("register_lowering", "Thing", "FaultError")]
        + ["torch._inductor.ir", "torch._inductor.scheduler", "torch._inductor.dependencies"]
    )
    assert warned[0].startswith("program.py:3: ")


def test_the_list_of_absent_names(tmp_path):
    program = f"{ABSENT}\nimport torch._inductor.ir as ir\nprint('ran')\n"
    process = run(tmp_path, "-m", "tl.torch", "--absent", "program.py", files={"program.py": program})
    assert process.stdout == "ran\n"
    assert process.stderr.splitlines() == [
        "torch._inductor.ir  program.py:2",
        "torch._inductor.lowering.register_lowering  program.py:1",
    ]
    process = run(tmp_path, "-m", "tl.torch", "--absent", "-c", "import torch")
    assert process.stderr == "no absent names were imported\n"
    assert "usage" in run(tmp_path, "-m", "tl.torch", "--absent", code=2).stderr


@pytest.mark.parametrize("statement", [ABSENT, "import torch._inductor.ir", "import torch._inductor.ir as i"])
def test_switched_off(tmp_path, statement):
    process = run(tmp_path, "-m", "tl.torch", "-c", statement, absent="error", code=1)
    assert "ImportError" in process.stderr or "ModuleNotFoundError" in process.stderr


@pytest.mark.parametrize(
    "statement",
    [
        "from torch.nn import NoSuchLayer",
        "import torch.no_such",
        "from torch.no_such import x",
        "import torch._no_such.y as y",
        "from torch import no_such",
        "from tl._inductor.lowering import x",
        "import tl; from tl.nn import x",
    ],
)
def test_names_that_nobody_has(tmp_path, statement):
    process = run(tmp_path, "-m", "tl.torch", "-c", statement, code=1)
    assert "ImportError" in process.stderr or "ModuleNotFoundError" in process.stderr


def test_a_warning_that_is_an_error_names_the_line(tmp_path):
    files = {"program.py": f"\n{ABSENT}\n"}
    process = run(tmp_path, "-W", "error", "-m", "tl.torch", "program.py", files=files, code=1)
    assert "AbsentNameWarning: torch._inductor.lowering.register_lowering" in process.stderr


def test_without_tl_torch_nothing_stands_in(tmp_path):
    process = run(tmp_path, "-c", "import tl\nfrom tl._inductor.lowering import x", code=1)
    assert "No module named 'tl._inductor.lowering'" in process.stderr


THREADS = """
import importlib, sys, threading
sys.setswitchinterval(1e-6)
names = [f"work{i}" for i in range(24)]
faults = []
def load(name):
    try:
        module = importlib.import_module(name)
    except BaseException as error:
        faults.append(f"{name} {error!r}")
        raise
threads = [threading.Thread(target=load, args=[name]) for name in names]
[t.start() for t in threads]; [t.join() for t in threads]
assert not faults, faults
modules = [sys.modules[name] for name in names]
assert len({id(m.Thing) for m in modules}) == 1
assert len({id(m.ir) for m in modules}) == 1
assert not [n for n in sys.modules if n.startswith(("torch._inductor.ir", "torch._inductor.lowering"))]
print("whole")
"""


def test_threads_that_import_at_once(tmp_path):
    work = "from torch._inductor.lowering import Thing\nimport torch._inductor.ir as ir\n"
    files = {f"work{i}.py": work for i in range(24)}
    process = run(tmp_path, "-W", "ignore", "-m", "tl.torch", "-c", THREADS, files=files)
    assert process.stdout == "whole\n", process.stderr


def test_a_child_process_gets_stand_ins(tmp_path):
    program = f"""
import multiprocessing
{ABSENT}
def work(thing):
    assert thing is register_lowering
    try:
        thing(1)
    except NotImplementedError as error:
        return str(error)
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(work, (register_lowering,)))
"""
    process = run(tmp_path, "-W", "ignore", "-m", "tl.torch", "program.py", files={"program.py": program})
    assert "torch._inductor.lowering.register_lowering" in process.stdout and "program.py:3" in process.stdout


def test_nothing_is_loaded_where_nothing_is_absent(tmp_path):
    program = "import sys, torch\nassert hasattr(torch, 'nn')\nprint([n for n in sys.modules if '_absent' in n or n == 'gzip'])"
    assert run(tmp_path, "-m", "tl.torch", "-c", program).stdout == "[]\n"
