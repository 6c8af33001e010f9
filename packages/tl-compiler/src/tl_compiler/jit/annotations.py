"""`torch.jit.annotations`: what signatures of scripted functions are written with."""

import typing

from tl_compiler.jit import internal
from tl_compiler.jit.internal import is_dict, is_list, is_optional, is_tuple, is_union
from tl_core.futures import Future as Future

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = internal.BroadcastingList1
Any, Optional, Union = typing.Any, typing.Optional, typing.Union
Dict, List, Tuple = typing.Dict, typing.List, typing.Tuple  # noqa: UP006 - these names are asked for here

# Those of `typing` are documented there.
__all__ = [
    "BroadcastingList1", "BroadcastingList2", "BroadcastingList3",
    "is_dict", "is_list", "is_optional", "is_tuple", "is_union",
]  # fmt: skip
