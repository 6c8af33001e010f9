"""Names that PyTorch's modules import from elsewhere, which programs import from there.

`from torch.nn.modules.conv import _pair` is common, though `_pair` is a function of `torch.nn.modules.utils`. tl's
modules import other names than PyTorch's. So the façade looks up such a name at its origin.

`names.txt.gz` holds a line for each module: its dotted name, and words `name=origin`. An origin is a module, or a
module and a name in it. `tools/reexports.py` writes the list. The first missing name of a program loads it.
"""

from functools import cache
from importlib import import_module
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@cache
def table() -> dict[str, str]:
    """The words of each module's line, by its dotted name."""
    import gzip

    text = gzip.decompress(Path(__file__).with_name("names.txt.gz").read_bytes()).decode()
    pairs = (line.partition(" ") for line in text.splitlines())
    return {module: f" {words} " for module, _, words in pairs}


def origin(dotted: str) -> str | None:
    """The origin of a name that a module of PyTorch imports, as `module:name` or `module` under tl's names; or None.

    Args:
        dotted: the name below `torch`, such as `nn.modules.conv._pair`.
    """
    module, _, name = dotted.rpartition(".")
    _, word, rest = table().get(module, "").partition(f" {name}=")
    if not word:
        return None
    reference = rest.partition(" ")[0]
    above, _, below = reference.partition(".")
    if reference.partition(":")[0] == "torch":
        return f"tl{reference[5:]}"
    return f"tl.{below}" if above == "torch" else reference


def load(reference: str) -> "Any":
    """The object of an origin. A name in a package may be a module that nothing has loaded yet."""
    module, _, name = reference.partition(":")
    value = import_module(module)
    if not name:
        return value
    try:
        return getattr(value, name)
    except AttributeError:
        return import_module(f"{module}.{name}")
