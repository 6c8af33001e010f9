"""The names that the façade serves: those of the core's table and its own. The reasons for missing names."""

from tl_core.base import name_table
from tl_core.base.name_table import ALIASES as ALIASES
from tl_core.base.name_table import CORE as CORE
from tl_core.base.name_table import MODULES as MODULES
from tl_core.base.name_table import facade_of as facade_of
from tl_core.base.name_table import first_name_of as first_name_of
from tl_core.base.name_table import home_of as home_of
from tl_core.base.name_table import module_of as module_of

OWN = frozenset(
    {
        "examples",
        "functorch",
        "stubs",
        "torch",
        "version",
        "_absent",
        "_device_modules",
        "_finder",
        "_grafts",
        "_names",
        "_packages",
        "_plugins",
        "_reexports",
        "_release",
        "_star_names",
        "_submodules",
        "_tracebacks",
        "_vendor",
        "_watch",
    }
)

OBJECTS = name_table.OBJECTS | {
    "_register_device_module": "tl._device_modules:register_device_module",
    "torch_version.TorchVersion": "tl._release:Release",
}

# Packages in the table that don't exist yet. No message may recommend to install a name that others may own.
PLANNED: frozenset[str] = frozenset()

# Parts of PyTorch that aren't built yet, and the reason in the message about a name in them.
_EAGER = (
    "tl-quantization prunes models and quantizes them in eager mode, as graphs and as exported programs; quantized "
    "programs of TorchScript and callbacks of Lightning aren't built yet"
)
_SCRIPT = "tl runs the code of a program of TorchScript as Python, without PyTorch's executor"
UNBUILT = {
    "ao.pruning": _EAGER,
    "ao.quantization": _EAGER,
    "cuda.amp.common": "tl computes on the CPU; torch.amp has the names for all devices",
    "distributed.nn.jit": _SCRIPT,
    "jit": _SCRIPT,
    "nn.cpp": "modules written in C++ against torch/nn.h aren't served",
}


def unbuilt(dotted: str) -> str | None:
    """The reason for a missing name in a part that isn't built yet; None for a name elsewhere."""
    prefix = first_name_of(dotted)
    while prefix and prefix not in UNBUILT:
        prefix = prefix.rpartition(".")[0]
    return UNBUILT.get(prefix)


def below(dotted: str) -> list[str]:
    """The lines of the table under a name: `utils` → `utils.checkpoint`, `utils.data`."""
    return [name for table in (MODULES, OBJECTS, ALIASES) for name in table if name.startswith(dotted + ".")]


def package_of(module: str) -> str:
    """The import name of the package that holds a module: `tl_nn.functional` → `tl_nn`."""
    return module.partition(":")[0].partition(".")[0]


def distribution_of(module: str) -> str:
    """The name to give to pip for a module: `tl_nn.functional` → `tl-nn`."""
    return package_of(module).replace("_", "-")


def missing_part(dotted: str) -> str:
    """The module of a name, for the message about its missing package."""
    return OBJECTS.get(dotted) or module_of(dotted)


TOPS = OWN | {name.partition(".")[0] for table in (MODULES, OBJECTS, ALIASES) for name in table}
