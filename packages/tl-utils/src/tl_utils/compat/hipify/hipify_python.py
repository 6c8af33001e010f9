"""Translates nothing: this library has no CUDA sources. The search tree of the translator can be used by itself."""

from __future__ import annotations

import re
from typing import Any, NoReturn

__all__ = ["Trie", "hipify"]


class TrieNode:
    """A node of a `Trie`: the characters that may follow, and whether a word may end here."""

    def __init__(self) -> None:
        self.children: dict[str, TrieNode] = {}
        self.ends = False


class Trie:
    """Words as a tree of their characters, and as one regular expression.

    Example:
        >>> trie = Trie()
        >>> for word in ("__CUDACC__", "__CUDA__"):
        ...     trie.add(word)
        >>> trie.export_to_regex()
        '__CUDA(?:CC__|__)'
    """

    def __init__(self) -> None:
        self.root = TrieNode()

    def add(self, word: str) -> None:
        """Adds a word."""
        node = self.root
        for char in word:
            node = node.children.setdefault(char, TrieNode())
        node.ends = True

    def search(self, word: str) -> bool:
        """Whether a word was added."""
        node: TrieNode | None = self.root
        for char in word:
            node = node.children.get(char) if node is not None else None
        return node is not None and node.ends

    def quote(self, char: str) -> str:
        """A character as a regular expression has it."""
        return re.escape(char)

    def dump(self) -> dict[str, TrieNode]:
        """The characters with which words begin."""
        return self.root.children

    def pattern(self, root: TrieNode) -> str | None:
        """The regular expression of the words below a node, or None for a leaf."""
        if not root.children:
            return None
        single, longer = [], []
        for char in sorted(root.children):
            rest = self.pattern(root.children[char])
            if rest is None:
                single.append(self.quote(char))
            else:
                longer.append(self.quote(char) + rest)
        if single:
            longer.append(single[0] if len(single) == 1 else f"[{''.join(single)}]")
        text = longer[0] if len(longer) == 1 else f"(?:{'|'.join(longer)})"
        if not root.ends:
            return text
        return f"{text}?" if len(single) == len(root.children) else f"(?:{text})?"

    def export_to_regex(self) -> str | None:
        """The regular expression of all words, or None without any."""
        return self.pattern(self.root)


def hipify(*args: Any, **kwargs: Any) -> NoReturn:
    """Would translate CUDA sources for ROCm.

    Raises:
        NotImplementedError: always.

    Example:
        >>> try:
        ...     hipify("kernels")
        ... except NotImplementedError:
        ...     print("not there")
        ...
        not there
    """
    raise NotImplementedError(
        "hipify: CUDA sources aren't translated here; use hipify-perl or hipify-clang of ROCm"
    )
