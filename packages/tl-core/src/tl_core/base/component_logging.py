"""What each component logs, by `set_logs` or the environment variable TORCH_LOGS, on Python's `logging`.

A component has a level; an artifact, such as the graphs that were captured, is shown or not. Where nobody asks for
either, nothing of this is imported and Python's own settings hold.

    >>> parse("+dynamo,-aot,graph_breaks,some.module")
    ({'dynamo': 10, 'aot': 40, 'some.module': 20}, {'graph_breaks'})
"""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

__all__ = ["getArtifactLogger", "set_logs", "warning_once"]

LOGS, FORMAT, OUT = "TORCH_LOGS", "TORCH_LOGS_FORMAT", "TORCH_LOGS_OUT"
ALL = "torch"

# Each component's loggers: the name that programs know from PyTorch, then tl's own.
COMPONENTS: dict[str, tuple[str, ...]] = {
    "dynamo": ("torch._dynamo", "tl_compiler.compat.dynamo"),
    "aot": ("torch._functorch._aot_autograd", "torch._functorch.aot_autograd"),
    "autograd": ("torch.autograd", "tl_autograd"),
    "dynamic": ("torch.fx.experimental.symbolic_shapes", "tl_compiler.fx.experimental.symbolic_shapes"),
    "inductor": ("torch._inductor", "tl_compiler.compat.inductor"),
    "distributed": ("torch.distributed", "tl_distributed", "tl_checkpoint.distributed"),
    "c10d": ("torch.distributed.distributed_c10d", "tl_distributed.groups.process_groups"),
    "ddp": ("torch.nn.parallel.distributed", "tl_distributed.parallel"),
    "fsdp": ("torch.distributed.fsdp", "tl_distributed.fsdp"),
    "dtensor": ("torch.distributed._tensor", "torch.distributed.tensor", "tl_distributed.tensor"),
    "onnx": ("torch.onnx", "tl_backends.compat.onnx"),
    "export": ("torch.export", "tl_compiler.export"),
}

# Artifacts, and the component whose loggers they hang below; "" for none.
ARTIFACTS: dict[str, str] = {
    "bytecode": "dynamo", "graph": "dynamo", "graph_code": "dynamo", "graph_code_verbose": "dynamo",
    "graph_breaks": "dynamo", "side_effects": "dynamo", "graph_sizes": "dynamo", "guards": "dynamo",
    "recompiles": "dynamo", "recompiles_verbose": "dynamo", "trace_source": "dynamo", "trace_call": "dynamo",
    "trace_bytecode": "dynamo", "graph_region_expansion": "dynamo", "hierarchical_compile": "dynamo",
    "aot_graphs": "aot", "aot_joint_graph": "aot", "compiled_autograd": "autograd",
    "compiled_autograd_verbose": "autograd", "ddp_graphs": "ddp", "sym_node": "dynamic", "output_code": "inductor",
    "kernel_code": "inductor", "schedule": "inductor", "perf_hints": "inductor", "pre_grad_graphs": "inductor",
    "post_grad_graphs": "inductor", "ir_pre_fusion": "inductor", "ir_post_fusion": "inductor", "fusion": "inductor",
    "overlap": "inductor", "cudagraphs": "inductor", "cudagraph_static_inputs": "inductor",
    "benchmarking": "inductor", "autotuning": "inductor", "incremental": "inductor", "inductor_metrics": "inductor",
    "compute_dependencies": "inductor", "caching": "inductor", "onnx_diagnostics": "onnx",
}  # fmt: skip
# Those that their component does not bring along.
SPARSE_ONLY = {
    "graph_code_verbose", "recompiles_verbose", "compiled_autograd_verbose", "trace_bytecode", "benchmarking",
    "kernel_code", "ir_pre_fusion", "ir_post_fusion", "inductor_metrics",
}  # fmt: skip

_handlers: dict[str, logging.Handler] = {}  # by logger: what has been attached here


