"""Runs programs that contain `import torch`.

    tl torch PROGRAM.py arguments …
    tl torch -m MODULE arguments …
    tl torch -c CODE arguments …
    tl torch - arguments …                the program comes from the standard input
    tl torch --absent PROGRAM.py …        also lists the imported names that tl lacks

(`python -m tl.torch` is the same command) or, in a program, before anything imports torch:

    import tl.torch
    tl.torch.install()

From then on `torch` and every module below it is tl's own, in this process, in its forks and in the spawn and
forkserver children of `multiprocessing`. Other child programs do not change, except with `TL_AS_TORCH=1` in the
environment.

`torch.__version__`, `torch.version.__version__` and `importlib.metadata.version("torch")` are then `2.7.0+tl`, the
version of PyTorch's API, because programs choose their code by it. `torch.__name__` is "torch" for libraries that patch
functions by name. As torch is tl then, `tl.__version__` and `tl.__name__` are the same. tl's own version stays
`tl.version.tl`.
"""

import builtins
import os
import sys
from importlib import import_module

from tl import _binaries, _grafts, _names, _tracebacks, _watch
from tl._finder import finder, install_finder
from tl._release import Release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from importlib.metadata import Distribution
    from types import CodeType, ModuleType
    from typing import Any, BinaryIO

    Program = tuple[CodeType, dict[str, Any]]  # with the names of its `__main__`

API_VERSION = Release("2.7.0+tl")

PROGRAM = "python -m tl.torch"
USAGE = "[-h] [--version] [--absent] (PROGRAM.py | -m MODULE | -c CODE | -) [ARGUMENT ...]"
HELP = """
Runs a program in which torch is another name of tl.

  PROGRAM.py  a file, or a folder or ZIP file with a __main__.py
  -m MODULE   a module, as of `python -m`
  -c CODE     the text of a program
  -           the program comes from the standard input
  --absent    also lists the imported names that tl lacks
  --version   the versions of tl and of PyTorch's API"""

# The modules whose `get_preparation_data` returns the data of a new child process before it loads the main program.
_SPAWNERS = ("multiprocessing.spawn", "joblib.externals.loky.backend.spawn", "loky.backend.spawn")


def install() -> None:
    """Makes `torch` another name of tl for the rest of the process. A second call does nothing.

    Raises:
        RuntimeError: another torch has been imported already.

    Example:
        >>> import tl.torch
        >>> tl.torch.install()
        >>> import torch.nn.functional as F
        >>> F.__name__
        'tl_nn.functional'
    """
    import tl

    present = sys.modules.get("torch", tl)
    if present is not tl:
        where = getattr(present, "__file__", None) or "an unknown place"
        raise RuntimeError(
            f"another torch, from {where}, is already imported; call tl.torch.install() before that"
        )
    install_finder()
    finder.roots.add("torch")
    for name in ("functorch", "functorch.experimental", "functorch.experimental.control_flow"):
        finder.aliases[name] = f"tl.{name}"
    finder.distributions["torch"] = distribution
    _binaries.watch_imports()
    sys.modules["torch"] = tl
    tl.__version__ = tl.version.__version__ = API_VERSION
    tl.__name__ = "torch"
    _name_functions(import_module("tl_core"))
    for name in ("tl_nn.functional", *_OF_PYTHON, *_OF_MODULES):
        _follow(name, _name_functions)
    _name_classes_everywhere()
    if os.environ.get("TL_ABSENT") != "error":
        _grafts.absent, finder.absent = _absent_attribute, _absent_module
    for name in _SPAWNERS:
        _follow(name, _tell_children)
    _follow("tl_data.fork_server", _tell_fork_server)


