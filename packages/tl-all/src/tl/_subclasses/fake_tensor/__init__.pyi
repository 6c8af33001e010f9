# Written by `python -m tools.facade_stubs --write`.
from tl_core.overrides import TorchFunctionMode as TorchFunctionMode
from tl_core.subclasses.fake_converter import FakeCopyMode as FakeCopyMode
from tl_core.subclasses.fake_converter import FakeTensorConverter as FakeTensorConverter
from tl_core.subclasses.fake_mode import FakeTensorMode as FakeTensorMode
from tl_core.subclasses.fake_mode import active_fake_mode as active_fake_mode
from tl_core.subclasses.fake_mode import unset_fake_temporarily as unset_fake_temporarily
from tl_core.subclasses.fake_tensor import *
from tl_core.subclasses.meta_utils import MetaConverter as MetaConverter
from tl_core.subclasses.python_dispatch import TorchDispatchMode as TorchDispatchMode
