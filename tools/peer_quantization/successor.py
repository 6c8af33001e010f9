"""Former names of PyTorch, answered by torchao: the tests of exported models import what PyTorch 2.13 has removed."""

from __future__ import annotations

import importlib
import sys
from typing import Any

OLD, NEW = "torch.ao.quantization", "torchao.quantization.pt2e"
# The former module below `torch.ao.quantization`, and the one of torchao.
MODULES = {
    "quantize_pt2e": f"{NEW}.quantize_pt2e",
    "quantizer": f"{NEW}.quantizer",
    **{
        f"quantizer.{name}": f"{NEW}.quantizer.{name}"
        for name in (
            *("quantizer", "composable_quantizer", "embedding_quantizer", "utils"),
            *("x86_inductor_quantizer", "xpu_inductor_quantizer"),
        )
    },
    "quantizer.xnnpack_quantizer": "torchao.testing.pt2e._xnnpack_quantizer",
    "quantizer.xnnpack_quantizer_utils": "torchao.testing.pt2e._xnnpack_quantizer_utils",
    "pt2e": NEW,
    **{
        f"pt2e.{name}": f"{NEW}.{name}"
        for name in ("export_utils", "graph_utils", "prepare", "qat_utils", "utils", "_numeric_debugger")
    },
    "pt2e.duplicate_dq_pass": f"{NEW}.quantizer.duplicate_dq_pass",
    "pt2e.port_metadata_pass": f"{NEW}.quantizer.port_metadata_pass",
    # The passes of torchao compare classes with those of its own observers.
    "observer": f"{NEW}.observer",
    "fake_quantize": f"{NEW}.fake_quantize",
}


def install() -> None:
    """Makes the former names; without torchao, the tests of exported models fail."""
    quantization: Any = importlib.import_module(OLD)
    for former, name in MODULES.items():
        _alias(f"{OLD}.{former}", importlib.import_module(name))
    for name in ("observer", "fake_quantize"):
        for word, value in vars(sys.modules[f"{OLD}.{name}"]).items():
            if not word.startswith("_") and hasattr(quantization, word):
                setattr(quantization, word, value)
    successor = importlib.import_module(NEW)
    for word in vars(successor):
        if not word.startswith("_") and not hasattr(quantization, word):
            setattr(quantization, word, getattr(successor, word))
    _add_export()
    helpers: Any = importlib.import_module("torch.testing._internal.common_quantization")
    for word, value in vars(importlib.import_module("torchao.testing.pt2e.utils")).items():
        if word.startswith("PT2E"):
            setattr(helpers, word, value)


def _alias(name: str, module: Any) -> None:
    parent, _, last = name.rpartition(".")
    sys.modules[name] = module
    setattr(sys.modules[parent], last, module)


def _add_export() -> None:
    export: Any = importlib.import_module("torch.export")

    def export_for_training(*args: Any, strict: bool = True, **options: Any) -> Any:
        return export.export(*args, strict=strict, **options)

    if not hasattr(export, "export_for_training"):
        export.export_for_training = export_for_training