# Modules with Python functions whose `__module__` becomes torch.
_OF_PYTHON = (
    *("tl_core.sparse_layouts.functions", "tl_core.symbolic.arithmetic", "tl_core.functions.private"),
    *(
        "tl_quantization.fake_quantization",
        "tl_quantization.functions",
        "tl_nn.functional.numbered_reductions",
    ),
)
# Modules whose functions get the `__module__` of another module.
_OF_MODULES = {
    "tl_core.functions.lobpcg": "torch._lobpcg",
    "tl_core.functions.lowrank": "torch._lowrank",
    "tl_distributed.collectives.coalescing": "torch.distributed.distributed_c10d",
    "tl_distributed.collectives.tensor_collectives": "torch.distributed.distributed_c10d",
    "tl_distributed.collectives.point_to_point": "torch.distributed.distributed_c10d",
    "tl_nn.init": "torch.nn.init",
}
# Functions of `nn.functional` that `torch` itself has, too.
_OF_ROOT = (
    "adaptive_avg_pool1d avg_pool1d bilinear celu_ channel_shuffle conv_tbc cosine_similarity "
    "native_channel_shuffle pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu relu_ rrelu_ selu_ "
    "threshold_"
)


def __getattr__(name: str) -> "Any":
    """The attributes of tl, because `torch.torch` is torch."""
    import tl

    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(tl, name)


_FUNCTIONAL = (
    "atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist chain_matmul "
    "einsum lu meshgrid norm split stft tensordot unique unique_consecutive unravel_index"
)


def _name_functions(module: "ModuleType") -> None:
    """Sets `__module__` of the functions of a module to torch, because programs look functions up by it."""
    native = type(len)
    if module.__name__ in _OF_PYTHON:
        for function in vars(module).values():
            if hasattr(function, "__wrapped__") and function.__module__ == module.__name__:
                function.__module__ = "torch"
        return
    if module.__name__ in _OF_MODULES:
        for function in vars(module).values():
            if getattr(getattr(function, "__wrapped__", None), "__module__", None) == module.__name__:
                function.__module__ = _OF_MODULES[module.__name__]
        return
    if module.__name__ == "tl_nn.functional":
        for name in module.__all__:
            function = getattr(module, name)
            if hasattr(function, "__wrapped__"):
                function.__module__ = "torch" if name in _OF_ROOT.split() else "torch.nn.functional"
        return
    kinds, functional = (native, module._C.overridable), frozenset(_FUNCTIONAL.split())
    for name, function in vars(module).items():
        if type(function) in kinds:
            function.__module__ = "torch.functional" if name in functional else "torch"
    for space in ("_fft", "_linalg", "_nn", "_special"):
        sys.modules[f"torch._C.{space}"] = getattr(module._C, space)
        for function in vars(getattr(module._C, space)).values():
            if type(function) is native:
                function.__module__ = f"torch._C.{space}"


# Classes of the core with another module in PyTorch.
_ELSEWHERE = {
    "Buffer": "nn.parameter",
    "Generator": "_C",
    "Parameter": "nn.parameter",
    "TypedStorage": "storage",
    "UntypedStorage": "storage",
}
# Modules of tl that are parts of one module in PyTorch, "" is torch itself. Configuration files have these paths.
_PARTS = {
    "ao.quantization.dtypes": "",
    "checkpoint.archive_files": "",
    "checkpoint.legacy": "serialization",
    "checkpoint.safe_globals": "serialization",
    "cuda.selection": "cuda",
    "cuda.tensor_types": "cuda",
    "testing.file_check": "",
    "utils.benchmark.utils.valgrind_wrapper.copies": "utils.benchmark.utils.valgrind_wrapper.timer_interface",
    "utils.benchmark.utils.valgrind_wrapper.function_counts": "utils.benchmark.utils.valgrind_wrapper.timer_interface",
    "utils.serialization.config": "serialization",
}
_PARTS |= {
    f"optim.lr_scheduler.{part}": "optim.lr_scheduler"
    for part in ("base", "compound", "cosine", "cyclic", "factors", "plateau")
}


def _name_classes_everywhere() -> None:
    """Sets `__module__` of all classes, loaded now or later, to torch: libraries choose code by it."""
    packages = {_names.package_of(module) for module in _names.MODULES.values()} | {_names.CORE}
    for package in packages:
        _grafts.adopt(package)
    _watch.everywhere.append(_name_classes)
    _watch.objects.append(_name_class)
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in packages and getattr(module, "__name__", None) == name:
            _name_classes(module)


