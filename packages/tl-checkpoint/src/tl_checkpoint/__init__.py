"""Saving and loading for tl: the `.pt` archive both ways, safe by default, nothing lost on disk.

>>> import io, tl_core
>>> file = io.BytesIO()
>>> save({"step": 3, "weight": tl_core.arange(3)}, file)
>>> _ = file.seek(0)
>>> load(file)
{'step': 3, 'weight': tensor([0, 1, 2])}
"""

from typing import TYPE_CHECKING

from tl_checkpoint.version import __version__ as __version__
from tl_core.base.lazy_attributes import attach

if TYPE_CHECKING:
    from tl_checkpoint.inert import Inert as Inert
    from tl_checkpoint.serialization import load as load
    from tl_checkpoint.serialization import save as save

__getattr__, __dir__, __all__ = attach(__name__, {"inert": ["Inert"], "serialization": ["load", "save"]})
