"""Errors of tracing, under the names of the reference."""

from __future__ import annotations

from tl_compiler.symbolic.errors import UserError, UserErrorType

__all__ = [
    "BackendCompilerFailed",
    "FailOnRecompileLimitHit",
    "InternalTorchDynamoError",
    "TorchDynamoException",
    "Unsupported",
    "UserError",
    "UserErrorType",
]


class TorchDynamoException(RuntimeError):
    """A program could not be traced."""


class InternalTorchDynamoError(TorchDynamoException):
    """The tracer itself failed."""


class Unsupported(TorchDynamoException):
    """A program does what can't be traced."""


class FailOnRecompileLimitHit(TorchDynamoException):
    """A function has as many graphs as it may have, and would need another."""


class BackendCompilerFailed(TorchDynamoException):
    """A compiler failed."""