def _name_classes(module: "ModuleType") -> None:
    """Sets `__module__` of the public classes of a module to the module that programs import them from."""
    own = module.__name__
    dotted = _names.home_of(own)
    if dotted is None:
        return
    for name, kind in list(vars(module).items()):
        if not isinstance(kind, type) or name.startswith("_") or kind.__dict__.get("__module__") != own:
            continue
        _name_class(kind, _ELSEWHERE.get(name, dotted) if own == _names.CORE else _PARTS.get(dotted, dotted))
    # `version` is tl's own module; that of the core has its name, and not its names.
    if dotted and dotted == _names.facade_of(own) and dotted.partition(".")[0] not in _names.OWN:
        # Readers of annotations and sources of classes look for the module here.
        sys.modules.setdefault(f"torch.{dotted}", module)
        _grafts.list_names(module, dotted)


def _name_class(kind: "Any", dotted: str) -> None:
    from tl_core.base.public_names import PublicModuleName

    own = kind.__dict__.get("__module__") if isinstance(kind, type) else None
    if type(own) is str and own.startswith("tl_"):
        try:
            kind.__module__ = PublicModuleName(f"torch.{dotted}".rstrip("."), own)
        except (AttributeError, TypeError):
            return  # a class that can't be changed


def _absent_attribute(module: "ModuleType", dotted: str) -> "Any":
    # `from module import name` reads the path of each module; only an access of the machinery itself counts
    asking = sys._getframe(3).f_code.co_filename
    if dotted.endswith(".__path__") and asking != "<frozen importlib._bootstrap>":
        return None
    from tl import _absent

    return _absent.attribute(module, dotted)


def _absent_module(fullname: str) -> "ModuleSpec | None":
    from tl import _absent

    return _absent.load_absent(fullname)


def distribution() -> "Distribution":
    """The distribution `torch` for `importlib.metadata`."""
    from importlib.metadata import Distribution

    class Torch(Distribution):
        def read_text(self, filename: str) -> str | None:
            text = f"Metadata-Version: 2.1\nName: torch\nVersion: {API_VERSION}\nSummary: An alias of tl.\n"
            return text if filename == "METADATA" else None

        def locate_file(self, path: "Any") -> "Any":
            raise FileNotFoundError(f"{path}: the distribution torch is an alias of tl and has no files")

    return Torch()


def _follow(name: str, tell: "Callable[[Any], None]") -> None:
    if name in sys.modules:  # another thread may be loading it
        tell(import_module(name))
    else:
        _watch.watchers[name] = tell


def _tell_fork_server(server: "Any") -> None:
    """Lets the fork server of workers install the alias before it loads the program's imports."""
    if "tl._alias.__main__" not in server.first:
        server.first.append("tl._alias.__main__")


def _tell_children(spawn: "Any") -> None:
    """Adds an object that installs the alias to the data that new children unpickle."""
    plain = spawn.get_preparation_data
    if getattr(plain, "__module__", None) == __name__:
        return

    def get_preparation_data(name: str, *args: "Any", **kwargs: "Any") -> "dict[str, Any]":
        data = plain(name, *args, **kwargs)
        if name == "ignore":
            # A fork server would load the main program before it unpickles any data.
            data.pop("main_path", None)
            data.pop("init_main_from_path", None)
        return {"tl.torch": _Installer(), **data}

    spawn.get_preparation_data = get_preparation_data


class _Installer:
    """Installs the alias in the process that unpickles it."""

    def __reduce__(self) -> "tuple[Any, ...]":
        # The child has no sys.path yet, and may need it to find tl.
        code = f"import sys; sys.path[:] = {sys.path!r}; import tl.torch; tl.torch.install()"
        return exec, (code,)


class _Refusal(Exception):
    """A program that can't run, with the exit status."""

    def __init__(self, text: str, status: int):
        super().__init__(text)
        self.status = status


