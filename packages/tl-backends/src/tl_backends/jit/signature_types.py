"""`torch.jit.annotations`: what signatures of scripted functions are written with."""

from typing import Any, Dict, List, Optional, Tuple, Union  # noqa: UP035 - these names are asked for here

from tl_backends.jit import internal
from tl_backends.jit.internal import is_dict, is_list, is_optional, is_tuple, is_union
from tl_core.futures import Future

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = internal.BroadcastingList1

__all__ = [
    "Any", "BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "Dict", "Future", "List", "Optional", "Tuple",
    "Union", "is_dict", "is_list", "is_optional", "is_tuple", "is_union",
]  # fmt: skip
