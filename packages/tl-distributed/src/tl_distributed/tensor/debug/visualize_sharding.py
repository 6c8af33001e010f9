"""A table of the pieces of a distributed tensor."""

from __future__ import annotations

from collections.abc import Sequence

from ...groups.device_mesh import DeviceMesh
from ..dtensor import DTensor
from ..placement_types import Placement, Shard

__all__ = ["visualize_sharding"]


def visualize_sharding(dtensor: DTensor, header: str = "", use_rich: bool = False) -> None:
    """Prints which rank has which elements of a tensor of one or two dimensions.

    Args:
        dtensor: the tensor. Nothing is printed for one without elements.
        header: a line above the table.
        use_rich: whether the table has colours, which is not there.

    Raises:
        NotImplementedError: for `use_rich`.
        RuntimeError: the tensor has other dimensions.

    Example:
        >>> import tl_distributed as dist
        >>> from tl_distributed.tensor import ones
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> visualize_sharding(ones(4, device_mesh=dist.init_device_mesh("cpu", (1,))))
        |     | 0-3   |
        |-----|-------|
        | 0-0 | cpu:0 |
        >>> dist.destroy_process_group()
    """
    if use_rich:
        raise NotImplementedError("visualize_sharding: use_rich is not there; the table is plain text")
    if dtensor.numel() == 0:
        return
    if dtensor.dim() not in (1, 2):
        raise RuntimeError(
            f"visualize_sharding is only implemented for 1D or 2D tensors, got {dtensor.dim()}D"
        )
    mesh = dtensor.device_mesh
    if mesh.get_coordinate() is None or any(mesh.get_coordinate() or ()):
        return  # the first rank prints for all
    shape = tuple(dtensor.shape) if dtensor.dim() == 2 else (1, *dtensor.shape)
    shift = 2 - dtensor.dim()
    cells: dict[tuple[str, str], list[int]] = {}
    ranks = mesh.mesh.reshape(-1).tolist()
    for number, rank in enumerate(ranks):
        rows, columns = _block(shape, shift, mesh, dtensor.placements, number)
        if rows and columns:
            cells.setdefault((rows, columns), []).append(rank)
    if header:
        print(header)
    print(_table(cells, mesh.device_type))


def _block(
    shape: Sequence[int], shift: int, mesh: DeviceMesh, placements: Sequence[Placement], number: int
) -> tuple[str, str]:
    """The rows and columns of a rank, such as "0-3"; an empty text for none."""
    sizes, offsets = list(shape), [0, 0]
    strides = [mesh.mesh.stride(i) for i in range(mesh.ndim)]
    for mesh_dim, placement in enumerate(placements):
        if isinstance(placement, Shard):
            dim = placement.dim + shift
            coordinate = number // strides[mesh_dim] % mesh.size(mesh_dim)
            size, offset = placement.local_shard_size_and_offset(sizes[dim], mesh.size(mesh_dim), coordinate)
            sizes[dim], offsets[dim] = size, offsets[dim] + offset
    rows, columns = (f"{o}-{o + s - 1}" if s else "" for o, s in zip(offsets, sizes, strict=True))
    return rows, columns


def _table(cells: dict[tuple[str, str], list[int]], device_type: str) -> str:
    rows, columns = (
        sorted({key[i] for key in cells}, key=lambda text: int(text.split("-")[0])) for i in (0, 1)
    )
    lines = [["", *columns]]
    for row in rows:
        names = [
            ", ".join(f"{device_type}:{rank}" for rank in cells.get((row, column), [])) for column in columns
        ]
        lines.append([row, *names])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    texts = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)) + " |"
        for line in lines
    ]
    texts.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(texts)
