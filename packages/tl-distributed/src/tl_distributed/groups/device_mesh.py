"""Ranks laid out in several dimensions, with a group along each."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, Self

import tl_core
from tl_core import Tensor
from tl_core.subclasses.wrapper_plans import WrapperPlans

from .group_member import GroupMember
from .process_group import ProcessGroup
from .process_groups import (
    default_group,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    is_initialized,
    late_group,
)
from .world import current

__all__ = ["DeviceMesh", "init_device_mesh"]

_entered: ContextVar[tuple[DeviceMesh, ...]] = ContextVar("meshes of the blocks that run", default=())


class DeviceMesh:
    """Ranks of the world in a grid.

    Along each dimension, the ranks that differ in this coordinate only are a group. All processes of the world make a
    mesh together, in the same order.

    Args:
        device_type: the kind of device of the tensors, such as "cpu".
        mesh: the ranks, as nested lists or as a tensor of integers.
        mesh_dim_names: a name for each dimension.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = DeviceMesh("cpu", [[0]], mesh_dim_names=("data", "model"))
        >>> mesh["data"].size(), mesh.get_coordinate()
        (1, (0, 0))
        >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
        _groups: list[Any] | None = None,
        _root: DeviceMesh | None = None,
        _backends: dict[int, tuple[str | None, Any]] | None = None,
    ):
        if not is_initialized():
            init_process_group()
        self.device_type = device_type
        tensor = mesh.detach() if isinstance(mesh, Tensor) else tl_core.tensor(mesh, device="cpu")
        if tensor.device.type != "cpu":
            raise ValueError(f"DeviceMesh: mesh must be a CPU tensor, got one on {tensor.device}")
        self.mesh = tensor.to(tl_core.int32, copy=True)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        if self.mesh_dim_names is not None and len(self.mesh_dim_names) != self.mesh.dim():
            raise RuntimeError(
                f"DeviceMesh: mesh_dim_names has {len(self.mesh_dim_names)} names, the mesh {self.mesh.dim()} "
                "dimensions"
            )
        ranks = self.mesh.reshape(-1).tolist()
        if len(set(ranks)) < len(ranks):
            raise RuntimeError(f"DeviceMesh: the ranks must not repeat, got {ranks}")
        if max(ranks) >= get_world_size() or min(ranks) < 0:
            raise RuntimeError(
                f"DeviceMesh: the ranks must be less than the world size {get_world_size()}, got {ranks}"
            )
        self._coordinate = self._own_coordinate()
        self._groups = self._make_groups(_backends or {}) if _groups is None else _groups
        self._root = _root
        self._flat: dict[str, DeviceMesh] = {}  # the meshes of several dimensions, by name
        self._plans: dict[Any, Any] = {}  # of calls with distributed tensors
        self._call_plans = WrapperPlans()  # those of them that run without Python
        self._layouts: dict[Any, Any] = {}  # of distributed tensors, each once
        self._chains: dict[Any, Any] = {}  # of changes of layout

    def __enter__(self) -> Self:
        """Makes it the mesh of functions that get none, as far as the block goes."""
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *error: object) -> None:
        _entered.set(_entered.get()[:-1])

    def _own_coordinate(self) -> tuple[int, ...] | None:
        if not is_initialized():  # a mesh from a pickle may be looked at by a process alone
            return None
        indices = (self.mesh == get_rank()).nonzero().tolist()
        return tuple(indices[0]) if indices else None

    def __deepcopy__(self, memo: Any) -> DeviceMesh:
        return self  # nothing of it changes, and its groups can't be copied

    def __getstate__(self) -> dict[str, Any]:
        return {
            "device_type": self.device_type,
            "mesh": self.mesh,
            "mesh_dim_names": self.mesh_dim_names,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A mesh from a pickle has the groups of these ranks that this process has; none are made."""
        self.device_type = state["device_type"]
        self.mesh, self.mesh_dim_names = state["mesh"], state["mesh_dim_names"]
        self._coordinate = self._own_coordinate()
        self._groups = [self._group_of(line) for line in self._lines()]
        self._root, self._flat = None, {}
        self._plans, self._chains, self._layouts = {}, {}, {}
        self._call_plans = WrapperPlans()

    def _lines(self) -> list[list[int] | None]:
        """The ranks along each dimension that this process is among; None where it isn't in the mesh."""
        if self._coordinate is None:
            return [None] * self.ndim
        at = self._coordinate
        return [self.mesh[(*at[:dim], slice(None), *at[dim + 1 :])].tolist() for dim in range(self.ndim)]

    @staticmethod
    def _group_of(ranks: list[int] | None) -> Any:
        groups = (group for group in current().groups if list(group.ranks) == ranks)
        return next(groups, GroupMember.NON_GROUP_MEMBER)

    def _make_groups(self, backends: dict[int, tuple[str | None, Any]]) -> list[Any]:
        ranks = self.mesh.reshape(-1).tolist()
        if self.mesh.dim() == 1 and ranks == list(range(get_world_size())) and not backends:
            return [default_group()]
        mine: list[Any] = []
        for dim in range(self.mesh.dim()):
            lines = self.mesh.movedim(dim, -1).reshape(-1, self.mesh.shape[dim]).tolist()
            mine.append(self._group_among(lines, f"mesh_{self._name(dim)}", *backends.get(dim, (None, None))))
        return mine

    @staticmethod
    def _group_among(
        lines: list[list[int]], description: str, backend: str | None = None, options: Any = None
    ) -> Any:
        """The group of the line of ranks that this process is in."""
        rank = get_rank()
        own = next((line for line in lines if rank in line), None)
        return GroupMember.NON_GROUP_MEMBER if own is None else late_group(own, description, backend, options)

    def _name(self, dim: int) -> str:
        return str(dim) if self.mesh_dim_names is None else self.mesh_dim_names[dim]

    def _dim(self, mesh_dim: int | str) -> int:
        if isinstance(mesh_dim, int):
            if not -self.ndim <= mesh_dim < self.ndim:
                raise IndexError(f"DeviceMesh: there is no dimension {mesh_dim} of {self.ndim}")
            return mesh_dim % self.ndim
        if self.mesh_dim_names is None or mesh_dim not in self.mesh_dim_names:
            raise KeyError(
                f"DeviceMesh: there is no dimension {mesh_dim!r}; the names are {self.mesh_dim_names}"
            )
        return self.mesh_dim_names.index(mesh_dim)

    @property
    def ndim(self) -> int:
        """The number of dimensions of the mesh."""
        return self.mesh.dim()

    @property
    def shape(self) -> tuple[int, ...]:
        """Its size in each dimension."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """The number of ranks of the mesh, in a dimension or in all."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.shape[self._dim(mesh_dim)]

    def get_rank(self) -> int:
        """This process's number in the world."""
        return get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This process's coordinate in a dimension, which may be left out if there is one.

        Raises:
            RuntimeError: there are several dimensions and none is named, or this process isn't in the mesh.
        """
        coordinate = self.get_coordinate()
        if coordinate is None:
            raise RuntimeError(f"DeviceMesh: rank {get_rank()} is not in {self!r}")
        return coordinate[self._only(mesh_dim)]

    def _only(self, mesh_dim: int | str | None) -> int:
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(f"DeviceMesh: the mesh has {self.ndim} dimensions; name one with mesh_dim")
        return 0 if mesh_dim is None else self._dim(mesh_dim)

    def get_coordinate(self) -> tuple[int, ...] | None:
        """This process's coordinates, None if it isn't in the mesh."""
        return self._coordinate

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group along a dimension, which may be left out if there is one."""
        group: ProcessGroup = self._groups[self._only(mesh_dim)]
        return group

    def get_all_groups(self) -> list[ProcessGroup]:
        """The groups along all dimensions."""
        return list(self._groups)

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """The mesh of the dimensions with these names that this process is in."""
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if len(names) == 1 and names[0] in self._flat:
            return self._flat[names[0]]
        dims = [self._dim(name) for name in names]
        if dims != sorted(set(dims)):
            raise KeyError(f"DeviceMesh: {names} must stand in the order of {self.mesh_dim_names}")
        if self._coordinate is None:
            raise RuntimeError(f"DeviceMesh: rank {get_rank()} is not in {self!r}, which it would slice")
        index = tuple(slice(None) if d in dims else self._coordinate[d] for d in range(self.ndim))
        return DeviceMesh(
            self.device_type,
            self.mesh[index],
            mesh_dim_names=names,
            _groups=[self._groups[d] for d in dims],
            _root=self._get_root_mesh(),
        )

    def _get_root_mesh(self) -> DeviceMesh:
        """The mesh that this one was sliced from; itself for others."""
        return self if self._root is None else self._root

    def _get_root_mesh_dim(self) -> int | None:
        """The dimension of the root that a slice of one dimension is; None for others."""
        root = self._get_root_mesh()
        if root is self or self.mesh_dim_names is None or len(self.mesh_dim_names) != 1:
            return None
        return root._dim(self.mesh_dim_names[0]) if self.mesh_dim_names[0] not in root._flat else None

    def _get_mesh_dim_by_name(self, mesh_dim_name: str) -> int:
        return self._dim(mesh_dim_name)

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        """A mesh of one dimension with all ranks of this one; all processes of the root make it together.

        Args:
            mesh_dim_name: its name, by which the root finds it; by default those of the dimensions, with `_` between.

        Raises:
            RuntimeError: the dimensions have no names.
            ValueError: the root has another dimension of that name.
        """
        if self.mesh_dim_names is None:
            raise RuntimeError(
                "DeviceMesh._flatten: the dimensions have no names; give mesh_dim_names to the mesh"
            )
        root, names = self._get_root_mesh(), self.mesh_dim_names
        name = "_".join(names) if mesh_dim_name is None else mesh_dim_name
        if self.ndim == 1 and name in names:
            return self
        if name in (root.mesh_dim_names or ()):
            raise ValueError(f"DeviceMesh._flatten: {name!r} is a dimension of {root!r} already")
        if name not in root._flat:
            dims = [root._dim(each) for each in names]
            lines = root.mesh.movedim(dims, list(range(-len(dims), 0))).reshape(-1, self.mesh.numel())
            root._flat[name] = DeviceMesh(
                self.device_type,
                self.mesh.reshape(-1),
                mesh_dim_names=(name,),
                _groups=[self._group_among(lines.tolist(), f"mesh_{name}")],
                _root=root,
            )
        return root._flat[name]

    @staticmethod
    def from_group(
        group: ProcessGroup | list[ProcessGroup],
        device_type: str,
        mesh: Any = None,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
    ) -> DeviceMesh:
        """A mesh of groups that are there already.

        Args:
            group: a group, or one for each dimension.
            device_type: the kind of device of the tensors.
            mesh: the ranks; needed for several groups.
            mesh_dim_names: a name for each dimension.
        """
        if isinstance(group, ProcessGroup):
            ranks = get_process_group_ranks(group)
            return DeviceMesh(
                device_type,
                ranks if mesh is None else mesh,
                mesh_dim_names=mesh_dim_names,
                _groups=[group],
            )
        groups = list(group)
        if not groups:
            raise ValueError("DeviceMesh.from_group: group is empty; a mesh needs at least one")
        if mesh is None:
            raise ValueError("DeviceMesh.from_group: mesh is needed for several groups")
        return DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names, _groups=groups)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, DeviceMesh)
            and self.device_type == other.device_type
            and self.mesh_dim_names == other.mesh_dim_names
            and self.shape == other.shape
            and bool((self.mesh == other.mesh).all())
        )

    def __hash__(self) -> int:
        return hash(
            (self.device_type, self.shape, tuple(self.mesh.reshape(-1).tolist()), self.mesh_dim_names)
        )

    def __repr__(self) -> str:
        names = "" if self.mesh_dim_names is None else f", mesh_dim_names={self.mesh_dim_names}"
        return f"DeviceMesh({self.device_type!r}, {self.mesh.tolist()}{names})"


