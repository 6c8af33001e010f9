"""The flat namespace's native functions under the name by which older programs call them: `_VF.lstm`."""

from typing import Any

from tl_core import _C


def __getattr__(name: str) -> Any:
    if hasattr(_C, name):
        return getattr(_C, name)
    from tl_core.operators import packets as ops

    return getattr(ops.aten, name)  # no function of the flat namespace
