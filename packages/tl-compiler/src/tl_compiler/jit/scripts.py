"""Compiled programs: the functions of `torch.jit` that make, read and write them."""

from collections.abc import Callable
from typing import Any, NoReturn

from tl_compiler.jit import eagerly
from tl_compiler.script.errors import Error
from tl_compiler.script.script_module import RecursiveScriptModule, ScriptModule
from tl_core import Tensor

__all__ = [
    "Error",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "ScriptWarning",
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "TracingCheckError",
    "freeze",
    "load",
    "optimize_for_inference",
    "save",
    "script",
    "trace",
    "trace_module",
]


class TracerWarning(Warning):
    """A trace may not hold for other inputs."""


class TracedModule(ScriptModule):
    """A module compiled by tracing. There is none in tl.

    Example:
        >>> from tl_compiler import jit
        >>> issubclass(jit.TracedModule, jit.ScriptModule)
        True
    """


class TopLevelTracedModule(TracedModule):
    """The outermost module compiled by tracing. There is none in tl.

    Example:
        >>> from tl_compiler import jit
        >>> issubclass(jit.TopLevelTracedModule, jit.ScriptModule)
        True
    """


class ScriptFunction:
    """A compiled function. `script` and `trace` of tl return their argument instead.

    Raises:
        RuntimeError: always.

    Example:
        >>> from tl_compiler.jit import ScriptFunction
        >>> isinstance(abs, ScriptFunction)
        False
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            "tl compiles nothing to TorchScript, and so no ScriptFunction; call the function itself"
        )


class ScriptWarning(Warning):
    """Warning of TorchScript."""


class TracingCheckError(Exception):
    """A trace computes something else than the function."""


def script(
    obj: Any,
    optimize: None = None,
    _frames_up: int = 0,
    _rcb: Callable | None = None,
    example_inputs: Any = None,
) -> Any:
    """Gives a function, class or module back unchanged; it runs eagerly, which is said once by a warning.

    Args:
        obj: the function, class or module.
        optimize: without effect.
        example_inputs: without effect.

    Example:
        >>> from tl_compiler import jit
        >>> import warnings
        >>> def double(x):
        ...     return 2 * x
        ...
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     jit.script(double)(3)
        ...
        6
    """
    eagerly.say("tl.jit.script")
    return obj


def trace(
    func: Callable,
    example_inputs: Any = None,
    optimize: None = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_kwarg_inputs: Any = None,
    _store_inputs: bool = True,
) -> Any:
    """Calls a function or module once with the example inputs and returns it unchanged.

    It runs as Python, and a warning says so once. Nothing is recorded: its choices by its inputs stay choices. The call
    raises the errors of unfit inputs.

    Args:
        func: the function or module.
        example_inputs: the positional arguments of the call, or a tensor that is the only one.
        optimize: accepted, and without effect.
        check_trace: accepted: nothing is recorded that could differ.
        check_inputs: further arguments to check with; not used.
        check_tolerance: how far results may differ; not used.
        strict: accepted, and without effect.
        example_kwarg_inputs: the keyword arguments of the call, in a dictionary.

    Returns:
        `func`.

    Raises:
        TypeError: `func` can't be called.
        RuntimeError: no example inputs, or keyword arguments that are no dictionary.

    Example:
        >>> from tl_compiler import jit
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     jit.trace(lambda x: 2 * x, (3,))(3)
        ...
        6
    """
    if not callable(func):
        raise TypeError(f"func must be a function or module, got {type(func)}")
    eagerly.say("tl.jit.trace")
    _call(func, example_inputs, example_kwarg_inputs)
    return func


def _call(func: Callable, example_inputs: Any, example_kwarg_inputs: Any) -> None:
    if example_kwarg_inputs is not None and not isinstance(example_kwarg_inputs, dict):
        raise RuntimeError(
            f"example_kwarg_inputs should be a dict, got {type(example_kwarg_inputs).__name__}"
        )
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("jit.trace: expected example_inputs, or a dict of example_kwarg_inputs")
    if example_inputs is None:
        example_inputs = ()
    elif isinstance(example_inputs, (Tensor, dict)):
        example_inputs = (example_inputs,)
    func(*example_inputs, **(example_kwarg_inputs or {}))


def trace_module(
    mod: Any,
    inputs: dict[str, Any],
    optimize: None = None,
    check_trace: bool = True,
    check_inputs: Any = None,
    check_tolerance: float = 1e-5,
    strict: bool = True,
    _force_outplace: bool = False,
    _module_class: Any = None,
    _compilation_unit: Any = None,
    example_inputs_is_kwarg: bool = False,
    _store_inputs: bool = True,
) -> Any:
    """Gives a module back unchanged; it runs eagerly, which is said once by a warning.

    Args:
        mod: the module.
        inputs: a dictionary, for each method that would be traced, of its inputs.
        optimize: accepted, and without effect.
        check_trace: accepted: nothing is recorded that could differ.
        check_inputs: further arguments to check with; not used.
        check_tolerance: how far results may differ; not used.
        strict: accepted, and without effect.
        example_inputs_is_kwarg: whether the inputs are keyword arguments.

    Raises:
        AttributeError: the module lacks one of these methods.

    Example:
        >>> from tl_compiler import jit
        >>> import warnings
        >>> class Double:
        ...     def forward(self, x):
        ...         return 2 * x
        ...
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     model = jit.trace_module(Double(), {"forward": (3,)})
        ...
        >>> model.forward(3)
        6
    """
    if not isinstance(inputs, dict):
        raise AttributeError(f"expected a dictionary of (method_name, input) pairs as inputs, got {inputs!r}")
    for name in inputs:
        getattr(mod, name)
    eagerly.say("tl.jit.trace_module")
    return mod


def _check_compiled(name: str, mod: Any) -> ScriptModule:
    """The module, or a RuntimeError where it is no compiled one."""
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(f"{name}, got {type(mod)}; tl compiles nothing to TorchScript")
    return mod


def freeze(mod: Any, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> NoReturn:
    """Makes the values of a compiled module constants.

    Args:
        mod: the compiled module.
        preserved_attrs: attributes that stay.
        optimize_numerics: whether results may change in the last bits.

    Raises:
        RuntimeError: the module is no compiled one.
        NotImplementedError: always for a compiled module, as tl has no optimizer of programs yet.

    Example:
        >>> from tl_compiler import jit
        >>> try:
        ...     jit.freeze(None)
        ... except RuntimeError:
        ...     print("no compiled module")
        ...
        no compiled module
    """
    _check_compiled("Freezing expects a ScriptModule as input", mod)
    raise NotImplementedError("jit.freeze isn't built yet: the module computes the same without it")


def optimize_for_inference(mod: Any, other_methods: list[str] | None = None) -> NoReturn:
    """Makes a compiled module faster.

    Raises:
        RuntimeError: the module is no compiled one.
        NotImplementedError: always for a compiled module, as tl has no optimizer of programs yet.

    Example:
        >>> from tl_compiler import jit
        >>> try:
        ...     jit.optimize_for_inference(None)
        ... except RuntimeError:
        ...     print("no compiled module")
        ...
        no compiled module
    """
    _check_compiled("optimize_for_inference expects a ScriptModule as mod", mod)
    raise NotImplementedError(
        "jit.optimize_for_inference isn't built yet: the module computes the same without it"
    )


def save(m: Any, f: Any, _extra_files: dict | None = None) -> None:
    """Writes a compiled module to a file.

    Args:
        m: the module.
        f: the path or file.
        _extra_files: contents by name that the archive also holds.

    Raises:
        RuntimeError: the module is no compiled one. Save its `state_dict()` with `tl.save`.
        NotImplementedError: always for a compiled module, as tl reads archives and doesn't write them yet.

    Example:
        >>> from tl_compiler import jit
        >>> try:
        ...     jit.save(None, "model.pt")
        ... except RuntimeError:
        ...     print("no compiled module")
        ...
        no compiled module
    """
    if not isinstance(m, ScriptModule):
        raise RuntimeError(
            f"tl compiles nothing to TorchScript, so {f!r} isn't written; use tl.save(m.state_dict(), f)"
        )
    m.save(f, _extra_files=_extra_files)


def load(
    f: Any,
    map_location: Any = None,
    _extra_files: dict[str, Any] | None = None,
    _restore_shapes: bool = False,
) -> RecursiveScriptModule:
    """Reads a compiled module from an archive that `torch.jit.save` wrote, of any version.

    The archive may come from a stranger. Its code is checked, then compiled to functions that call operators, functions
    of the archive and nothing else. An operator that tl lacks raises RuntimeError when the program calls it.

    Args:
        f: a path, or an object with `read` and `seek`.
        map_location: the device of parameters and buffers, as in `torch.load`.
        _extra_files: the names of extra files, as keys. The values become the files' contents.
        _restore_shapes: accepted. Archives of traced modules keep the shapes of their example inputs, which tl skips.

    Returns:
        The module, a subclass of `nn.Module`.

    Raises:
        ValueError: there is no such file, or the path is a folder.
        RuntimeError: the file is no archive of a program, is damaged, or states a newer version.

    Example:
        >>> from tl_compiler import jit
        >>> jit.load("nowhere.pt")
        Traceback (most recent call last):
        ValueError: The provided filename nowhere.pt does not exist
    """
    # Libraries import torch.jit for its marks: they don't pay for the reader.
    from tl_compiler.script.loading import read_program

    return read_program(f, map_location, {} if _extra_files is None else _extra_files)
