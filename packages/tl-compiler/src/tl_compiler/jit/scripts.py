"""Compiled programs: the functions of `torch.jit` that make, read and write them."""

import sys
from collections.abc import Callable
from typing import Any
from warnings import warn

from tl_compiler.jit.decorations import compiles
from tl_compiler.script.errors import Error, ScriptWarning, TracerWarning, TracingCheckError
from tl_compiler.script.module_handle import ModuleHandle
from tl_compiler.script.script_function import ScriptFunction
from tl_compiler.script.script_module import (
    RecursiveScriptModule,
    ScriptModule,
    TopLevelTracedModule,
    TracedModule,
)
from tl_nn import Module

__all__ = [
    "CompilationUnit",
    "Error",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "ScriptWarning",
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "TracingCheckError",
    "export_opnames",
    "freeze",
    "load",
    "optimize_for_inference",
    "run_frozen_optimizations",
    "save",
    "script",
    "trace",
    "trace_module",
]


def script(
    obj: Any,
    optimize: None = None,
    _frames_up: int = 0,
    _rcb: Callable | None = None,
    example_inputs: Any = None,
) -> Any:
    """Compiles a function, a module with its parts, or a class, to a program that `save` writes.

    The source is compiled, with the types that annotations state and that follow from them. Functions and methods that
    the source calls are compiled too. A decorator that runs in an import compiles the function at its first call.

    Args:
        obj: the function, module or class; or a list or dictionary, which becomes one that programs share with Python.
            Another `ScriptModule` or `ScriptFunction` is returned unchanged.
        optimize: without effect.
        example_inputs: without effect.

    Returns:
        A `ScriptFunction`; a `RecursiveScriptModule` that shares the tensors of the module; the class itself; a
        `ScriptList` or `ScriptDict`.

    Raises:
        RuntimeError: the source can't be compiled, or a type doesn't fit. The message points into the source.
        NotSupportedError: the source has syntax that programs lack.

    Example:
        >>> from tl_compiler import jit
        >>> from tl_compiler.jit.scripts import CompilationUnit
        >>> unit = CompilationUnit("def double(x, n: int):\\n    return x * n\\n")
        >>> print(unit.double.code, end="")
        def double(x: Tensor,
            n: int) -> Tensor:
          return torch.mul(x, n)
    """
    if not compiles():
        return obj
    # Libraries import torch.jit for its marks: they don't pay for the compiler.
    from tl_compiler.scripting.scripting import script as compile_program

    return compile_program(obj, sys._getframe(1 + _frames_up).f_locals)


