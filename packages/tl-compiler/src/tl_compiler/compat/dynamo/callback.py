"""`torch._dynamo.callback`: functions that are called when a compilation begins and ends."""

from __future__ import annotations

from tl_compiler.compiler.compile_events import CallbackArgs, CompilationCallbacks, callbacks

__all__ = [
    "CallbackArgs",
    "CompilationCallbackHandler",
    "callback_handler",
    "on_compile_end",
    "on_compile_start",
]

CompilationCallbackHandler = CompilationCallbacks
callback_handler = callbacks
on_compile_start = callbacks.register_start_callback
on_compile_end = callbacks.register_end_callback
