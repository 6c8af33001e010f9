"""tl: tensors and neural networks, under the names of PyTorch's API.

    >>> import tl as torch
    >>> torch.ones(2, 3).sum().item()
    6.0

This package holds no tensor code. It assembles the API from the packages that do: `tl.nn` is the package `tl_nn`,
`tl.linalg` a module of `tl_core`, and so on; each is loaded when first touched. `tl.__version__` is tl's own version,
not that of the API: programs that ask for PyTorch's are run by `tl.torch`, which answers them.
"""

import sys as _sys
from importlib import import_module as _import_module

import tl_core as _core
from tl import _finder, _grafts, _packages, _star_names
from tl.version import __version__ as __version__
from tl_core import *
from tl_core.base.backend_registry import register as _register
from tl_core.base.operator_hooks import add_python_operators as _add_python_operators

_finder.install_finder()
_register("autograd", lambda: _import_module("tl_autograd"))
_register("functional", lambda: _import_module("tl_nn.functional"))
_register("distributed", lambda: _import_module("tl_distributed"))
_register("collective operators", lambda: _import_module("tl_distributed.collectives.functional_operators"))
_register("operators of groups", lambda: _import_module("tl_distributed")._load_operators())
_register("collectives with gradients", lambda: _import_module("tl_distributed.nn.gradient_operators"))
_register("quantization", lambda: _import_module("tl_quantization"))
_register("quantized operators", lambda: _import_module("tl_quantization.libraries").load_all())
_register("packed weights", lambda: _import_module("tl_quantization.packed.states"))
_register(
    "graph pass of quantized_decomposed", lambda: _import_module("tl_quantization.export").register_passes()
)
_register("higher-order operators", lambda: _import_module("tl_compiler.higher_order").load_all())
_register("tracer", lambda: _import_module("tl_compiler"))
_add_python_operators("tl_nn.composite_operators", "tl_quantization.composite_operators")

# namespaces of native functions, to which other packages add names
_grafts.extend(getattr(_sys.modules["tl_core._C"], "_nn"), "_C._nn")  # noqa: B009
_grafts.extend(getattr(_sys.modules["tl_core._C"], "_linalg"), "_C._linalg")  # noqa: B009
_sys.modules["tl_core._C"].__path__ = []  # `_C._functorch` is a module below it

_public = [_name for _name in getattr(_core, "__all__", vars(_core)) if not _name.startswith("_")]
# the core's modules are served by the finder, like all others
_modules = {_name for _name in _public if isinstance(getattr(_core, _name), type(_sys))}
# nor are the tables of the C interface names of the API
_tables = {_name for _name in _public if type(getattr(_core, _name)) is type(_core.api_v1)}
__all__ = [_name for _name in _public if _name not in {*_modules, *_tables, "TYPE_CHECKING"}]
__all__ += [_name for _name in _star_names.NAMES[""].split() if _name not in __all__]

for _name in _modules:
    globals().pop(_name, None)

_grafts.extend_root(
    _sys.modules[__name__], lambda: {*_modules.intersection(dir(_core)), *_packages.public_names()}
)
