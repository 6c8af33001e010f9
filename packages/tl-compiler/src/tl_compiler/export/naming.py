"""Names of the inputs of an exported graph."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["input_names", "name_outputs", "placeholder_name"]


def placeholder_name(prefix: str, fqn: str) -> str:
    """The name of the input that holds a parameter, buffer or constant.

    Args:
        prefix: `p_`, `b_`, `c_` or `obj_`.
        fqn: its dotted name in the module.

    Example:
        >>> placeholder_name("p_", "0.weight")
        'p_0_weight'
    """
    return re.sub(r"[^a-zA-Z0-9]", "_", f"{prefix}{fqn}").lower()


def input_names(paths: list[str]) -> list[str]:
    """Names for the leaves of a call's arguments, from their paths.

    Args:
        paths: the paths: `['x'][0]['key']`.

    Example:
        >>> input_names(["['x']", "['d']['key']", "['d']['l'][0]"])
        ['x', 'd_key', 'd_l_0']
    """
    used: dict[str, int] = {}
    names = []
    for path in paths:
        name = "_".join(part for part in re.split(r"[^a-zA-Z0-9_]+", path) if part).lower() or "arg"
        name = f"arg_{name}" if name[0].isdigit() else name
        count = used.get(name, 0)
        used[name] = count + 1
        names.append(name if not count else f"{name}_{count}")
    return names


def name_outputs(signature: Any, graph: Any) -> None:
    """Lets a signature call the outputs of a graph as their nodes are called now.

    Args:
        signature: the signature, which is changed.
        graph: the graph.
    """
    for spec, node in zip(signature.output_specs, graph.output_node().args[0], strict=True):
        if hasattr(node, "name"):
            spec.arg.name = node.name


def as_identifier(text: Any) -> str:
    """A text as part of a name."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", str(text))
