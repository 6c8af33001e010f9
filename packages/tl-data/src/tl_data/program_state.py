"""Settings of the program for workers that are fresh processes: tl's settings, logging levels, warning filters.

Plain values of the modules of the loader's classes and functions can't be restored; they are compared. A fresh process
imports these modules and doesn't have the values that the program has assigned since.
"""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from tl_core.api.process_settings import ProcessSettings

__all__ = ["Environment", "ProgramState", "plain_globals", "warn_of_differences"]

_ATOMS = (type(None), bool, int, float, complex, str, bytes)
_OWN = ("tl.", "tl_data.")
_LARGEST = 1000  # elements of a container that is compared
_warned_names: set[tuple[str, str]] = set()  # the (module, name) pairs of earlier warnings


class Environment:
    """The program's environment variables: an object that sets them where it is unpickled.

    A process of a fork server would have the variables of the time when the server started.
    """

    def __reduce__(self) -> Any:
        return _set_environment, (dict(os.environ),)


def _set_environment(variables: dict[str, str]) -> None:
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)


class LoggerStates(NamedTuple):
    """Levels of `logging`. Handlers are not part of it: they write to files and streams of the program.

    Args:
        disabled: the level up to which nothing is logged.
        loggers: the loggers by their names, each with its level, whether it is disabled and whether it propagates.
    """

    disabled: int
    loggers: dict[str, tuple[int, bool, bool]]

    @classmethod
    def current(cls) -> LoggerStates:
        """The current state."""
        import logging  # here and below: few workers need it

        loggers = {"": logging.root, **logging.root.manager.loggerDict}
        return cls(
            logging.root.manager.disable,
            {
                name: (logger.level, logger.disabled, logger.propagate)
                for name, logger in loggers.items()
                if isinstance(logger, logging.Logger)
            },
        )

    def restore(self) -> None:
        """Applies the state to this process."""
        import logging

        logging.disable(self.disabled)
        for name, (level, disabled, propagate) in self.loggers.items():
            logger = logging.getLogger(name)
            logger.setLevel(level)
            logger.disabled, logger.propagate = disabled, propagate


class ProgramState(NamedTuple):
    """Settings of a program, and the plain values of some of its modules. It can be pickled.

    Args:
        settings: the settings of tl.
        loggers: the state of `logging`; None if the program never loaded it.
        filters: the filters of `warnings`.
        globals: the plain values by module and name.
    """

    settings: ProcessSettings
    loggers: LoggerStates | None
    filters: list[Any]
    globals: dict[str, dict[str, Any]]

    @classmethod
    def current(cls, *objects: Any) -> ProgramState:
        """The current state, with the modules of some objects."""
        return cls(
            ProcessSettings.current(),
            LoggerStates.current() if "logging" in sys.modules else None,
            [each for each in warnings.filters if _is_picklable(each)],
            {name: plain_globals(name) for name in _modules_of(objects)},
        )

    def restore(self) -> None:
        """Applies the settings to this process."""
        self.settings.restore()
        if self.loggers is not None:
            self.loggers.restore()
        warnings.resetwarnings()
        warnings.filters[:] = self.filters  # type: ignore[index]  # a list, as `simplefilter` knows

    def differences(self) -> list[tuple[str, str, str, str]]:
        """The values that differ in this process: module, name, the program's value, this one's."""
        rows: list[tuple[str, str, str, str]] = []
        for module, program_values in self.globals.items():
            worker_values = plain_globals(module)
            for name in program_values.keys() & worker_values.keys():
                expected, actual = program_values[name], worker_values[name]
                if expected != actual and repr(expected) != repr(actual):  # nan is not equal to itself
                    rows.append((module, name, _short(expected), _short(actual)))
        return sorted(rows)


def _is_picklable(each: Any) -> bool:
    try:
        pickle.dumps(each)
    except Exception:  # of a category that a worker can't import
        return False
    return True


def _modules_of(objects: Any) -> list[str]:
    """The modules of some functions and of the classes of some objects, without tl's own."""
    names = [getattr(each, "__module__", None) for each in _with_parts(objects)]
    return [name for name in dict.fromkeys(["__main__", *names]) if name and not f"{name}.".startswith(_OWN)]


def _with_parts(objects: Any) -> Iterator[Any]:
    """Objects, and the datasets that they wrap."""
    for each in objects:
        for _ in range(10):
            yield each
            each = getattr(each, "dataset", None)
            if each is None:
                break


def plain_globals(module: str) -> dict[str, Any]:
    """The numbers, texts and containers of a module and of its classes, by name."""
    names = dict(vars(sys.modules[module])) if module in sys.modules else {}
    values = _plain(names, "")
    for name, value in names.items():
        if isinstance(value, type) and value.__module__ in (module, "__mp_main__"):
            values |= _plain(dict(vars(value)), f"{name}.")
    return values


def _plain(names: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {
        prefix + name: value
        for name, value in names.items()
        if not (name.startswith("__") and name.endswith("__")) and _is_plain(value, [_LARGEST])
    }


def _is_plain(value: Any, left: list[int]) -> bool:
    """Whether a value is compared: it is plain at all depths, and within the limit of elements."""
    left[0] -= 1
    if left[0] < 0:
        return False
    if type(value) in (list, tuple, set, frozenset):
        return len(value) <= left[0] and all(_is_plain(each, left) for each in value)
    if type(value) is dict:
        return len(value) <= left[0] and all(
            _is_plain(each, left) for pair in list(value.items()) for each in pair
        )
    return type(value) in _ATOMS


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def warn_of_differences(differences: list[tuple[str, str, str, str]]) -> None:
    """Warns, once for each name, of values that differ between workers and the program.

    Args:
        differences: the values, as `ProgramState.differences` returns them.
    """
    fresh = [each for each in differences if each[:2] not in _warned_names]
    if not fresh:
        return
    _warned_names.update(each[:2] for each in fresh)
    listed = "; ".join(
        f"{name} of {module} is {expected} in the program, {actual} in a worker"
        for module, name, expected, actual in fresh
    )
    warnings.warn(
        "workers that are fresh processes import the program's modules again, and don't see what was assigned to them "
        f"since: {listed}. Give such values to the dataset as attributes, or fork the workers "
        "(multiprocessing_context='fork')",
        stacklevel=6,
    )