def _backends_of(
    override: dict[int | str, Any], names: tuple[str, ...] | None, count: int
) -> dict[int, tuple[str | None, Any]]:
    """The backend and options of each dimension, from a dictionary by dimension or name."""
    backends: dict[int, tuple[str | None, Any]] = {}
    for key, value in override.items():
        if isinstance(key, str):
            if key not in (names or ()):
                raise RuntimeError(f"init_device_mesh: backend_override has {key!r}; the names are {names}")
            dim = (names or ()).index(key)
        else:
            dim = key
        if not 0 <= dim < count:
            raise RuntimeError(f"init_device_mesh: backend_override has dimension {key} of {count}")
        if dim in backends:
            raise RuntimeError(
                f"init_device_mesh: backend_override has dimension {dim} twice, by number and by name"
            )
        pair = (
            (value, None) if isinstance(value, str) else value if isinstance(value, tuple) else (None, value)
        )
        backends[dim] = pair
    return backends


def init_device_mesh(
    device_type: str,
    mesh_shape: Sequence[int],
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: dict[int | str, Any] | None = None,
) -> DeviceMesh:
    """A mesh of all ranks of the world, the last dimension running fastest.

    Args:
        device_type: the kind of device of the tensors, such as "cpu".
        mesh_shape: its size in each dimension; their product is the world size.
        mesh_dim_names: a name for each dimension.
        backend_override: by number or name of a dimension, the backend of its groups: a name, options, or both as a
            tuple.

    Raises:
        RuntimeError: names repeat or are too few, the sizes don't make the world, or an override has no dimension.

    Example:
        >>> import tl_distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> init_device_mesh("cpu", (1, 1), mesh_dim_names=("data", "model"))
        DeviceMesh('cpu', [[0]], mesh_dim_names=('data', 'model'))
        >>> dist.destroy_process_group()
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) < len(mesh_dim_names):
            raise RuntimeError(f"init_device_mesh: each name must be there once, got {mesh_dim_names}")
        if len(mesh_dim_names) != len(mesh_shape):
            raise RuntimeError(
                f"init_device_mesh: mesh_shape has {len(mesh_shape)} dimensions, mesh_dim_names {len(mesh_dim_names)}"
            )
    if not is_initialized():
        init_process_group()
    count = 1
    for size in mesh_shape:
        count *= size
    if count != get_world_size():
        raise RuntimeError(
            f"init_device_mesh: the mesh {tuple(mesh_shape)} has {count} ranks, the world {get_world_size()}"
        )
    ranks = tl_core.arange(count, device="cpu").view(*mesh_shape)
    backends = _backends_of(backend_override or {}, mesh_dim_names, len(mesh_shape))
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names, _backends=backends)


class _MeshEnv:
    """The state of all meshes of the process, in `_mesh_resources`."""

    @property
    def mesh_stack(self) -> list[DeviceMesh]:
        """The meshes of the blocks that run, the innermost last."""
        return list(_entered.get())

    def get_current_mesh(self) -> DeviceMesh:
        """The mesh of the innermost block that runs.

        Raises:
            RuntimeError: there is none.
        """
        if not _entered.get():
            raise RuntimeError("No device mesh is currently active!")
        return _entered.get()[-1]

    def get_root_mesh(self, device_mesh: DeviceMesh) -> DeviceMesh:
        """The mesh that one was sliced from."""
        return device_mesh._get_root_mesh()

    def get_root_mesh_dim(self, device_mesh: DeviceMesh) -> int | None:
        """The dimension of the root that a slice of one dimension is."""
        return device_mesh._get_root_mesh_dim()

    def get_mesh_dim_by_name(self, device_mesh: DeviceMesh, mesh_dim_name: str) -> int:
        """The number of a dimension with that name."""
        return device_mesh._dim(mesh_dim_name)

    def create_flatten_mesh(self, device_mesh: DeviceMesh, mesh_dim_name: str | None = None) -> DeviceMesh:
        """A mesh of one dimension with all ranks of another one."""
        return device_mesh._flatten(mesh_dim_name)


_mesh_resources = _MeshEnv()
