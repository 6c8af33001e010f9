# Written by `python -m tools.facade_stubs --write`.
from tl_quantization.compat.observer_names import ABC as ABC
from tl_quantization.compat.observer_names import (
    _is_per_channel_script_obs_instance as _is_per_channel_script_obs_instance,
)
from tl_quantization.compat.observer_names import _ObserverBase as _ObserverBase
from tl_quantization.compat.observer_names import _PartialWrapper as _PartialWrapper
from tl_quantization.compat.observer_names import _with_args as _with_args
from tl_quantization.compat.observer_names import _with_callable_args as _with_callable_args
from tl_quantization.fake_quantize import _is_activation_post_process as _is_activation_post_process
from tl_quantization.granularity import AffineQuantizedObserverBase as AffineQuantizedObserverBase
from tl_quantization.granularity import Granularity as Granularity
from tl_quantization.granularity import MappingType as MappingType
from tl_quantization.granularity import PerAxis as PerAxis
from tl_quantization.granularity import PerBlock as PerBlock
from tl_quantization.granularity import PerGroup as PerGroup
from tl_quantization.granularity import PerRow as PerRow
from tl_quantization.granularity import PerTensor as PerTensor
from tl_quantization.granularity import PerToken as PerToken
from tl_quantization.granularity import TorchAODType as TorchAODType
from tl_quantization.granularity import ZeroPointDomain as ZeroPointDomain
from tl_quantization.granularity import get_block_size as get_block_size
from tl_quantization.observer import *
