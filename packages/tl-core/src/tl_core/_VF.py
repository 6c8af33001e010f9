"""The flat namespace's native functions under the name by which older programs call them: `_VF.lstm`."""

from typing import Any

from tl_core import _C


def __getattr__(name: str) -> Any:
    return getattr(_C, name)
