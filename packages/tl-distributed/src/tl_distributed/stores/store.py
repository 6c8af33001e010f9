"""Keys and values that processes share to find each other."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import timedelta

from ..base.constants import default_store_timeout
from ..base.errors import DistStoreError

Change = Callable[[bytes | None], bytes | None]


class Store(ABC):
    """A table of bytes by text, shared by threads or processes.

    Every operation may be a trip over a network, so each is one method that a kind of store brings.

    Example:
        >>> issubclass(HashStore, Store)
        True
    """

    def __init__(self) -> None:
        self._timeout = default_store_timeout

    @property
    def timeout(self) -> timedelta:
        """The time that `get` and `wait` wait for a key."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets how long `get` and `wait` wait for a key."""
        self._timeout = timeout

    @abstractmethod
    def set(self, key: str, value: str | bytes) -> None:
        """Sets the value of a key, whatever it was."""

    @abstractmethod
    def get(self, key: str) -> bytes:
        """The value of a key; waits until it has one.

        Raises:
            DistStoreError: it had none when the time was over.
        """

    @abstractmethod
    def add(self, key: str, amount: int) -> int:
        """Adds to a counter, which begins with 0; returns its new value.

        Raises:
            ValueError: the key holds something other than a number.
        """

    @abstractmethod
    def append(self, key: str, value: str | bytes) -> None:
        """Puts more behind the value of a key, which begins empty."""

    @abstractmethod
    def check(self, keys: Sequence[str]) -> bool:
        """True if all keys have a value now."""

    @abstractmethod
    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Sets a key to `desired_value` if it holds `expected_value`, or has none and '' is expected.

        Returns:
            The value afterwards; `expected_value` for a key that has none.
        """

    @abstractmethod
    def delete_key(self, key: str) -> bool:
        """Removes a key; says whether it was there."""

    @abstractmethod
    def num_keys(self) -> int:
        """The number of keys that have a value."""

    @abstractmethod
    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Waits until all keys have a value.

        Raises:
            DistStoreError: not all had one when the time was over.
        """

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """The values of several keys; waits until all have one."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Sets several keys."""
        check_lengths(keys, values)
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """True if `append`, `multi_get` and `multi_set` are there."""
        return True


class EditedStore(Store):
    """A store of which a kind says how one entry is changed, looked up, and what waiting for a change means."""

    @abstractmethod
    def edit(self, key: str, change: Change) -> bytes | None:
        """Replaces a value by `change(value)` in one step, where None stands for no entry; returns the new one."""

    @abstractmethod
    def peek(self, key: str) -> bytes | None:
        """The value of a key now, None if there is none."""

    def pause(self, seconds: float) -> None:
        """Returns when something may have changed, after `seconds` at the latest."""
        time.sleep(min(seconds, 0.01))

    def set(self, key: str, value: str | bytes) -> None:
        self.edit(key, lambda _: as_bytes(value))

    def get(self, key: str) -> bytes:
        self.wait([key])
        value = self.peek(key)
        if value is None:
            raise DistStoreError(f"the key {key!r} was deleted while it was read")
        return value

    def add(self, key: str, amount: int) -> int:
        return int(self.edit(key, lambda old: str(int(old or b"0") + amount).encode()) or b"0")

    def append(self, key: str, value: str | bytes) -> None:
        self.edit(key, lambda old: (old or b"") + as_bytes(value))

    def check(self, keys: Sequence[str]) -> bool:
        return all(self.peek(key) is not None for key in keys)

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        expected, desired = as_bytes(expected_value), as_bytes(desired_value)

        def change(old: bytes | None) -> bytes | None:
            return desired if (b"" if old is None else old) == expected else old

        after = self.edit(key, change)
        return expected if after is None else after

    def delete_key(self, key: str) -> bool:
        removed = []

        def change(old: bytes | None) -> None:
            removed.append(old is not None)

        self.edit(key, change)
        return removed[-1]

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        seconds = (self.timeout if timeout is None else timeout).total_seconds()
        end = time.monotonic() + seconds
        while not self.check(keys):
            left = end - time.monotonic()
            if left <= 0:
                missing = [key for key in keys if not self.check([key])]
                raise DistStoreError(f"wait timeout after {seconds} s: no value for {', '.join(missing)}")
            self.pause(left)


class HashStore(EditedStore):
    """A store in the memory of this process, for its threads.

    Example:
        >>> store = HashStore()
        >>> store.set("rank 0", "ready")
        >>> store.get("rank 0"), store.add("workers", 2)
        (b'ready', 2)
    """

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, bytes] = {}
        self._changed = threading.Condition()

    def edit(self, key: str, change: Change) -> bytes | None:
        with self._changed:
            value = change(self._values.get(key))
            if value is None:
                self._values.pop(key, None)
            else:
                self._values[key] = value
            self._changed.notify_all()
        return value

    def peek(self, key: str) -> bytes | None:
        with self._changed:
            return self._values.get(key)

    def num_keys(self) -> int:
        with self._changed:
            return len(self._values)

    def pause(self, seconds: float) -> None:
        # A change may have come since the caller looked, so this doesn't sleep for long.
        with self._changed:
            self._changed.wait(min(seconds, 0.05))


class PrefixStore(Store):
    """Another store, with a prefix and a slash before every key.

    Args:
        prefix: what to put before the keys.
        store: the store that holds the values.

    Example:
        >>> shared = HashStore()
        >>> PrefixStore("job 7", shared).set("epoch", "3")
        >>> shared.get("job 7/epoch")
        b'3'
    """

    def __init__(self, prefix: str, store: Store):
        super().__init__()
        self.prefix = prefix
        self._store = store

    @property
    def underlying_store(self) -> Store:
        """The store that holds the values."""
        return self._store

    @property
    def timeout(self) -> timedelta:
        """The time that `get` and `wait` wait for a key."""
        return self._store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets how long `get` and `wait` wait for a key, in the store below."""
        self._store.set_timeout(timeout)

    def _full(self, key: str) -> str:
        return f"{self.prefix}/{key}"

    def set(self, key: str, value: str | bytes) -> None:
        self._store.set(self._full(key), value)

    def get(self, key: str) -> bytes:
        return self._store.get(self._full(key))

    def add(self, key: str, amount: int) -> int:
        return self._store.add(self._full(key), amount)

    def append(self, key: str, value: str | bytes) -> None:
        self._store.append(self._full(key), value)

    def check(self, keys: Sequence[str]) -> bool:
        return self._store.check([self._full(key) for key in keys])

    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        return self._store.compare_set(self._full(key), expected_value, desired_value)

    def delete_key(self, key: str) -> bool:
        return self._store.delete_key(self._full(key))

    def num_keys(self) -> int:
        """The number of keys of the store below, whatever their prefix."""
        return self._store.num_keys()

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self._store.wait([self._full(key) for key in keys], timeout)

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        return self._store.multi_get([self._full(key) for key in keys])

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        self._store.multi_set([self._full(key) for key in keys], values)

    def has_extended_api(self) -> bool:
        return self._store.has_extended_api()


def check_lengths(keys: Sequence[str], values: Sequence[str | bytes]) -> None:
    """Raises for a number of values other than that of the keys."""
    if len(keys) != len(values):
        raise ValueError(f"multi_set: got {len(keys)} keys and {len(values)} values")


def as_bytes(value: str | bytes) -> bytes:
    """The bytes of a value, a text as UTF-8."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise TypeError(f"a store's value must be str or bytes, got {type(value).__name__}")
