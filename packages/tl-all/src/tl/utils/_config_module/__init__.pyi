# Written by `python -m tools.facade_stubs --write`.
from tl_core.settings.config_module import *
from tl_core.settings.config_module import _ConfigEntry as _ConfigEntry
from tl_core.settings.config_module import _Patch as _Patch