def main(argv: list[str], program: str = PROGRAM) -> None:
    """Runs the command line.

    Args:
        argv: the arguments after the name of the program.
        program: the name of the program, for messages.
    """
    if argv[:1] == ["--version"]:
        import tl

        print(f"{program}: tl {tl.version.tl}, PyTorch's API {API_VERSION.partition('+')[0]}")
        return
    if argv[:1] in (["-h"], ["--help"]):
        print(f"usage: {program} {USAGE}\n{HELP}")
        return
    words = argv[argv[:1] == ["--absent"] :]
    if not words or (words[0] in ("-m", "-c") and len(words) == 1):
        print(f"usage: {program} {USAGE}", file=sys.stderr)
        raise SystemExit(2)
    install()
    _tracebacks.hide_runner()
    if words != argv:
        _list_absent()
    try:
        code, names = _prepare(words)
    except _Refusal as refusal:
        print(f"{program}: {refusal}", file=sys.stderr)
        raise SystemExit(refusal.status) from None
    _run(code, **names)


def _prepare(words: list[str]) -> "Program":
    """The code of the command line's program and the names of its `__main__`."""
    if words[0] == "-m":
        return _module(words[1], words[1:])
    if words[0] == "-c":
        return _text(words[1], "<string>", ["-c", *words[2:]])
    if words[0] == "-":
        return _text(sys.stdin.read(), "<stdin>", words)
    return _file(words[0], words)


def _list_absent() -> None:
    """Prints the imported absent names at the end of the program, in place of a warning for each."""
    import atexit

    from tl import _absent

    _absent.stand_in.quiet.append(True)
    atexit.register(lambda: print(_absent.report(), file=sys.stderr))


def _text(source: str, name: str, argv: list[str]) -> "Program":
    sys.argv[:] = argv
    _set_first_path("")
    return compile(source, name, "exec"), {}


def _file(path: str, argv: list[str]) -> "Program":
    import os.path
    from pkgutil import read_code

    sys.argv[:] = argv
    if os.path.isdir(path) or _is_zip(path):
        _set_first_path(path)
        return _of_spec(_main_of(path))
    _set_first_path(os.path.dirname(os.path.realpath(path)))
    with _open(path) as file:
        code = read_code(file)
    if code is None:
        with _open(path) as file:
            code = compile(file.read(), path, "exec")
    return code, {"__file__": os.path.abspath(path), "__cached__": None}


def _main_of(path: str) -> "ModuleSpec":
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("__main__", [path])
    if spec is None:
        raise _Refusal(f"no __main__ in {path}", 1)
    return spec


def _is_zip(path: str) -> bool:
    from zipfile import is_zipfile

    return not path.endswith(".py") and is_zipfile(path)


def _open(path: str) -> "BinaryIO":
    try:
        return open(path, "rb")
    except OSError as error:
        raise _Refusal(f"cannot open {path}: {error.strerror}", 2) from None


def _module(name: str, argv: list[str]) -> "Program":
    sys.argv[:] = argv
    spec = _spec_of(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _spec_of(f"{name}.__main__")
    if spec is None or spec.loader is None:
        raise _Refusal(f"no module named {name}, or no __main__ in it", 1)
    sys.argv[0] = spec.origin or name
    return _of_spec(spec)


def _spec_of(name: str) -> "ModuleSpec | None":
    from importlib.util import find_spec

    try:
        return find_spec(name)
    except ModuleNotFoundError:
        return None


def _of_spec(spec: "ModuleSpec") -> "Program":
    loader: Any = spec.loader
    names = {"__file__": spec.origin, "__spec__": spec, "__package__": spec.parent, "__loader__": loader}
    return loader.get_code(spec.name), names


def _set_first_path(folder: str) -> None:
    # `python -m` stores the current directory there, except with `-P`.
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _run(code: "CodeType", **names: "Any") -> None:
    """Runs code as `__main__`. The module stays after the end, for threads and exit functions."""
    module = type(sys)("__main__")
    module.__dict__.update({"__builtins__": builtins, "__annotations__": {}, **names})
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


if __name__ == "__main__":
    # Python has loaded this file as `__main__`. Children and other modules use the module named tl.torch.
    import_module("tl.torch").main(sys.argv[1:])
