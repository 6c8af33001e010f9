"""`torch._inductor.fx_passes`: passes over graphs before they run."""

from __future__ import annotations

from tl_core.base.lazy_attributes import attach

__all__: list[str] = []

__getattr__, __dir__, _ = attach(__name__, {}, ("joint_graph", "post_grad"))
