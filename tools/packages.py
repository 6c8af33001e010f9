"""The packages of this repository: where they lie, what they depend on, and what the design says of each.

TABLE is the one place for the latter: layers (`tools.python_imports`), sizes (`tools.sizes`), the linter's first-party
names, the workflows' lists and the tables in README and docs (`tools.package_tables`) follow it.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tools.project import project

ROOT = Path(__file__).resolve().parent.parent
MB = 1_000_000


@dataclass(frozen=True)
class Design:
    """What the design says of a package."""

    holds: str
    may_import: tuple[str, ...]  # packages of this repository, by import name
    ceiling: int  # bytes installed
    extras_of_parts: dict[str, str] = field(
        default_factory=dict
    )  # modules that need an extra as a whole -> the extra
    rooms: tuple[str, ...] = ()  # folders of the package; a room imports only rooms before it


GRADIENTS = ("tl_core", "tl_autograd")
MODULES = (*GRADIENTS, "tl_nn")

# By distribution, in the order in which readers meet them.
TABLE = {
    "tl-core": Design(
        "tensors, storage, dtypes, devices, operators, CPU kernels, dispatch, random numbers, the C interface, **all "
        "switches and thread state**",
        (),
        20 * MB,
        rooms=(
            *(
                "settings",
                "base",
                "dispatch",
                "overrides",
                "linalg",
                "memory",
                "storage",
                "tensors",
                "functional",
            ),
            *("sparse_layouts", "sparse", "types", "symbolic", "functions", "schemas", "operators", "pytree"),
            *("subclasses", "array_api", "api", "nested", "testing", "library", "compat", "masked"),
            "multiprocessing",
        ),
    ),
    "tl-autograd": Design(
        "recording, the backward engine, `Function`, hooks, gradcheck", ("tl_core",), 1 * MB
    ),
    "tl-nn": Design("modules, functional forms, initialization, optimizers", GRADIENTS, 3 * MB // 2),
    "tl-backends": Design("backend switches and queries, device modules", ("tl_core",), MB // 4),
    "tl-checkpoint": Design(
        "`.pt`, safetensors and `.npz` files and checkpoint directories; safe, checked, never half written",
        ("tl_core",),
        MB // 2,
    ),
    "tl-amp": Design("training in mixed precision", GRADIENTS, MB // 4),
    "tl-distributed": Design(
        "process groups, stores, collectives, data-parallel training",
        MODULES,
        43 * MB // 20,
        {
            f"tl_distributed.{part}": "nn"
            for part in (
                "parallel",
                "optim",
                "nn",
                "fsdp",
                "tensor",
                "pipelining",
                "autograd",
                "rpc.gradients",
                "algorithms._checkpoint",
            )
        }
        | {
            "tl_distributed.compat.shard.sharded_tensor": "checkpoint",
            "tl_distributed.tensor.dtensor": "checkpoint",
            "tl_distributed.fsdp.sharded_grad_scaler": "amp",
            "tl_distributed.pipelining.graph_split": "graph",
        },
        (
            *(
                "base",
                "planning",
                "stores",
                "backends",
                "elastic",
                "launcher",
                "groups",
                "collectives",
                "rpc",
                "autograd",
                "nn",
                "algorithms",
            ),
            *("parallel", "optim", "tensor", "fsdp", "pipelining"),
        ),
    ),
    "tl-data": Design("datasets, samplers, the `DataLoader` and its workers", ("tl_core",), 3 * MB // 10),
    "tl-quantization": Design(
        "quantized tensors and layers, observers, fake quantization, models quantized as graphs",
        MODULES,
        3 * MB // 2,
        {
            f"tl_quantization.{part}": "graph"
            for part in (
                "compat",
                "export",
                "graph",
                "numeric_suite",
                "pruning.structured",
                "quantize_fx",
                "quantize_pt2e",
                "quantizer",
            )
        },
    ),
    "tl-distributions": Design(
        "probability distributions, transforms, constraints, divergences", GRADIENTS, MB // 2
    ),
    "tl-compiler": Design(
        "programs as graphs: symbolic tracing, rewriting, code generation; packages of code and data",
        (*MODULES, "tl_checkpoint"),
        7 * MB // 2,
        {f"tl_compiler.{part}": "onnx" for part in ("compat.onnx_names", "onnx.functions", "onnx.lowering")},
    ),
    "tl-utils": Design(
        "tools around training: benchmarks, TensorBoard, hub, monitoring, reports of environments and bottlenecks",
        (*MODULES, "tl_backends", "tl_checkpoint", "tl_compiler"),
        MB // 2,
        {"tl_utils.tensorboard": "tensorboard"},
    ),
    "tl-profiler": Design(
        "profiles: time lines, tables, traces, memory over time, reports in one page", GRADIENTS, MB // 2
    ),
    "tl-all": Design(
        "the façade that assembles the API under one name, examples, `tl.torch`",
        (
            *MODULES,
            *("tl_amp", "tl_data", "tl_checkpoint", "tl_distributed", "tl_backends", "tl_quantization"),
            *("tl_distributions", "tl_compiler", "tl_utils", "tl_profiler"),
        ),
        86 * MB // 100,
    ),
}
# Of everything but numpy and LAPACK; PyTorch 2.13 for CPUs has 790 MB, 25 times as much.
TOTAL_CEILING = 316 * MB // 10


@dataclass(frozen=True)
class Package:
    """One folder below `packages/`."""

    folder: Path

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Its pyproject.toml."""
        return tomllib.loads((self.folder / "pyproject.toml").read_text())

    @property
    def dist(self) -> str:
        """The name of the folder, by which tools and pages call the package."""
        return self.folder.name

    @property
    def distribution(self) -> str:
        """The name that people install."""
        return str(self.settings["project"]["name"])

    @property
    def import_name(self) -> str:
        """The name programs import."""
        return self.import_names[0]

    @property
    def import_names(self) -> list[str]:
        """The top-level names of its wheel: its import name, then smaller ones beside it."""
        return [Path(p).name for p in self.settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]

    @property
    def source(self) -> Path:
        """The folder of its Python code."""
        return self.folder / "src" / self.import_name

    @property
    def sources(self) -> list[Path]:
        """The folders of its Python code, one for each top-level name."""
        return [self.folder / "src" / name for name in self.import_names]

    @property
    def is_native(self) -> bool:
        """Whether it holds C++."""
        return (self.folder / "CMakeLists.txt").exists()

    @property
    def version_file(self) -> Path:
        """The one place its version stands."""
        return self.folder / str(self.settings["tool"]["hatch"]["version"]["path"])

    @property
    def version(self) -> str:
        """Its version, as X.Y.Z."""
        found = re.search(r'__version__ = "([^"]+)"', self.version_file.read_text())
        if found is None:
            raise ValueError(f'{self.version_file}: expected a line __version__ = "X.Y.Z"')
        return found[1]

    @property
    def dependencies(self) -> list[str]:
        """The packages of this repository, by `dist`, and the other distributions that it always needs."""
        return [_name(text) for text in self.settings["project"].get("dependencies", [])]

    @property
    def extras(self) -> dict[str, list[str]]:
        """The requirements of each extra."""
        return dict(self.settings["project"].get("optional-dependencies", {}))

    def extra_dependencies(self, extra: str) -> list[str]:
        """The packages and other distributions that one of its extras needs."""
        return [_name(text) for text in self.extras[extra]]

    @property
    def build_requirements(self) -> list[str]:
        """What its build needs."""
        return list(self.settings["build-system"]["requires"])


