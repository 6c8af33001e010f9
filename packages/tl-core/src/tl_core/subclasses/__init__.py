"""Tensors of other classes: handlers of operators, tensors that wrap others, fake tensors without memory."""

from typing import TYPE_CHECKING

from tl_core.base.lazy_attributes import attach

if TYPE_CHECKING:
    from tl_core.subclasses.fake_mode import FakeTensorMode
    from tl_core.subclasses.fake_tensor import (
        DynamicOutputShapeException,
        FakeTensor,
        UnsupportedFakeTensorException,
    )
    from tl_core.subclasses.fake_utils import CrossRefFakeMode

__all__ = [
    "CrossRefFakeMode",
    "DynamicOutputShapeException",
    "FakeTensor",
    "FakeTensorMode",
    "UnsupportedFakeTensorException",
]

__getattr__, __dir__, _ = attach(
    __name__,
    {
        "fake_mode": ["FakeTensorMode"],
        "fake_tensor": [
            "DynamicOutputShapeException",
            "FakeTensor",
            "UnsupportedFakeTensorException",
        ],
        "fake_utils": ["CrossRefFakeMode"],
    },
    ["wrappers"],
)
