"""`torch.utils.weak`: references and dictionaries that do not keep tensors alive, by identity instead of equality."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import Any

from tl_core import Tensor

__all__ = ["TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary", "WeakTensorRefKey"]


class WeakIdRef(weakref.ref):
    """A weak reference that equals another if both are to the same object.

    Args:
        key: the object.
        callback: what is called with the reference when the object dies.
    """

    __slots__ = ("_id",)

    def __new__(cls, key: Any, callback: Any = None) -> WeakIdRef:
        return super().__new__(cls, key, callback)

    def __init__(self, key: Any, callback: Any = None) -> None:
        self._id = id(key)

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, WeakIdRef):
            return self is other
        key = self()
        return key is not None and key is other()

    def __ne__(self, other: object) -> bool:
        return not self == other


WeakTensorRefKey = WeakIdRef


class _WeakHashRef(weakref.ref):
    """A weak reference that equals another if both objects are equal, by their own hashes.

    Args:
        key: the object.
        callback: what is called with the reference when the object dies.
    """

    __slots__ = ("_hash",)

    def __new__(cls, key: Any, callback: Any = None) -> _WeakHashRef:
        return super().__new__(cls, key, callback)

    def __init__(self, key: Any, callback: Any = None) -> None:
        self._hash = hash(key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, _WeakHashRef):
            return self is other
        key, other_key = self(), other()
        return key is not None and other_key is not None and bool(key == other_key)

    def __ne__(self, other: object) -> bool:
        return not self == other


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary whose entries go with their keys, which are told apart by identity.

    Args:
        dict: entries to begin with.
        ref_type: the references by which keys are told apart; `WeakIdRef` goes by identity.

    Example:
        >>> import tl_core as tl
        >>> known, x = WeakIdKeyDictionary(), tl.ones(2)
        >>> known[x] = "x"
        >>> known[x], tl.ones(2) in known
        ('x', False)
        >>> del x
        >>> len(known)
        0
    """

    def __init__(self, dict: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.data: Any = {}
        self.ref_type = ref_type
        dead = weakref.ref(self)

        def forget(reference: WeakIdRef) -> None:
            mapping = dead()
            if mapping is not None:
                mapping.data.pop(reference, None)

        self._forget = forget
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._forget)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return self.ref_type(key) in self.data
        except TypeError:  # nothing refers weakly to such an object
            return False

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"

    def copy(self) -> WeakIdKeyDictionary:
        """Another dictionary with the same entries."""
        return type(self)(self, self.ref_type)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> WeakIdKeyDictionary:
        """Another dictionary with the same keys and copies of the values."""
        return type(self)([(key, deepcopy(value, memo)) for key, value in self._entries()], self.ref_type)

    def _entries(self) -> list[tuple[Any, Any]]:
        """The entries at this moment, with their keys alive."""
        pairs = [(reference(), value) for reference, value in list(self.data.items())]
        return [(key, value) for key, value in pairs if key is not None]

    def keyrefs(self) -> list[Any]:
        """References to the keys; some may be gone by the time they are asked."""
        return list(self.data)

    def popitem(self) -> tuple[Any, Any]:
        """Takes an entry out.

        Raises:
            KeyError: there is none.
        """
        while True:
            reference, value = self.data.popitem()
            key = reference()
            if key is not None:
                return key, value

    def __or__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        result = self.copy()
        result.update(other)
        return result

    def __ror__(self, other: Any) -> Any:
        if not isinstance(other, Mapping):
            return NotImplemented
        result = type(self)(other, self.ref_type)
        result.update(self)
        return result

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor: called, it gives the tensor, or None once that is gone.

    Args:
        tensor: the tensor.

    Raises:
        TypeError: it is none.
    """

    def __init__(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"TensorWeakRef(): expected a Tensor, got {type(tensor).__name__}")
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Tensor | None:
        return self.ref()
