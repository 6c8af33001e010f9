"""Exported programs in files that are loaded and called: `torch._inductor.package`."""

from __future__ import annotations

import copy
import io
import os
from collections.abc import Mapping
from typing import IO, Any

import tl_core
from tl_compiler.export import ExportedProgram
from tl_compiler.export import load as load_program
from tl_compiler.export import save as save_program
from tl_core.dispatch.native_calls import native_function

__all__ = ["AOTICompiledModel", "aoti_compile_and_package", "aoti_load_package"]

File = str | os.PathLike[str] | IO[bytes] | io.BytesIO


class AOTICompiledModel:
    """A program of a file, called like the module that was exported. Its results have no derivatives.

    Packed copies of its weights stay in memory, as those of `tl.compiler.freeze` do.

    Args:
        program: the program.
    """

    def __init__(self, program: ExportedProgram) -> None:
        self.program = program
        self._module = program.module()
        self._packings: Any = native_function("_Packings")()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the program.

        Args:
            args, kwargs: its arguments.

        Returns:
            Its result.
        """
        return self._packings.run(self._module, args, kwargs)

    def get_metadata(self) -> dict[str, str]:
        """The names and values that describe the program: the device that it runs on."""
        return {"AOTI_DEVICE_KEY": "cpu"}

    def get_constant_fqns(self) -> list[str]:
        """The names of the parameters, buffers and constants."""
        return [*self.program.state_dict, *self.program.constants]

    def load_constants(
        self,
        constants_map: Mapping[str, Any],
        *,
        check_full_update: bool,
        user_managed: bool = False,
        allow_h2d_copy: bool = False,
    ) -> None:
        """Gives parameters, buffers and constants new elements.

        Args:
            constants_map: tensors by the names of `get_constant_fqns`.
            check_full_update: whether all names must be there.
            user_managed: accepted: the elements are copied.
            allow_h2d_copy: accepted: there is one device.

        Raises:
            RuntimeError: a name is unknown or missing, or a tensor has another shape.
        """
        tensors = {**self.program.constants, **dict(self._module.state_dict(keep_vars=True))}
        unknown = constants_map.keys() - tensors.keys()
        missing = tensors.keys() - constants_map.keys() if check_full_update else set()
        if unknown or missing:
            raise RuntimeError(
                f"load_constants: unknown names {sorted(unknown)}, missing names {sorted(missing)}; "
                f"the program has {sorted(tensors)}"
            )
        with tl_core.no_grad():
            for name, value in constants_map.items():
                if tensors[name].shape != value.shape:
                    raise RuntimeError(
                        f"load_constants: {name} has the shape {tuple(tensors[name].shape)}, got {tuple(value.shape)}"
                    )
                tensors[name].copy_(value)

    def __deepcopy__(self, memo: dict[int, Any]) -> AOTICompiledModel:
        return AOTICompiledModel(copy.deepcopy(self.program, memo))


def aoti_compile_and_package(
    exported_program: ExportedProgram,
    _deprecated_unused_args: Any = None,
    _deprecated_unused_kwargs: Any = None,
    *,
    package_path: File | None = None,
    inductor_configs: Mapping[str, Any] | None = None,
) -> Any:
    """Writes a program to a file that `aoti_load_package` reads: the `.pt2` file of `torch.export.save`.

    The file has the operators of the program and its tensors, and no machine code, so it is valid for all processors.

    Args:
        exported_program: the program.
        _deprecated_unused_args, _deprecated_unused_kwargs: accepted.
        package_path: a path that ends in `.pt2`, or an open file. None: "model.pt2" in the current directory.
        inductor_configs: accepted: no setting of the code generator changes the file.

    Returns:
        The path, or the open file.

    Raises:
        ValueError: `exported_program` is no program, or the path has another ending.

    Example:
        >>> import io, tl_nn
        >>> from tl_compiler import export
        >>> file = io.BytesIO()
        >>> _ = aoti_compile_and_package(export.export(tl_nn.ReLU(), (tl_core.ones(2),)), package_path=file)
        >>> aoti_load_package(file)(tl_core.tensor([-1.0, 3.0]))
        tensor([0., 3.])
    """
    if not isinstance(exported_program, ExportedProgram):
        raise ValueError(f"exported_program must be an ExportedProgram, got {type(exported_program)}")
    path: Any = "model.pt2" if package_path is None else package_path
    if isinstance(path, (str, os.PathLike)) and not os.fspath(path).endswith(".pt2"):
        raise ValueError(f"package_path must end in .pt2, got {os.fspath(path)!r}")
    save_program(exported_program, path)
    return os.fspath(path) if isinstance(path, os.PathLike) else path


def aoti_load_package(
    path: File, run_single_threaded: bool = False, device_index: int = -1
) -> AOTICompiledModel:
    """Reads a program from a file, ready to be called.

    Args:
        path: the file of `aoti_compile_and_package` or of `torch.export.save`, by its path or open. Files of PyTorch's
            `aoti_compile_and_package` contain machine code for PyTorch, which can't be read.
        run_single_threaded: accepted: operators share the pool of threads of the process.
        device_index: accepted: there is one device.

    Returns:
        The program.
    """
    if hasattr(path, "seek"):
        path.seek(0)
    return AOTICompiledModel(load_program(path))