class CompilationUnit:
    """Functions that a text defines, compiled.

    Args:
        lang: the text.

    Example:
        >>> unit = CompilationUnit("def increment(x: int) -> int:\\n    return x + 1\\n")
        >>> unit.increment(2)
        3
    """

    def __init__(self, lang: str | None = None, _frames_up: int = 0) -> None:
        self._functions: dict[str, ScriptFunction] = {}
        if lang is not None:
            self.define(lang, _frames_up=_frames_up + 1)

    def define(self, lang: str, rcb: Any = None, _frames_up: int = 0) -> None:
        """Compiles the functions of a text.

        Args:
            lang: the text.
            rcb: without effect.
        """
        from tl_compiler.scripting.scripting import script_text

        self._functions.update(script_text(lang))

    def __getattr__(self, name: str) -> ScriptFunction:
        functions: dict[str, ScriptFunction] = vars(self).get("_functions", {})
        if name not in functions:
            raise AttributeError(f"'CompilationUnit' has no attribute '{name}'")
        return functions[name]


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
    """Runs a function or module on examples, and returns a program of the operators that ran.

    The program has the modules of the module, and its sizes are those of its inputs. Choices that Python makes by
    values of tensors are those of the examples; a `TracerWarning` names each. Scripted functions and modules
    keep theirs.

    Args:
        func: the function, module or method of a module.
        example_inputs: the arguments of a call: a tensor, or a tuple of tensors and of lists, tuples and
            dictionaries of tensors.
        optimize: without effect.
        check_trace: whether the program is compared with a second trace and with the function.
        check_inputs: further arguments to compare with, a tuple each.
        check_tolerance: how far results may differ.
        strict: whether a list or dictionary as the result is an error.
        example_kwarg_inputs: keyword arguments of the call.

    Returns:
        A `ScriptFunction`, or a `TopLevelTracedModule` that shares the parameters of the module.

    Raises:
        TypeError: `func` can't be called.
        RuntimeError: an input or a result is no tensor or container of tensors.
        TracingCheckError: a second trace differs from the first.

    Example:
        >>> import tl_core
        >>> from tl_compiler import jit
        >>> print(jit.trace(lambda x: 2 * x.relu(), (tl_core.ones(3),)).code, end="")
        def lambda_function(x: Tensor) -> Tensor:
          relu = torch.relu(x)
          mul = torch.mul(relu, 2)
          return mul
    """
    if not callable(func):
        raise TypeError(f"func must be a function or module, got {type(func)}")
    if isinstance(func, (ScriptModule, ScriptFunction)):
        warn(
            "The input to trace is already a ScriptModule, tracing it is a no-op. Returning the object as is.",
            UserWarning,
            stacklevel=2,
        )
        return func
    if not compiles():
        return func
    if example_kwarg_inputs is not None and not isinstance(example_kwarg_inputs, dict):
        kind = type(example_kwarg_inputs).__name__
        raise RuntimeError(f"example_kwarg_inputs should be a dict, got {kind}")
    if example_inputs is None and example_kwarg_inputs is None:
        raise RuntimeError("jit.trace: expected example_inputs, or a dict of example_kwarg_inputs")
    # Libraries import torch.jit for its marks: they don't pay for the tracer.
    from tl_compiler.traces import tracing

    return tracing.trace(
        func,
        example_inputs,
        example_kwarg_inputs,
        check=check_trace,
        check_inputs=check_inputs,
        tolerance=check_tolerance,
        strict=strict,
    )


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
    """Runs methods of a module on examples, and returns a module whose methods are the operators that ran.

    Args:
        mod: the module.
        inputs: for each method, the arguments of a call.
        optimize: without effect.
        check_trace: whether the program is compared with a second trace and with the method.
        check_inputs: a list of such dictionaries to compare with.
        check_tolerance: how far results may differ.
        strict: whether a list or dictionary as the result is an error.
        example_inputs_is_kwarg: whether the inputs are keyword arguments.

    Returns:
        The module, which shares the parameters of `mod`.

    Raises:
        AttributeError: `inputs` is no dictionary, or the module lacks one of these methods.
        TypeError: `mod` is no module.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_compiler import jit
        >>> model = jit.trace_module(tl_nn.ReLU(), {"forward": tl_core.ones(2)})
        >>> model(tl_core.tensor([-1.0, 1.0]))
        tensor([0., 1.])
    """
    if not isinstance(inputs, dict):
        raise AttributeError(f"expected a dictionary of (method_name, input) pairs, got {inputs!r}")
    for name in inputs:
        getattr(mod, name)
    if not isinstance(mod, Module):
        raise AttributeError(f"expected torch.nn.Module as the first argument, got {type(mod)}")
    if not compiles():
        return mod
    from tl_compiler.traces import tracing

    def pair(arguments: Any) -> Any:
        if example_inputs_is_kwarg:
            return (), dict(arguments)
        return (arguments,) if not isinstance(arguments, (tuple, list)) else tuple(arguments), {}

    checks = [{name: pair(a) for name, a in more.items()} for more in check_inputs or ()]
    return tracing.trace_module(
        mod,
        {name: pair(a) for name, a in inputs.items()},
        check=check_trace,
        check_inputs=checks,
        tolerance=check_tolerance,
        strict=strict,
    )


def _check_compiled(name: str, mod: Any) -> ScriptModule:
    """The module, or a RuntimeError where it is no compiled one."""
    if not isinstance(mod, ScriptModule):
        raise RuntimeError(
            f"{name}. Please use torch.jit.script or torch.jit.trace to script your 'nn.Module'. Got {type(mod)}"
        )
    return mod