def _name(requirement: str) -> str:
    return project().dist(re.split(r"[\s\[<>=!~;]", requirement, maxsplit=1)[0])


def dist_of(archive: Path) -> str:
    """The package of a wheel or a source distribution: `tl_core-0.1.0-….whl` → `tl-core`."""
    return project().dist(archive.name.split("-")[0].replace("_", "-"))


def packages(root: Path = ROOT) -> dict[str, Package]:
    """Every package by distribution name, each after those it depends on."""
    found = {p.dist: p for p in (Package(f.parent) for f in sorted(root.glob("packages/*/pyproject.toml")))}
    ordered: dict[str, Package] = {}

    def add(package: Package, path: tuple[str, ...]) -> None:
        if package.dist in path:
            raise ValueError(
                f"packages depend on each other in a circle: {' -> '.join((*path, package.dist))}"
            )
        for dist in package.dependencies:
            if dist in found:
                add(found[dist], (*path, package.dist))
        ordered.setdefault(package.dist, package)

    for package in found.values():
        add(package, ())
    return ordered


def dependents(dists: set[str], root: Path = ROOT) -> set[str]:
    """The given distributions and all that need them, directly or through others."""
    wanted = set(dists)
    for package in packages(root).values():
        if wanted.intersection(package.dependencies):
            wanted.add(package.dist)
    return wanted
