# Written by `python -m tools.facade_stubs --write`.
from typing import Any

from tl_compiler.higher_order.base import HigherOrderOperator as HigherOrderOperator
from tl_core.operators.packets import OpOverload as OpOverload
from tl_core.operators.packets import OpOverloadPacket as OpOverloadPacket
from tl_core.operators.packets import _OpNamespace as _OpNamespace

ops: Any
