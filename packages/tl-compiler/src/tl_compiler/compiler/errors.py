"""Errors of tracing, under PyTorch's names."""

from __future__ import annotations

from tl_compiler.symbolic.errors import UserError, UserErrorType

__all__ = [
    "ArgsMismatchError",
    "AttributeMutationError",
    "BackendCompilerFailed",
    "CacheLimitExceeded",
    "CondOpArgsMismatchError",
    "FailOnRecompileLimitHit",
    "IncorrectUsage",
    "InfiniteGeneratorError",
    "InternalTorchDynamoError",
    "InvalidBackend",
    "PackageError",
    "RecompileError",
    "RecompileLimitExceeded",
    "ResetRequired",
    "RestartAnalysis",
    "ShortenTraceback",
    "SkipFrame",
    "SpeculationRestartAnalysis",
    "TensorifyScalarRestartAnalysis",
    "TorchDynamoException",
    "TorchRuntimeError",
    "UncapturedHigherOrderOpError",
    "UnsafeScriptObjectError",
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


class RestartAnalysis(TorchDynamoException):
    """A trace begins again, as it has learned something."""


class TensorifyScalarRestartAnalysis(RestartAnalysis):
    """A trace begins again with numbers as tensors."""


class SpeculationRestartAnalysis(RestartAnalysis):
    """A trace begins again and leaves out what could not be traced."""


class SkipFrame(TorchDynamoException):
    """A function runs as it is."""


class ResetRequired(TorchDynamoException):
    """`reset` must be called first."""


class InvalidBackend(TorchDynamoException):
    """There is no backend of that name."""


class TorchRuntimeError(TorchDynamoException):
    """An operator of a program that is to become one graph raises an error."""


class RecompileError(TorchDynamoException):
    """A function would be compiled again, where a setting or a stance rules that out."""


class RecompileLimitExceeded(Unsupported):
    """A function has as many graphs as it may have."""


CacheLimitExceeded = RecompileLimitExceeded  # its older name


class UncapturedHigherOrderOpError(Unsupported):
    """The function of a control-flow operator can't be traced."""


class UnsafeScriptObjectError(TorchDynamoException):
    """An object of a custom class is used in a way that a graph can't repeat."""


class ArgsMismatchError(Unsupported):
    """The arguments of a call don't fit the function."""


class AttributeMutationError(Unsupported):
    """An attribute is changed in a way that can't be traced."""


class CondOpArgsMismatchError(ArgsMismatchError):
    """The branches of `cond` take other arguments than it gets."""


class InfiniteGeneratorError(Unsupported):
    """A generator doesn't end."""


class IncorrectUsage(Exception):
    """A mark or a setting of `compile` is used in a way that has no meaning."""


class PackageError(TorchDynamoException):
    """A compiled function can't be read or written."""


class ShortenTraceback(TorchDynamoException):
    """An error whose traceback is cut to the lines of the program."""
