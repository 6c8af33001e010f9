# Written by `python -m tools.facade_stubs --write`.
from typing import Any

from tl_core.base.public_names import set_module as set_module
from tl_core.extensions.cpp_backtrace import get_cpp_backtrace as get_cpp_backtrace
from tl_core.settings.extension_devices import rename_privateuse1_backend as rename_privateuse1_backend
from tl_core.tensors.swapping import swap_tensors as swap_tensors
from tl_nn.extension_methods import (
    generate_methods_for_privateuse1_backend as generate_methods_for_privateuse1_backend,
)
from tl_utils.throughput_benchmark import ThroughputBenchmark as ThroughputBenchmark

from . import _config_module as _config_module
from . import _contextlib as _contextlib
from . import _cxx_pytree as _cxx_pytree
from . import _device as _device
from . import _foreach_utils as _foreach_utils
from . import _import_utils as _import_utils
from . import _mode_utils as _mode_utils
from . import _ordered_set as _ordered_set
from . import _python_dispatch as _python_dispatch
from . import _pytree as _pytree
from . import _stats as _stats
from . import _sympy as _sympy
from . import _traceback as _traceback
from . import _triton as _triton
from . import _zip as _zip
from . import backcompat as backcompat
from . import backend_registration as backend_registration
from . import benchmark as benchmark
from . import bottleneck as bottleneck
from . import bundled_inputs as bundled_inputs
from . import checkpoint as checkpoint
from . import collect_env as collect_env
from . import cpp_backtrace as cpp_backtrace
from . import cpp_extension as cpp_extension
from . import data as data
from . import deterministic as deterministic
from . import dlpack as dlpack
from . import file_baton as file_baton
from . import flop_counter as flop_counter
from . import hipify as hipify
from . import hooks as hooks
from . import jit as jit
from . import mkldnn as mkldnn
from . import mobile_optimizer as mobile_optimizer
from . import model_dump as model_dump
from . import model_zoo as model_zoo
from . import module_tracker as module_tracker
from . import serialization as serialization
from . import show_pickle as show_pickle
from . import tensorboard as tensorboard
from . import throughput_benchmark as throughput_benchmark
from . import viz as viz
from . import weak as weak

cmake_prefix_path: Any
