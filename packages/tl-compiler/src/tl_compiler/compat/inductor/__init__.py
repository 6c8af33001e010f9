"""Names of the reference's code generator that libraries import. No code is generated."""

from __future__ import annotations

from typing import Any

from . import config as config

__all__ = ["compile", "config", "cudagraph_mark_step_begin", "list_mode_options", "list_options"]

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


def compile(gm: Any, example_inputs: Any = (), options: Any = None) -> Any:
    """Generates code for a graph.

    Args:
        gm: the graph.
        example_inputs, options: accepted.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("inductor.compile(): no code is generated; graph modules run as they are")
