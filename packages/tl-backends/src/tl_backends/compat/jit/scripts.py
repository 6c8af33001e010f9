"""What would compile to TorchScript, and what would hold it."""

from collections.abc import Callable
from typing import Any, NoReturn

from tl_backends import eagerly

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


class Error(RuntimeError):
    """Compiled code has failed."""


class TracerWarning(Warning):
    """A trace may not hold for other inputs."""


class ScriptModule:
    """A compiled module. There is none in tl: `script` and `trace` give back what they get, which is no ScriptModule,
    so that programs which ask take their way for plain modules.

    Raises:
        RuntimeError: always; write a subclass of `nn.Module`.

    Example:
        >>> from tl_backends.compat.jit import ScriptModule
        >>> isinstance(abs, ScriptModule)
        False
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("tl has no TorchScript, and so no ScriptModule; write a subclass of nn.Module")


class RecursiveScriptModule(ScriptModule):
    """A module that `script` has compiled, with those inside of it. There is none in tl.

    Example:
        >>> from tl_backends.compat import jit
        >>> issubclass(jit.RecursiveScriptModule, jit.ScriptModule)
        True
    """


class TracedModule(ScriptModule):
    """A module compiled by tracing. There is none in tl.

    Example:
        >>> from tl_backends.compat import jit
        >>> issubclass(jit.TracedModule, jit.ScriptModule)
        True
    """


class TopLevelTracedModule(TracedModule):
    """The outermost module compiled by tracing. There is none in tl.

    Example:
        >>> from tl_backends.compat import jit
        >>> issubclass(jit.TopLevelTracedModule, jit.ScriptModule)
        True
    """


class ScriptFunction:
    """A compiled function. There is none in tl: `script` and `trace` give back the function that they get.

    Raises:
        RuntimeError: always.

    Example:
        >>> from tl_backends.compat.jit import ScriptFunction
        >>> isinstance(abs, ScriptFunction)
        False
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("tl has no TorchScript, and so no ScriptFunction; call the function itself")


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
        >>> from tl_backends.compat import jit
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
    """Gives a function or module back unchanged; it runs eagerly, which is said once by a warning.

    Nothing is recorded: it isn't run on the example inputs, and choices that it makes by its inputs stay choices.

    Args:
        func: the function or module.
        example_inputs: arguments of a call.
        optimize: accepted, and without effect.
        check_trace: accepted: nothing is recorded that could differ.
        check_inputs: further arguments to check with; not used.
        check_tolerance: how far results may differ; not used.
        strict: accepted, and without effect.
        example_kwarg_inputs: keyword arguments of a call.

    Raises:
        TypeError: `func` can't be called.

    Example:
        >>> from tl_backends.compat import jit
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
    return func


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
        >>> from tl_backends.compat import jit
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


def freeze(mod: Any, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> Any:
    """Makes the values of a compiled module constants.

    Args:
        mod: the compiled module.
        preserved_attrs: attributes that stay.
        optimize_numerics: whether results may change in the last bits.

    Raises:
        RuntimeError: always, as there are no compiled modules.

    Example:
        >>> from tl_backends.compat import jit
        >>> try:
        ...     jit.freeze(None)
        ... except RuntimeError:
        ...     print("no TorchScript")
        ...
        no TorchScript
    """
    raise RuntimeError(f"Freezing expects a ScriptModule as input, got {type(mod)}; tl has no TorchScript")


def optimize_for_inference(mod: Any, other_methods: list[str] | None = None) -> Any:
    """Makes a compiled module faster.

    Raises:
        RuntimeError: always, as there are no compiled modules.

    Example:
        >>> from tl_backends.compat import jit
        >>> try:
        ...     jit.optimize_for_inference(None)
        ... except RuntimeError:
        ...     print("no TorchScript")
        ...
        no TorchScript
    """
    raise RuntimeError(
        f"optimize_for_inference expects a ScriptModule as mod, got {type(mod)}; tl has no TorchScript"
    )


def save(m: Any, f: Any, _extra_files: dict | None = None) -> NoReturn:
    """Writes a compiled module to a file.

    Raises:
        RuntimeError: always; save its `state_dict()` with `tl.save`.

    Example:
        >>> from tl_backends.compat import jit
        >>> try:
        ...     jit.save(None, "model.pt")
        ... except RuntimeError:
        ...     print("no TorchScript")
        ...
        no TorchScript
    """
    raise RuntimeError(
        f"tl doesn't write TorchScript archives, so {f!r} isn't written; use tl.save(m.state_dict(), f)"
    )


def load(
    f: Any, map_location: Any = None, _extra_files: dict | None = None, _restore_shapes: bool = False
) -> NoReturn:
    """Reads a compiled module from a file.

    Raises:
        RuntimeError: always; make the module and load a `state_dict` into it.

    Example:
        >>> from tl_backends.compat import jit
        >>> try:
        ...     jit.load("model.pt")
        ... except RuntimeError:
        ...     print("no TorchScript")
        ...
        no TorchScript
    """
    raise RuntimeError(
        f"tl doesn't run TorchScript archives such as {f!r}; make the module in Python and give it a state_dict saved "
        "with torch.save(m.state_dict(), f)"
    )
