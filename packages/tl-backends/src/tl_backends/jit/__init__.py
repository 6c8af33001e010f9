"""The names of TorchScript, a language that tl doesn't have.

Programs use it mostly to run faster, and so `script` and `trace` give back what they are given, which runs eagerly; a
warning says so once. Marks such as `ignore` and `export` are accepted. What only makes sense with a compiled program
(saving, loading, freezing it) raises RuntimeError and says what to use instead.
"""

from typing import Final

from tl_backends.jit.annotations import (
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
from tl_backends.jit.scripts import (
    Error,
    ScriptFunction,
    ScriptModule,
    TopLevelTracedModule,
    TracedModule,
    TracerWarning,
    freeze,
    load,
    optimize_for_inference,
    save,
    script,
    trace,
    trace_module,
)

__all__ = [
    "Attribute",
    "Error",
    "Final",
    "ScriptFunction",
    "ScriptModule",
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "annotate",
    "export",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "trace",
    "trace_module",
    "unused",
]

_script_if_tracing = script_if_tracing
