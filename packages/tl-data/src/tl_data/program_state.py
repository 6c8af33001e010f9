"""What a program has set, for workers that are fresh processes: tl's settings, logging levels, warning filters.

What can't be handed over is compared: plain values of the modules that the loader's classes and functions come from. A
fresh process imports these modules, and doesn't see what the program has assigned to them since.
"""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

from tl_core.process_settings import ProcessSettings

__all__ = ["Environment", "ProgramState", "plain_globals", "warn_of_differences"]

_ATOMS = (type(None), bool, int, float, complex, str, bytes)
_OWN = ("tl.", "tl_data.")
_LARGEST = 1000  # elements of a container that is compared
_told: set[tuple[str, str]] = set()  # the names that were warned of


class Environment:
    """The program's environment variables: an object that sets them where it is unpickled.

    A process of a fork server would have those that the program had when the server started.
    """

    def __reduce__(self) -> Any:
        return _set_environment, (dict(os.environ),)


def _set_environment(variables: dict[str, str]) -> None:
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)


class LoggerStates(NamedTuple):
    """What `logging` lets through. Handlers are not part of it: they write to files and streams of the program.

    Args:
        disabled: the level up to which nothing is logged.
        loggers: the loggers by their names, each with its level, whether it is disabled and whether it propagates.
    """

    disabled: int
    loggers: dict[str, tuple[int, bool, bool]]

    @classmethod
    def current(cls) -> LoggerStates:
        """The state as it is now."""
        import logging  # here and below: which few workers need

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
        """Makes it that of this process."""
        import logging

        logging.disable(self.disabled)
        for name, (level, disabled, propagate) in self.loggers.items():
            logger = logging.getLogger(name)
            logger.setLevel(level)
            logger.disabled, logger.propagate = disabled, propagate


class ProgramState(NamedTuple):
    """What a program has set, and the plain values of some of its modules. It can be pickled.

    Args:
        settings: those of tl.
        loggers: the state of `logging`; None if the program never loaded it.
        filters: those of `warnings`.
        globals: the plain values by module and name.
    """

    settings: ProcessSettings
    loggers: LoggerStates | None
    filters: list[Any]
    globals: dict[str, dict[str, Any]]

    @classmethod
    def current(cls, *objects: Any) -> ProgramState:
        """The state as it is now, with the modules of some objects."""
        return cls(
            ProcessSettings.current(),
            LoggerStates.current() if "logging" in sys.modules else None,
            [each for each in warnings.filters if _is_picklable(each)],
            {name: plain_globals(name) for name in _modules_of(objects)},
        )

    def restore(self) -> None:
        """Sets in this process what can be set."""
        self.settings.restore()
        if self.loggers is not None:
            self.loggers.restore()
        warnings.resetwarnings()
        warnings.filters[:] = self.filters  # type: ignore[index]  # a list, as `simplefilter` knows

    def differences(self) -> list[tuple[str, str, str, str]]:
        """The values that this process has otherwise: module, name, the program's, this one's."""
        found: list[tuple[str, str, str, str]] = []
        for module, theirs in self.globals.items():
            ours = plain_globals(module)
            found += [
                (module, name, _short(theirs[name]), _short(ours[name]))
                for name in theirs.keys() & ours.keys()
                if theirs[name] != ours[name] and repr(theirs[name]) != repr(ours[name])  # nan is not nan
            ]
        return sorted(found)


def _is_picklable(each: Any) -> bool:
    try:
        pickle.dumps(each)
    except Exception:  # of a category that only the program knows
        return False
    return True


def _modules_of(objects: Any) -> list[str]:
    """The modules that the classes of some objects come from, or the functions themselves, without tl's own."""
    names = [getattr(each, "__module__", None) for each in _with_parts(objects)]
    return [name for name in dict.fromkeys(["__main__", *names]) if name and not f"{name}.".startswith(_OWN)]


def _with_parts(objects: Any) -> Iterator[Any]:
    """Objects, and the datasets inside of those that are made of others."""
    for each in objects:
        for _ in range(10):
            yield each
            each = getattr(each, "dataset", None)
            if each is None:
                break


def plain_globals(module: str) -> dict[str, Any]:
    """The numbers, texts and containers of such that a module has, also as attributes of its classes."""
    names = dict(vars(sys.modules[module])) if module in sys.modules else {}
    found = _plain(names, "")
    for name, value in names.items():
        if isinstance(value, type) and value.__module__ in (module, "__mp_main__"):
            found |= _plain(dict(vars(value)), f"{name}.")
    return found


def _plain(names: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {
        prefix + name: value
        for name, value in names.items()
        if not (name.startswith("__") and name.endswith("__")) and _is_plain(value, [_LARGEST])
    }


def _is_plain(value: Any, left: list[int]) -> bool:
    """Whether a value is compared: it is plain all through, and has not too many elements."""
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


def warn_of_differences(found: list[tuple[str, str, str, str]]) -> None:
    """Warns, once for each name, of values that workers have otherwise than the program.

    Args:
        found: the values, as `ProgramState.differences` returns them.
    """
    fresh = [each for each in found if each[:2] not in _told]
    if not fresh:
        return
    _told.update(each[:2] for each in fresh)
    listed = "; ".join(
        f"{name} of {module} is {theirs} in the program, {ours} in a worker"
        for module, name, theirs, ours in fresh
    )
    warnings.warn(
        "workers that are fresh processes import the program's modules again, and don't see what was assigned to them "
        f"since: {listed}. Give such values to the dataset as attributes, or fork the workers "
        "(multiprocessing_context='fork')",
        stacklevel=6,
    )