def set_logs(
    *, all: int | None = None, dynamo: int | None = None, aot: int | None = None, autograd: int | None = None,
    dynamic: int | None = None, inductor: int | None = None, distributed: int | None = None, c10d: int | None = None,
    ddp: int | None = None, fsdp: int | None = None, dtensor: int | None = None, onnx: int | None = None,
    bytecode: bool = False, aot_graphs: bool = False, aot_joint_graph: bool = False, ddp_graphs: bool = False,
    graph: bool = False, graph_code: bool = False, graph_code_verbose: bool = False, graph_breaks: bool = False,
    side_effects: bool = False, graph_sizes: bool = False, guards: bool = False, recompiles: bool = False,
    recompiles_verbose: bool = False, trace_source: bool = False, trace_call: bool = False,
    trace_bytecode: bool = False, output_code: bool = False, kernel_code: bool = False, schedule: bool = False,
    perf_hints: bool = False, pre_grad_graphs: bool = False, post_grad_graphs: bool = False,
    ir_pre_fusion: bool = False, ir_post_fusion: bool = False, onnx_diagnostics: bool = False, fusion: bool = False,
    overlap: bool = False, export: int | None = None, modules: Mapping[str, int | bool] | None = None,
    cudagraphs: bool = False, sym_node: bool = False, compiled_autograd: bool = False,
    compiled_autograd_verbose: bool = False, cudagraph_static_inputs: bool = False, benchmarking: bool = False,
    autotuning: bool = False, incremental: bool = False, graph_region_expansion: bool = False,
    inductor_metrics: bool = False, hierarchical_compile: bool = False, compute_dependencies: bool = False,
    caching: bool = False,
) -> None:  # fmt: skip
    """Sets the level of components and says which artifacts are shown; what isn't named goes back to its default.

    Messages go to stderr. Where the environment variable TORCH_LOGS is set, it decides and this only warns.

    Args:
        all: the level of all components, one of `logging`'s numbers; a component named beside it keeps its own.
        dynamo, aot, autograd, dynamic, inductor, distributed, c10d, ddp, fsdp: levels of components.
        dtensor, onnx, export: levels of components.
        bytecode, graph, graph_code, graph_code_verbose, graph_breaks: whether these artifacts are shown.
        side_effects, graph_sizes, guards, recompiles: whether these artifacts are shown.
        recompiles_verbose, trace_source, trace_call, trace_bytecode: whether these artifacts are shown.
        graph_region_expansion, hierarchical_compile, aot_graphs: whether these artifacts are shown.
        aot_joint_graph, compiled_autograd, compiled_autograd_verbose: whether these artifacts are shown.
        ddp_graphs, sym_node, output_code, kernel_code, schedule: whether these artifacts are shown.
        perf_hints, pre_grad_graphs, post_grad_graphs, ir_pre_fusion: whether these artifacts are shown.
        ir_post_fusion, fusion, overlap, cudagraphs: whether these artifacts are shown.
        cudagraph_static_inputs, benchmarking, autotuning, incremental: whether these artifacts are shown.
        inductor_metrics, compute_dependencies, caching: whether these artifacts are shown.
        onnx_diagnostics: whether these artifacts are shown.
        modules: levels, or for artifacts bools, of loggers by their full names, which need no registration.

    Raises:
        ValueError: a level is no number, an artifact's value no bool, or a name in `modules` no string.

    Example:
        >>> import logging
        >>> set_logs(dynamo=logging.DEBUG, graph_breaks=True)
        >>> logging.getLogger("torch._dynamo").level == logging.DEBUG
        True
        >>> set_logs()
    """
    arguments = dict(locals())
    if os.environ.get(LOGS):
        warnings.warn(
            f"the environment variable {LOGS} is set: it decides, and set_logs() does nothing", stacklevel=2
        )
        return
    levels, shown = _settings(arguments)
    apply(levels, shown)


def _settings(arguments: dict[str, Any]) -> tuple[dict[str, int], set[str]]:
    """The arguments of `set_logs` as levels and the artifacts that are shown."""
    modules = arguments.pop("modules") or {}
    levels: dict[str, int] = {}
    shown: set[str] = set()
    for name, value in {**arguments, **modules}.items():
        if not isinstance(name, str):
            raise ValueError(f"set_logs(): modules maps names to levels, got {name!r}")
        if name in ARTIFACTS:
            if not isinstance(value, bool):
                raise ValueError(f"set_logs(): the artifact {name} takes a bool, got {value!r}")
            if value:
                shown.add(name)
        elif value is not None:
            if isinstance(value, bool) or not isinstance(value, int) or value not in logging._levelToName:
                raise ValueError(
                    f"set_logs(): {name} takes a level of logging, such as logging.DEBUG, got {value!r}"
                )
            levels[name] = value
    return levels, shown


