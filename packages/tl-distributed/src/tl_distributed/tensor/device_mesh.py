"""PyTorch's second name of the module with `DeviceMesh`."""

from ..groups.device_mesh import DeviceMesh, _mesh_resources, init_device_mesh

__all__ = ["DeviceMesh", "_mesh_resources", "init_device_mesh"]
