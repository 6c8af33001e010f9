"""`torch.jit`: archives of TorchScript are read and run, and nothing is compiled to TorchScript yet.

`load` returns a `ScriptModule`. `script` and `trace` return their argument, which runs as Python, and warn once. Marks
such as `ignore` and `export` are accepted. `fork` and `wait` run a function at once.
"""

from typing import Any, Final

from tl_compiler.jit.decorations import (
    Attribute,
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
    Error,
    RecursiveScriptModule,
    ScriptFunction,
    ScriptModule,
    ScriptWarning,
    TopLevelTracedModule,
    TracedModule,
    TracerWarning,
    TracingCheckError,
    freeze,
    load,
    optimize_for_inference,
    save,
    script,
    trace,
    trace_module,
)
from tl_compiler.script.tasks import fork, wait
from tl_core.futures import Future

__all__ = [
    "Attribute",
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

# Names of TorchScript's parts, which a program can only use with compiled programs.
_ABSENT = frozenset(
    [
        "CompilationUnit",
        "RecursiveScriptClass",
        "ONNXTracedModule",
        "export_opnames",
        "jit_module_from_flatbuffer",
        "last_executed_optimized_graph",
        "run_frozen_optimizations",
        "save_jit_module_to_flatbuffer",
    ]
)


def __getattr__(name: str) -> Any:
    if name in _ABSENT:
        raise AttributeError(
            f"torch.jit.{name} isn't built: tl compiles nothing to TorchScript, and the argument of script() and "
            "trace() runs as Python"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
