# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.fx.passes.net_min_base import *
from tl_compiler.fx.passes.net_min_base import _MinimizerBase as _MinimizerBase
from tl_compiler.fx.passes.net_min_base import _MinimizerSettingBase as _MinimizerSettingBase
