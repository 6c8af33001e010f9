"""`torch._utils_internal`: paths of files beside the package, and switches of a service that tl doesn't have."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tl_core

__all__: list[str] = []

TEST_MASTER_ADDR = "127.0.0.1"
TEST_MASTER_PORT = 29500
USE_GLOBAL_DEPS = USE_RTLD_GLOBAL_WITH_LIBTORCH = False
REQUIRES_SET_PYTHON_MODULE = False


def get_file_path(*path_components: str) -> str:
    """The path of a file beside the package."""
    return str(Path(tl_core.__file__).parent.joinpath(*path_components))


def get_file_path_2(*path_components: str) -> str:
    """The path of a file, whose first parts are given, too."""
    return os.path.join(*path_components)


def get_writable_path(path: str) -> str:
    """The path, or that of a new folder where it cannot be written to."""
    return path if os.access(path, os.W_OK) else tempfile.mkdtemp(suffix=Path(path).name)


def prepare_multiprocessing_environment(path: str) -> None:
    """Does nothing: processes need no preparation."""


def resolve_library_path(path: str) -> str:
    """The path without links."""
    return os.path.realpath(path)


def throw_abstract_impl_not_imported_error(opname: str, module: str, context: str) -> Any:
    """Raises NotImplementedError: a module has to be imported before an operator works without elements."""
    raise NotImplementedError(
        f"{opname}: We could not find the fake impl for this operator. Please import {module} first. {context}"
    )


def signpost_event(category: str, name: str, parameters: dict[str, Any]) -> None:
    """Does nothing: events aren't collected."""


def log_export_usage(**kwargs: Any) -> None:
    """Does nothing: uses aren't counted."""


def log_torchscript_usage(api: str, **kwargs: Any) -> None:
    """Does nothing: uses aren't counted."""


def justknobs_check(name: str, default: bool = True) -> bool:
    """A switch of a service that isn't there: its default."""
    return default


def justknobs_getval_int(name: str) -> int:
    """A number of a service that isn't there: 0."""
    return 0


def compile_time_strobelight_meta(phase_name: str) -> Callable[[Any], Any]:
    """A decorator that leaves functions as they are."""
    return lambda function: function
