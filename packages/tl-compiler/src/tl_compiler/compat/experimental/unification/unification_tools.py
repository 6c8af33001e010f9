"""Functions on dictionaries and sequences that give new ones."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

__all__ = [
    "assoc",
    "assoc_in",
    "dissoc",
    "first",
    "get_in",
    "getter",
    "groupby",
    "itemfilter",
    "itemmap",
    "keyfilter",
    "keymap",
    "merge",
    "merge_with",
    "update_in",
    "valfilter",
    "valmap",
]

Map = dict[Any, Any]


def _dicts(arguments: tuple[Any, ...]) -> list[Map]:
    """Dictionaries as arguments, or as one argument that holds them."""
    if len(arguments) == 1 and not isinstance(arguments[0], dict):
        return list(arguments[0])
    return list(arguments)


def merge(*dicts: Any, factory: Callable[[], Any] = dict) -> Any:
    """All entries of dictionaries; later ones win.

    Args:
        dicts: the dictionaries, or one iterable of them.
        factory: makes the result.

    Returns:
        The new dictionary.

    Example:
        >>> merge({1: "one"}, {2: "two"})
        {1: 'one', 2: 'two'}
    """
    result = factory()
    for one in _dicts(dicts):
        result.update(one)
    return result


def merge_with(func: Callable[[list[Any]], Any], *dicts: Any, factory: Callable[[], Any] = dict) -> Any:
    """What a function makes of the values of each key in several dictionaries.

    Args:
        func: takes the list of values.
        dicts: the dictionaries, or one iterable of them.
        factory: makes the result.

    Returns:
        The new dictionary.

    Example:
        >>> merge_with(sum, {1: 1, 2: 2}, {1: 10})
        {1: 11, 2: 2}
    """
    groups = factory()
    for one in _dicts(dicts):
        for key, value in one.items():
            groups.setdefault(key, []).append(value)
    return valmap(func, groups, factory)


def valmap(func: Callable[[Any], Any], d: Map, factory: Callable[[], Any] = dict) -> Any:
    """A dictionary with a function of its values.

    Args:
        func: the function.
        d: the dictionary.
        factory: makes the result.

    Returns:
        The new dictionary.

    Example:
        >>> valmap(sum, {"a": [1, 2], "b": [3]})
        {'a': 3, 'b': 3}
    """
    result = factory()
    result.update((key, func(value)) for key, value in d.items())
    return result


def keymap(func: Callable[[Any], Any], d: Map, factory: Callable[[], Any] = dict) -> Any:
    """A dictionary with a function of its keys.

    Args:
        func: the function.
        d: the dictionary.
        factory: makes the result.

    Returns:
        The new dictionary.

    Example:
        >>> keymap(str.lower, {"A": 1})
        {'a': 1}
    """
    result = factory()
    result.update((func(key), value) for key, value in d.items())
    return result


def itemmap(func: Callable[[Any], Any], d: Map, factory: Callable[[], Any] = dict) -> Any:
    """A dictionary of what a function makes of each entry.

    Args:
        func: takes and gives a pair of key and value.
        d: the dictionary.
        factory: makes the result.

    Returns:
        The new dictionary.

    Example:
        >>> itemmap(reversed, {"a": 1})
        {1: 'a'}
    """
    result = factory()
    result.update(map(func, d.items()))
    return result


def valfilter(predicate: Callable[[Any], bool], d: Map, factory: Callable[[], Any] = dict) -> Any:
    """The entries whose value fulfils a condition.

    Args:
        predicate: the condition.
        d: the dictionary.
        factory: makes the result.

    Returns:
        The new dictionary.
    """
    result = factory()
    result.update((key, value) for key, value in d.items() if predicate(value))
    return result


def keyfilter(predicate: Callable[[Any], bool], d: Map, factory: Callable[[], Any] = dict) -> Any:
    """The entries whose key fulfils a condition.

    Args:
        predicate: the condition.
        d: the dictionary.
        factory: makes the result.

    Returns:
        The new dictionary.
    """
    result = factory()
    result.update((key, value) for key, value in d.items() if predicate(key))
    return result


def itemfilter(predicate: Callable[[Any], bool], d: Map, factory: Callable[[], Any] = dict) -> Any:
    """The entries that fulfil a condition.

    Args:
        predicate: takes a pair of key and value.
        d: the dictionary.
        factory: makes the result.

    Returns:
        The new dictionary.
    """
    result = factory()
    result.update(item for item in d.items() if predicate(item))
    return result


def assoc(d: Map, key: Any, value: Any, factory: Callable[[], Any] = dict) -> Any:
    """A dictionary with one more entry.

    Args:
        d: the dictionary.
        key, value: the entry.
        factory: makes the result.

    Returns:
        The new dictionary.
    """
    result = factory()
    result.update(d)
    result[key] = value
    return result


def dissoc(d: Map, *keys: Any, factory: Callable[[], Any] = dict) -> Any:
    """A dictionary without some keys.

    Args:
        d: the dictionary.
        keys: the keys; those that aren't there don't matter.
        factory: makes the result.

    Returns:
        The new dictionary.
    """
    result = factory()
    result.update((key, value) for key, value in d.items() if key not in keys)
    return result


def assoc_in(d: Map, keys: Any, value: Any, factory: Callable[[], Any] = dict) -> Any:
    """Nested dictionaries with one more entry.

    Args:
        d: the dictionary.
        keys: the way to the entry.
        value: its value.
        factory: makes dictionaries.

    Returns:
        The new dictionary.

    Example:
        >>> assoc_in({"a": {"b": 1}}, ["a", "c"], 2)
        {'a': {'b': 1, 'c': 2}}
    """
    return update_in(d, keys, lambda _: value, value, factory)


def update_in(
    d: Map, keys: Any, func: Callable[[Any], Any], default: Any = None, factory: Callable[[], Any] = dict
) -> Any:
    """Nested dictionaries with a function of one value.

    Args:
        d: the dictionary.
        keys: the way to the value.
        func: the function.
        default: what it takes where there is no value.
        factory: makes dictionaries.

    Returns:
        The new dictionary.

    Example:
        >>> update_in({"a": 0}, ["a"], lambda x: x + 1)
        {'a': 1}
    """
    first_key, *rest = keys
    result = factory()
    result.update(d)
    if rest:
        result[first_key] = update_in(d.get(first_key, factory()), rest, func, default, factory)
    else:
        result[first_key] = func(d.get(first_key, default))
    return result


def get_in(keys: Any, coll: Any, default: Any = None, no_default: bool = False) -> Any:
    """A value in nested containers.

    Args:
        keys: the way to it.
        coll: the containers.
        default: what is given where there is none.
        no_default: whether that is an error instead.

    Returns:
        The value.

    Example:
        >>> get_in(["a", 1], {"a": [5, 6]})
        6
    """
    try:
        return reduce(operator.getitem, keys, coll)
    except (KeyError, IndexError, TypeError):
        if no_default:
            raise
        return default


def getter(index: Any) -> Callable[[Any], Any]:
    """A function that takes items.

    Args:
        index: one index, or a list of several.

    Returns:
        A function from a container to the item, or a tuple of items.
    """
    if isinstance(index, list):
        if len(index) == 1:
            only = index[0]
            return lambda x: (x[only],)
        return operator.itemgetter(*index) if index else lambda x: ()
    return operator.itemgetter(index)


def groupby(key: Any, seq: Iterable[Any]) -> dict[Any, list[Any]]:
    """The items of a sequence by what a function says of them.

    Args:
        key: the function, or an index of the items.
        seq: the sequence.

    Returns:
        Lists of items by key.

    Example:
        >>> groupby(len, ["a", "bb", "c"])
        {1: ['a', 'c'], 2: ['bb']}
    """
    of = key if callable(key) else getter(key)
    groups: dict[Any, list[Any]] = defaultdict(list)
    for item in seq:
        groups[of(item)].append(item)
    return dict(groups)


def first(seq: Iterable[Any]) -> Any:
    """The first item.

    Args:
        seq: the sequence.

    Returns:
        The item.
    """
    return next(iter(seq))
