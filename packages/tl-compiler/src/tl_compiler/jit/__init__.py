"""`torch.jit`: programs of TorchScript are compiled, traced, run, read and written.

`script` compiles source, `trace` records a run, `load` and `save` read and write archives. `fork` runs a function at
once.
"""

from typing import Any, Final

from tl_compiler.jit.decorations import (
    Attribute,
    _unwrap_optional,
    annotate,
    export,
    ignore,
    interface,
    is_scripting,
    is_tracing,
    isinstance,  # noqa: A004
    script_if_tracing,
    script_method,
    unused,
)
from tl_compiler.jit.fusion import (
    enable_onednn_fusion,
    fuser,
    onednn_fusion_enabled,
    optimized_execution,
    set_fusion_strategy,
    strict_fusion,
)
from tl_compiler.jit.scripts import (
    CompilationUnit,
    Error,
    RecursiveScriptModule,
    ScriptFunction,
    ScriptModule,
    ScriptWarning,
    TopLevelTracedModule,
    TracedModule,
    TracerWarning,
    TracingCheckError,
    export_opnames,
    freeze,
    load,
    optimize_for_inference,
    run_frozen_optimizations,
    save,
    script,
    trace,
    trace_module,
)
from tl_compiler.script.tasks import fork, wait
from tl_core.futures import Future

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "ScriptWarning",
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "TracingCheckError",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "export_opnames",
    "fork",
    "freeze",
    "fuser",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "run_frozen_optimizations",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

_script_if_tracing = script_if_tracing
_fork, _wait = fork, wait

# Names of TorchScript's parts that tl lacks.
_ABSENT = frozenset(
    [
        "RecursiveScriptClass",
        "ONNXTracedModule",
        "jit_module_from_flatbuffer",
        "last_executed_optimized_graph",
        "save_jit_module_to_flatbuffer",
    ]
)


def __getattr__(name: str) -> Any:
    if name in _ABSENT:
        raise AttributeError(
            f"torch.jit.{name} isn't built: tl runs the code of a program of TorchScript as Python, without PyTorch's "
            "executor"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
