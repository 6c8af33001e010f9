"""`torch.utils.weak`: references and dictionaries that do not keep tensors alive, by identity instead of equality."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, MutableMapping
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
        mine = self()
        return mine is not None and mine is other()

    def __ne__(self, other: object) -> bool:
        return not self == other


WeakTensorRefKey = WeakIdRef


class WeakIdKeyDictionary(MutableMapping[Any, Any]):
    """A dictionary whose entries go with their keys, which are told apart by identity.

    Args:
        dict: entries to begin with.

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

    def __init__(self, dict: Any = None) -> None:
        self.data: Any = {}
        dead = weakref.ref(self)

        def forget(reference: WeakIdRef) -> None:
            mapping = dead()
            if mapping is not None:
                mapping.data.pop(reference, None)

        self._forget = forget
        if dict is not None:
            self.update(dict)

    def __getitem__(self, key: Any) -> Any:
        return self.data[WeakIdRef(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[WeakIdRef(key, self._forget)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[WeakIdRef(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return WeakIdRef(key) in self.data
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
        return f"<{type(self).__name__} of {len(self)} at {id(self):#x}>"

    def copy(self) -> WeakIdKeyDictionary:
        """Another dictionary with the same entries."""
        return type(self)(self)


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
