# Written by `python -m tools.facade_stubs --write`.
from tl_compiler.fx.passes.splitter_base import *
from tl_compiler.fx.passes.splitter_base import _SplitterBase as _SplitterBase
from tl_compiler.fx.passes.splitter_base import _SplitterSettingBase as _SplitterSettingBase