def freeze(mod: Any, preserved_attrs: list[str] | None = None, optimize_numerics: bool = True) -> Any:
    """Returns a module whose parameters, buffers and numbers are constants of its code.

    Args:
        mod: the compiled module, in evaluation mode.
        preserved_attrs: attributes that stay, and methods that stay beside `forward`.
        optimize_numerics: whether batch normalization becomes part of the convolution before it. Results then
            differ by rounding.

    Returns:
        The module.

    Raises:
        RuntimeError: the module is no compiled one, is in training mode, or lacks a preserved attribute.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_compiler import jit
        >>> frozen = jit.freeze(jit.script(tl_nn.Linear(2, 2).eval()))
        >>> len(list(frozen.parameters())), frozen(tl_core.ones(1, 2)).shape
        (0, torch.Size([1, 2]))
    """
    _check_compiled("Freezing expects a ScriptModule as input", mod)
    if mod.training and not (preserved_attrs and "training" in preserved_attrs):
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() on your "
            "module before freezing."
        )
    from tl_compiler.script.freezing import freeze_module

    return freeze_module(mod, tuple(preserved_attrs or ()), folds=optimize_numerics)


def run_frozen_optimizations(
    mod: Any, optimize_numerics: bool = True, preserved_methods: list[str] | None = None
) -> None:
    """Returns at once: a module is optimized when it is frozen.

    Args:
        mod: the frozen module.
        optimize_numerics, preserved_methods: without effect.

    Raises:
        RuntimeError: the module is no compiled one.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_compiler import jit
        >>> frozen = jit.freeze(jit.script(tl_nn.ReLU().eval()))
        >>> jit.run_frozen_optimizations(frozen)
        >>> frozen(tl_core.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """
    _check_compiled("run_frozen_optimizations expects a ScriptModule as mod", mod)


def optimize_for_inference(mod: Any, other_methods: list[str] | None = None) -> Any:
    """Returns the module frozen, with batch normalization as part of the convolution before it.

    Args:
        mod: the compiled module. A module in training mode is returned unchanged.
        other_methods: methods that stay beside `forward`.

    Raises:
        RuntimeError: the module is no compiled one.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_compiler import jit
        >>> model = jit.optimize_for_inference(jit.script(tl_nn.ReLU().eval()))
        >>> model(tl_core.tensor([-1.0, 1.0]))
        tensor([0., 1.])
    """
    _check_compiled("optimize_for_inference expects a ScriptModule as input", mod)
    return mod if mod.training else freeze(mod, other_methods)


def export_opnames(m: Any) -> list[str]:
    """Returns the names of the operators that a module's methods call, in order.

    Args:
        m: the compiled module.

    Example:
        >>> import tl_nn
        >>> from tl_compiler import jit
        >>> export_opnames(jit.script(tl_nn.Linear(2, 2)))
        ['aten::linear']
    """
    _check_compiled("export_opnames expects a ScriptModule", m)
    from tl_compiler.script.freezing import operator_names

    return operator_names(m)


def save(m: Any, f: Any, _extra_files: dict | None = None) -> None:
    """Writes a compiled module to a file.

    Args:
        m: the module.
        f: the path or file.
        _extra_files: contents by name that the archive also holds.

    Raises:
        RuntimeError: the module is no compiled one, or its program calls a function that stays Python.

    Example:
        >>> from tl_compiler import jit
        >>> try:
        ...     jit.save(None, "model.pt")
        ... except RuntimeError:
        ...     print("no compiled module")
        ...
        no compiled module
    """
    if isinstance(m, ModuleHandle):
        m = m._module
    if not isinstance(m, (ScriptModule, ScriptFunction)):
        raise RuntimeError(
            f"torch.jit.save expects a ScriptModule or a ScriptFunction, got {type(m)}: compile it by "
            "torch.jit.script or "
            "torch.jit.trace, or write its state_dict() by torch.save"
        )
    m.save(f, _extra_files)


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
