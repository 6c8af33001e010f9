"""The list of names that PyTorch has and tl lacks.

`names.txt.gz` holds a line for each module: its dotted name without `torch`, `*` if any name is taken to be in it, and
its names by kind: `c` classes, `e` exceptions, `f` functions, `o` others. `tools/absent_names.py` writes it.
"""

from functools import cache
from pathlib import Path

KINDS = {"c": "class", "e": "exception", "f": "function", "o": "object"}


@cache
def _modules() -> dict[str, str]:
    import gzip

    text = gzip.decompress(Path(__file__).with_name("names.txt.gz").read_bytes()).decode()
    pairs = (line.partition(" ") for line in text.splitlines())
    return {f"torch.{name}".rstrip("."): rest for name, _, rest in pairs}


@cache
def _kinds(module: str) -> dict[str, str]:
    kinds, letter = {}, "o"
    for word in _modules().get(module, "").split():
        if word.endswith(":"):
            letter = word[0]
        else:
            kinds[word] = KINDS[letter]
    return kinds


def is_module(dotted: str) -> bool:
    """Whether PyTorch has a module of this name that tl lacks."""
    return "!" in _kinds(dotted)


def has(dotted: str) -> bool:
    """Whether PyTorch has this name, and tl doesn't."""
    return kind(dotted) is not None


def kind(dotted: str) -> str | None:
    """The kind of a name in PyTorch: module, class, exception, function or object; None for an unknown name."""
    if is_module(dotted):
        return "module"
    module, _, name = dotted.rpartition(".")
    kinds = _kinds(module)
    if name in kinds or "*" not in kinds or name.startswith("__"):
        return kinds.get(name)
    return "exception" if name.endswith(("Error", "Exception")) else "object"
