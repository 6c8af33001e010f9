"""Recording what is done to an environment of symbolic sizes, and doing it again."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

__all__ = [
    "FakeTensorMeta",
    "NotEqualError",
    "ShapeEnvEvent",
    "record_shapeenv_event",
    "replay_shape_env_events",
    "shape_env_check_state_equal",
]


class FakeTensorMeta(NamedTuple):
    """The geometry of a fake tensor, without the tensor.

    Args:
        tensor_size: the sizes.
        tensor_stride: the strides.
        tensor_storage_offset: the first element.
        is_nested: whether it is nested.

    Example:
        >>> FakeTensorMeta((2,), (1,), 0, False).tensor_size
        (2,)
    """

    tensor_size: tuple[Any, ...]
    tensor_stride: tuple[Any, ...]
    tensor_storage_offset: Any
    is_nested: bool

    def size(self) -> tuple[Any, ...]:
        """Its sizes.

        Returns:
            They.
        """
        return self.tensor_size

    def stride(self) -> tuple[Any, ...]:
        """Its strides.

        Returns:
            They.
        """
        return self.tensor_stride

    def storage_offset(self) -> Any:
        """Where it begins in its storage.

        Returns:
            It.
        """
        return self.tensor_storage_offset

    def dim(self) -> int:
        """The number of its dimensions.

        Returns:
            It.
        """
        return len(self.tensor_size)

    @staticmethod
    def from_fake(fake: Any) -> FakeTensorMeta:
        """The geometry of a tensor.

        Args:
            fake: the tensor.

        Returns:
            Its geometry.
        """
        return FakeTensorMeta(tuple(fake.size()), tuple(fake.stride()), fake.storage_offset(), fake.is_nested)


@dataclass
class ShapeEnvEvent:
    """A call of a method of an environment.

    Args:
        f: the method.
        args: its arguments.
        kwargs: its keyword arguments.
        tracked_fakes: the fakes that were known then.
        name: its name, where it isn't the method's.

    Example:
        >>> ShapeEnvEvent(len, [[1, 2]]).args
        [[1, 2]]
    """

    f: Callable[..., Any]
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    tracked_fakes: list[Any] | None = None
    name: str | None = None

    def run(self, shape_env: Any = None) -> Any:
        """Makes the call again.

        Args:
            shape_env: the environment in which it is made; None: for the call that made one.

        Returns:
            What it returns.
        """
        if self.is_create_shape_env() or shape_env is None:
            return self.f(*self.args, **self.kwargs)
        return self.f(shape_env, *self.args[1:], **self.kwargs)

    def is_create_shape_env(self) -> bool:
        """Whether the call made the environment.

        Returns:
            True if so.
        """
        return self.name == "create_shape_env"


def record_shapeenv_event(
    *, save_tracked_fakes: bool = False, name: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a decorator for methods of an environment that have `events`: their outermost calls are noted there.

    Args:
        save_tracked_fakes: whether the environment's `tracked_fakes` are noted, too.
        name: what the event is called; by default as the method.

    Returns:
        The decorator.

    Example:
        >>> class Environment:
        ...     def __init__(self): self.events, self.should_record_events, self.is_recording = [], True, False
        ...     @record_shapeenv_event()
        ...     def note(self, text): return text
        >>> environment = Environment()
        >>> _ = environment.note("a")
        >>> [event.name for event in environment.events]
        ['note']
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(method):
            raise AssertionError(f"record_shapeenv_event takes a method, got {type(method).__name__}")

        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            events = getattr(self, "events", None)
            if (
                events is None
                or not getattr(self, "should_record_events", False)
                or getattr(self, "is_recording", False)
            ):
                return method(self, *args, **kwargs)
            fakes = list(getattr(self, "tracked_fakes", None) or []) if save_tracked_fakes else None
            self.is_recording = True
            try:
                result = method(self, *args, **kwargs)
            finally:
                self.is_recording = False
            events.append(ShapeEnvEvent(method, [self, *args], kwargs, fakes, name or method.__name__))
            return result

        call.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
        return call

    return decorate


def replay_shape_env_events(events: list[ShapeEnvEvent]) -> Any:
    """Makes all recorded calls again, in an environment of their own.

    Args:
        events: the calls; the first made the environment.

    Returns:
        The new environment.

    Raises:
        AssertionError: the first call made none.
        RuntimeError: a call fails.
    """
    if not events or not events[0].is_create_shape_env():
        raise AssertionError("the first event has to be the one that made the environment")
    env = events[0].run()
    for event in events[1:]:
        try:
            event.run(env)
        except Exception as error:
            raise RuntimeError(f"failed when running event: {event.name}") from error
    return env


class NotEqualError(Exception):
    """Two environments differ.

    Args:
        msg: where.
        mismatched: names and both values.
    """

    def __init__(self, msg: str, mismatched: list[tuple[str, str, str]]) -> None:
        details = "\n".join(
            f"==> {name}: values don't match.\n  >  Left: {a}\n  > Right: {b}" for name, a, b in mismatched
        )
        super().__init__(f"{msg}\n\n{details}\n")


def shape_env_check_state_equal(
    env1: Any, env2: Any, non_state_variable_names: tuple[str, ...], map_value: Callable[[str, Any], Any]
) -> None:
    """Raises unless two environments hold the same.

    Args:
        env1, env2: the environments.
        non_state_variable_names: attributes that don't count.
        map_value: takes an attribute's name and value and gives what is compared.

    Raises:
        NotEqualError: they differ.
    """
    first, second = (
        {k: v for k, v in vars(e).items() if k not in non_state_variable_names} for e in (env1, env2)
    )
    if first.keys() != second.keys():
        raise NotEqualError("field set mismatch:", [("attributes", str(sorted(first)), str(sorted(second)))])
    differing = []
    for name in sorted(first):
        a, b = map_value(name, first[name]), map_value(name, second[name])
        if a != b:
            differing.append((name, str(a), str(b)))
    if differing:
        raise NotEqualError("field values don't match:", differing)
