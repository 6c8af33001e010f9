"""A graph module as a folder of Python code and tensors."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import tl_core
import tl_nn

from .code_generation import PythonCode
from .code_imports import import_block

__all__ = ["write_folder"]

# Modules whose text is a call that makes them again.
_WRITTEN = (
    *("Linear", "Conv1d", "Conv2d", "Conv3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d"),
    *("ReLU", "MaxPool2d", "AdaptiveAvgPool2d", "Dropout", "Identity", "Sigmoid", "Tanh", "Flatten"),
)
# Imports that work without an alias of the library.
_OURS = {
    "from torch import device": "device = torch.device",
    "import torch.fx._pytree as fx_pytree": "from tl_compiler.fx import _pytree as fx_pytree",
    "import torch.utils._pytree as pytree": "from tl_core import pytree",
    "from torch.fx import wrap": "from tl_compiler.fx import wrap",
}


def _expression(name: str, module: Any, folder: Path) -> str:
    """How the package makes a submodule: by the call that its text is, or from a pickle."""
    if type(module) in [getattr(tl_nn, kind) for kind in _WRITTEN]:
        return f"torch.nn.{module!r}"
    file = f"{name}.pt"
    with (folder / file).open("wb") as out:
        pickle.dump(module, out)
    return f"pickle.loads((_HERE / {file!r}).read_bytes())"


def write_folder(module: tl_nn.Module, code: PythonCode, folder: Path, class_name: str) -> None:
    """Writes a package of `__init__.py`, `module.py`, `state_dict.pt` and pickled submodules.

    Args:
        module: the module.
        code: its code.
        folder: where.
        class_name: the name of its class.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        "import pickle",
        "from pathlib import Path",
        "",
        "from tl_compiler.fx.names import root_namespace",
        "",
    ]
    lines += ["torch = root_namespace()"]
    for line in (
        import_block({k: v for k, v in code.globals.items() if k != "torch"}, None).rstrip().split("\n")
    ):
        lines.append(_OURS.get(line, line))
    lines += ["", "_HERE = Path(__file__).parent", "", "", f"class {class_name}(torch.nn.Module):"]
    lines += ["    def __init__(self):", "        super().__init__()"]
    for name, child in module.named_children():
        lines.append(f"        setattr(self, {name!r}, {_expression(name, child, folder)})")
    for name, buffer in module._buffers.items():
        if buffer is not None:
            made_by = f"torch.empty({list(buffer.shape)}, dtype={buffer.dtype})"
            lines.append(f"        self.register_buffer({name!r}, {made_by})")
    for name, parameter in module._parameters.items():
        if parameter is not None:
            made_by = f"torch.empty({list(parameter.shape)}, dtype={parameter.dtype})"
            lines.append(f"        self.{name} = torch.nn.Parameter({made_by}, {parameter.requires_grad})")
    lines.append("        state = pickle.loads((_HERE / 'state_dict.pt').read_bytes())")
    lines.append("        self.load_state_dict(state)")
    lines += ["    " + line if line.strip() else "" for line in code.src.rstrip().split("\n")]
    with (folder / "state_dict.pt").open("wb") as out:
        pickle.dump({k: tl_core.Tensor.detach(v) for k, v in module.state_dict().items()}, out)
    (folder / "module.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "__init__.py").write_text("from .module import *\n", encoding="utf-8")
