"""The result of an export: an ONNX model that can be saved, run and compared with the program it came from."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tl_core
from tl_core.pytree import tree_flatten

from ..export import ExportedProgram
from .libraries import libraries, runtime
from .model_file import check_tensors, save_model, size_of

__all__ = ["ONNXProgram"]

_LIMIT = 1536 * 2**20  # bytes; protobuf accepts messages below 2 GiB


def _ort_session_initializer(model: str | bytes) -> Any:
    ort = runtime()
    options = ort.SessionOptions()
    options.log_severity_level = 3
    return ort.InferenceSession(model, sess_options=options, providers=["CPUExecutionProvider"])


class ONNXProgram:
    """A model in ONNX's form, and the program that it was exported from.

    Args:
        model: the model of `onnx_ir`.
        exported_program: the program, or None.

    Args:
        model: the model of `onnx_ir`.
        exported_program: the program, or None.

    Example:
        >>> import tl_core, tl_nn
        >>> from tl_compiler.onnx import export
        >>> program = export(tl_nn.ReLU(), (tl_core.ones(2),))  # doctest: +SKIP
        >>> [node.op_type for node in program.model.graph]  # doctest: +SKIP
        ['Relu']
    """

    def __init__(self, model: Any, exported_program: ExportedProgram | None) -> None:
        self.model = model
        self.exported_program = exported_program
        self._strategy = ""  # of the capture
        self._session: Any = None
        self._folder: Any = None

    # ---- the model
    @property
    def model_proto(self) -> Any:
        """The model as `onnx.ModelProto`."""
        check_tensors(self.model)
        return libraries().ir.serde.serialize_model(self.model)

    def optimize(self) -> None:
        """Folds constants, fuses nodes and removes unused ones, in position."""
        from .optimization import optimize

        optimize(self.model)

    def apply_weights(self, state_dict: Mapping[str, Any]) -> None:
        """Gives initializers the numbers of tensors, such as those of a model exported from fake tensors.

        Args:
            state_dict: the tensors by name. Names that the model lacks are ignored with a warning.
        """
        import warnings

        from .lowering.tensors import model_tensor

        initializers = self.model.graph.initializers
        for name, tensor in state_dict.items():
            if name not in initializers:
                warnings.warn(
                    f"apply_weights(): the model has no initializer {name!r}, or the optimizer changed it",
                    stacklevel=2,
                )
                continue
            value = initializers[name]
            new = model_tensor(tensor, name)
            if value.shape is not None and tuple(value.shape) != tuple(new.shape):
                raise ValueError(
                    f"apply_weights(): {name} has the shape {tuple(new.shape)}, "
                    f"but the model needs {tuple(value.shape)}"
                )
            if value.dtype != new.dtype:
                raise ValueError(f"apply_weights(): {name} is {new.dtype}, but the model needs {value.dtype}")
            value.const_value = new

    def rename_axes(self, rename_mapping: Mapping[Any, str]) -> None:
        """Renames dynamic sizes in the whole model.

        Args:
            rename_mapping: new names by old names or by dimensions of shapes.
        """
        from .model_names import rename_axes

        rename_axes(self.model, {str(getattr(k, "value", k)): v for k, v in rename_mapping.items()})

    # ---- files
    def save(
        self,
        destination: str | os.PathLike[str] | Any,
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | None = None,
    ) -> None:
        """Writes the model to a file.

        Args:
            destination: a path, or an object with `write`.
            include_initializers: whether the tensors are written.
            keep_initializers_as_inputs: whether the tensors are inputs too, which a caller may replace.
            external_data: whether the tensors are written to a second file `destination.data`. By default they are
                if the model is larger than 1.5 GiB.

        Raises:
            TypeError: `external_data` is True and `destination` is not a path.
            OnnxExporterError: a tensor has no numbers.
        """
        save_model(
            self.model,
            destination,
            include_initializers,
            keep_initializers_as_inputs,
            external_data,
        )

    # ---- running
    def initialize_inference_session(
        self, initializer: Callable[[str | bytes], Any] = _ort_session_initializer
    ) -> None:
        """Creates the session of onnxruntime that calls use.

        Args:
            initializer: a function of the model's path or bytes that returns the session.
        """
        self.release()
        if size_of(self.model) < _LIMIT:
            self._session = initializer(self.model_proto.SerializeToString())
            return
        self._folder = tempfile.TemporaryDirectory()
        path = str(Path(self._folder.name) / "model.onnx")
        self.save(path, external_data=True)
        self._session = initializer(path)

    def release(self) -> None:
        """Deletes the session and its files."""
        self._session = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def __call__(self, *args: Any, **kwargs: Any) -> Sequence[Any]:
        """Runs the model with onnxruntime.

        Args:
            args: the arguments of the model that was exported.
            kwargs: those by keyword.

        Returns:
            The outputs, as tensors.

        Raises:
            MissingLibraryError: onnxruntime isn't installed.
        """
        if self._session is None:
            self.initialize_inference_session()
        return self._run(self._session.run, args, kwargs)

    def call_reference(self, *args: Any, **kwargs: Any) -> Sequence[Any]:
        """Runs the model with the reference evaluator of the package onnx.

        Args:
            args: the arguments of the model that was exported.
            kwargs: those by keyword.

        Returns:
            The outputs, as tensors.
        """
        from onnx.reference import ReferenceEvaluator

        return self._run(ReferenceEvaluator(self.model_proto).run, args, kwargs)

    def compute_values(self, value_names: Sequence[str], args: Any = (), kwargs: Any = None) -> Sequence[Any]:
        """Runs the model and returns values inside it.

        Args:
            value_names: the names of the values.
            args: the arguments of the model that was exported.
            kwargs: those by keyword.

        Returns:
            The values, as tensors.

        Raises:
            ValueError: the model has no such value.
        """
        values = {v.name: v for node in self.model.graph for v in node.outputs}
        missing = [name for name in value_names if name not in values]
        if missing:
            raise ValueError(f"compute_values(): the model has no values {missing}")
        model = self.model_proto
        outputs = {o.name for o in model.graph.output}
        serialize = libraries().ir.serde.serialize_value
        model.graph.output.extend(serialize(values[name]) for name in value_names if name not in outputs)
        session = _ort_session_initializer(model.SerializeToString())
        return self._run(lambda _, feed: session.run(list(value_names), feed), args, kwargs or {})

    def _run(self, run: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        from .lowering.tensors import tensor_of

        return tuple(tensor_of(array) for array in run(None, self._feed(args, kwargs)))

    def _feed(self, args: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arrays of the inputs by name."""
        from .lowering.tensors import array_of

        names = [value.name for value in self.model.graph.inputs if value.const_value is None]
        tensors = self._inputs(args, kwargs)
        if len(names) != len(tensors):
            raise ValueError(f"the model has {len(names)} inputs {names}, but the call has {len(tensors)}")
        result = {}
        for name, value in zip(names, tensors, strict=True):
            tensor = value if isinstance(value, tl_core.Tensor) else tl_core.tensor(value)
            tensor = tl_core.view_as_real(tensor) if tensor.dtype.is_complex else tensor
            result[name] = array_of(tensor)
        return result

    def _inputs(self, args: Any, kwargs: Mapping[str, Any]) -> list[Any]:
        """The arguments that are inputs of the model."""
        flat = tree_flatten((tuple(args), dict(kwargs)))[0]
        if self.exported_program is None:
            return [value for value in flat if isinstance(value, tl_core.Tensor)]
        specs = [s for s in self.exported_program.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
        if len(specs) != len(flat):
            raise ValueError(f"the program has {len(specs)} inputs, but the call has {len(flat)}")
        order = self.exported_program.call_spec.in_spec
        if order is not None and kwargs:
            names = list(order.children_specs[1].context)
            flat = tree_flatten((tuple(args), {name: kwargs[name] for name in names if name in kwargs}))[0]
        return [v for v, s in zip(flat, specs, strict=True) if type(s.arg).__name__ != "ConstantArgument"]

    def __repr__(self) -> str:
        return f"ONNXProgram(\n    model=\n{self.model}\n    ,\n    exported_program=\n{self.exported_program}\n)"
