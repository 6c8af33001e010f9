"""Tools around training: benchmarks, TensorBoard, hub, monitoring, reports of environments and bottlenecks.

Each module is loaded at its first use: `tl_utils.benchmark`, `tl_utils.tensorboard`, `tl_utils.hub`,
`tl_utils.monitor`, and the small ones.
"""

from tl_utils.version import __version__ as __version__