def parse(text: str) -> tuple[dict[str, int], set[str]]:
    """The levels and artifacts that TORCH_LOGS names: `+dynamo,graph`.

    Raises:
        ValueError: an entry is no name.
    """
    levels: dict[str, int] = {}
    shown: set[str] = set()
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name = entry.lstrip("+-")
        if len(entry) - len(name) > 1 or not all(part.isidentifier() for part in name.split(".")):
            raise ValueError(
                f"{LOGS}={text!r}: {entry!r} is no component, artifact or module; they read `+dynamo`, `graph_code` "
                f"or `my.module`. Components: all, {', '.join(COMPONENTS)}; artifacts: {', '.join(ARTIFACTS)}"
            )
        if name in ARTIFACTS:
            shown.add(name)
        else:
            sign = entry[: len(entry) - len(name)]
            levels[name] = {"+": logging.DEBUG, "-": logging.ERROR, "": logging.INFO}[sign]
    return levels, shown


def configure_from_environment() -> None:
    """Does what TORCH_LOGS says; called when tl is imported in a process that has it."""
    apply(*parse(os.environ[LOGS]))


def apply(levels: Mapping[str, int], shown: set[str]) -> None:
    """Gives loggers these levels, and all others that were set here their default."""
    logger_levels: dict[str, int] = {}
    if "all" in levels:
        logger_levels |= dict.fromkeys(
            (ALL, *(name for names in COMPONENTS.values() for name in names)), levels["all"]
        )
    for name, level in levels.items():
        if name != "all":
            logger_levels |= dict.fromkeys(COMPONENTS.get(name, (name,)), level)
    for artifact, component in ARTIFACTS.items():
        level = levels.get(component, levels.get("all", logging.WARNING))
        implied = level == logging.DEBUG and artifact not in SPARSE_ONLY
        for name in artifact_names(artifact):
            logger_levels[name] = logging.DEBUG if artifact in shown or implied else logging.CRITICAL + 1
    _install(logger_levels)


def _install(logger_levels: Mapping[str, int]) -> None:
    for name in _handlers.keys() - logger_levels.keys():
        _reset(name)
    handler = _new_handler()
    for name, level in logger_levels.items():
        logger = logging.getLogger(name)
        if name in _handlers:
            logger.removeHandler(_handlers[name])
        logger.setLevel(level)
        logger.addHandler(handler)
        logger.propagate = False
        _handlers[name] = handler


def _reset(name: str) -> None:
    logger = logging.getLogger(name)
    logger.removeHandler(_handlers.pop(name))
    logger.setLevel(logging.NOTSET)
    logger.propagate = True


def _new_handler() -> logging.Handler:
    """To stderr as it is when a message comes, or to the file that TORCH_LOGS_OUT names."""
    path = os.environ.get(OUT)
    handler = logging.FileHandler(path) if path else _StderrHandler()
    shape = (
        os.environ.get(FORMAT) or "%(levelname).1s %(asctime)s %(process)d %(name)s:%(lineno)d] %(message)s"
    )
    handler.setFormatter(logging.Formatter(shape))
    return handler


class _StderrHandler(logging.StreamHandler):
    """Writes to what `sys.stderr` is now, which programs and tests exchange."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> Any:
        return sys.stderr


def artifact_names(artifact: str) -> list[str]:
    """The loggers of an artifact, below those of its component."""
    return [f"{name}.__{artifact}" for name in COMPONENTS[ARTIFACTS[artifact]]]


def getArtifactLogger(module_qname: str, artifact_name: str) -> logging.Logger:
    """The logger on which a module says what belongs to an artifact.

    Args:
        module_qname: the module's full name, which goes with each message.
        artifact_name: one of the artifacts of `set_logs`.

    Raises:
        ValueError: there is no such artifact.

    Example:
        >>> getArtifactLogger("torch._dynamo.guards", "guards").name
        'torch._dynamo.__guards.torch._dynamo.guards'
    """
    if artifact_name not in ARTIFACTS:
        raise ValueError(f"there is no artifact {artifact_name!r}; there are: {', '.join(ARTIFACTS)}")
    return logging.getLogger(f"{artifact_names(artifact_name)[0]}.{module_qname}")


@cache
def warning_once(logger: logging.Logger, *args: Any) -> None:
    """Logs a warning the first time it is called with these arguments.

    Args:
        logger: where to.
        args: the message and what it is formatted with.

    Example:
        >>> import logging
        >>> warning_once(logging.getLogger("example"), "said %s", "once")
    """
    logger.warning(*args)
