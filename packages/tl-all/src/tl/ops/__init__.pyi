# Written by `python -m tools.facade_stubs --write`.
from typing import Any

from tl_core.operators.packets import PACKETS as PACKETS
from tl_core.operators.packets import OpOverload as OpOverload
from tl_core.operators.packets import OpOverloadPacket as OpOverloadPacket
from tl_core.operators.packets import _Conversion as _Conversion
from tl_core.operators.packets import _OpNamespace as _OpNamespace
from tl_core.operators.packets import aten as aten
from tl_core.operators.packets import load_library as load_library
from tl_core.operators.packets import loaded_libraries as loaded_libraries
from tl_core.operators.packets import python_packet as python_packet

def __getattr__(name: str) -> Any: ...
