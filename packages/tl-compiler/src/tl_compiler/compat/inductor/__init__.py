"""Names of PyTorch's code generator that libraries import. No code is generated: graphs run operator by operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tl_core.base.lazy_attributes import attach

from . import config as config

if TYPE_CHECKING:
    from .package import AOTICompiledModel, aoti_compile_and_package, aoti_load_package

__all__ = [
    "AOTICompiledModel",
    "aot_compile",
    "aoti_compile_and_package",
    "aoti_load_package",
    "compile",
    "config",
    "cudagraph_mark_step_begin",
    "list_mode_options",
    "list_options",
]

__getattr__, __dir__, _ = attach(
    __name__,
    {"package": ["AOTICompiledModel", "aoti_compile_and_package", "aoti_load_package"]},
    (
        "compile_fx",
        "cpu_vec_isa",
        "custom_graph_pass",
        "decomposition",
        "fx_passes",
        "pattern_matcher",
        "test_case",
        "utils",
        "virtualized",
    ),
)

# What each mode of `compile` sets in PyTorch.
_MODES: dict[str, dict[str, bool]] = {
    "default": {},
    "reduce-overhead": {"triton.cudagraphs": True},
    "max-autotune-no-cudagraphs": {"max_autotune": True, "coordinate_descent_tuning": True},
    "max-autotune": {"max_autotune": True, "triton.cudagraphs": True, "coordinate_descent_tuning": True},
}


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, Any]:
    """Which options a mode of `compile` stands for in PyTorch; here no option changes what runs.

    Args:
        mode: the mode; None: all of them, each with its options.
        dynamic: accepted.

    Returns:
        The options of the mode, or of all.

    Raises:
        RuntimeError: there is no such mode.

    Example:
        >>> list_mode_options("reduce-overhead")
        {'triton.cudagraphs': True}
    """
    if mode is None or mode == "":
        return {name: dict(options) for name, options in _MODES.items()}
    if mode not in _MODES:
        raise RuntimeError(f"list_mode_options(): no mode {mode!r}; there are {', '.join(_MODES)}")
    return dict(_MODES[mode])


def list_options() -> list[str]:
    """The names of the options: those of the settings in `config`.

    Example:
        >>> "max_autotune" in list_options()
        True
    """
    settings: Any = config  # the module has methods once it is loaded
    return list(settings.to_dict())


def cudagraph_mark_step_begin() -> None:
    """Nothing: it says where a step begins, for graphs of CUDA kernels, and there are none."""


def compile(gm: Any, example_inputs: Any, options: dict[str, Any] | None = None) -> Any:
    """What runs a graph: the backend "inductor" of `torch.compile`.

    Args:
        gm: the graph module, with one flat list of inputs.
        example_inputs: examples of its inputs.
        options: settings by their names in `torch._inductor.config`.

    Returns:
        A function of the inputs.

    Raises:
        RuntimeError: there is no option of a name.

    Example:
        >>> import warnings
        >>> import tl_core
        >>> from tl_compiler.fx import symbolic_trace
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     compile(symbolic_trace(lambda x: x + 1), [tl_core.ones(2)])(tl_core.ones(2))
        tensor([2., 2.])
    """
    from tl_compiler.compiler.backends import lookup_backend

    if unknown := sorted((options or {}).keys() - set(list_options())):
        raise RuntimeError(f"inductor.compile(): unexpected options {unknown}; list_options() has the names")
    return lookup_backend("inductor")(gm, list(example_inputs))


def aot_compile(
    gm: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    options: dict[str, Any] | None = None,
) -> Any:
    """Compiles a graph to a shared library.

    Args:
        gm: the graph module.
        args, kwargs, options: accepted.

    Raises:
        NotImplementedError: always: no machine code is written. `aoti_compile_and_package` writes a program.
    """
    raise NotImplementedError(
        "inductor.aot_compile(): tl writes no machine code; aoti_compile_and_package writes an exported model"
    )
