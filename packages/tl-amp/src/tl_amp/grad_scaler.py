"""Scaling a loss so that small gradients don't vanish in half precision."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

import tl_core
from tl_core import Tensor, no_grad

AVAILABLE = ("cpu",)


class OptState(enum.Enum):
    """State of an optimizer since the last update.

    Example:
        >>> OptState.READY.name
        'READY'
    """

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Multiplies losses by a factor, divides gradients by it, and leaves out steps whose gradients aren't finite.

    The factor grows after many steps in a row that were finite, and shrinks after one that wasn't: it stays near the
    largest with which the gradients fit into their type (Micikevicius et al., Mixed Precision Training, 2018).

    Args:
        device: the kind of device. For one that isn't there, the scaler warns and switches itself off.
        init_scale: the first factor.
        growth_factor: what the factor is multiplied by when it grows; above 1.
        backoff_factor: what it is multiplied by when it shrinks; below 1.
        growth_interval: after how many finite steps in a row it grows.
        enabled: False makes `scale` give back what it gets, and `step` step.

    Example:
        >>> import tl_nn
        >>> model = tl_nn.Linear(2, 1)
        >>> optimizer = tl_nn.optim.SGD(model.parameters(), lr=0.1)
        >>> scaler = GradScaler("cpu", init_scale=8.0)
        >>> scaler.scale(model(tl_core.ones(1, 2)).sum()).backward()
        >>> model.bias.grad
        tensor([8.])
        >>> _ = scaler.step(optimizer)
        >>> scaler.update()
        >>> model.bias.grad
        tensor([1.])
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ):
        if growth_factor <= 1.0:
            raise AssertionError(f"GradScaler: growth_factor must be > 1.0, got {growth_factor}")
        if backoff_factor >= 1.0:
            raise AssertionError(f"GradScaler: backoff_factor must be < 1.0, got {backoff_factor}")
        self._device = device
        self._enabled = enabled
        if enabled and device not in AVAILABLE:
            warnings.warn(f"GradScaler: the device {device!r} is not available; disabling", stacklevel=2)
            self._enabled = False
        self._factor = float(init_scale)
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._finite_steps = 0
        self._scaled = False
        self._stages: dict[int, OptState] = {}
        self._infinite: dict[int, bool] = {}

    def scale(self, outputs: Any) -> Any:
        """Multiplies tensors by the factor.

        Args:
            outputs: a tensor, or tensors in lists and tuples.

        Returns:
            The same structure; with the scaler switched off, `outputs` itself.
        """
        if not self._enabled:
            return outputs
        self._scaled = True
        return self._multiply(outputs)

    def _multiply(self, outputs: Any) -> Any:
        if isinstance(outputs, Tensor):
            return outputs * self._factor
        if isinstance(outputs, list | tuple):
            multiplied = [self._multiply(each) for each in outputs]
            if hasattr(outputs, "_fields"):
                return type(outputs)(*multiplied)
            return type(outputs)(multiplied)
        raise ValueError(
            f"GradScaler.scale: outputs must be tensors or lists of them, got {type(outputs).__name__}"
        )

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimizer's parameters by the factor, for instance before they are clipped.

        Raises:
            RuntimeError: it has been done since the last update, or the step has.
            ValueError: a gradient is a float16, which has no room for it.
        """
        if not self._enabled:
            return
        self._need_scale("unscale_")
        stage = self._stages.get(id(optimizer), OptState.READY)
        if stage is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if stage is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        gradients = list(_gradients(optimizer))
        if any(gradient.dtype == tl_core.float16 for gradient in gradients):
            raise ValueError("Attempting to unscale FP16 gradients.")
        if gradients:
            self._infinite[id(optimizer)] = self._divide(gradients)
        self._stages[id(optimizer)] = OptState.UNSCALED

    def _divide(self, gradients: list[Tensor]) -> bool:
        """Divides gradients; says whether one isn't finite."""
        # in double precision, because the inverse of a large factor may be denormal in the gradients' type
        inverse = 1.0 / self._factor
        with no_grad():
            infinite = any(not bool(gradient.isfinite().all()) for gradient in gradients)
            for gradient in gradients:
                gradient.mul_(inverse)
        return infinite

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Divides the gradients if `unscale_` hasn't, and steps the optimizer if all of them are finite.

        Args:
            optimizer: the optimizer.
            args, kwargs: handed to its `step`.

        Returns:
            What its `step` returns; None if it was left out.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._need_scale("step")
        stage = self._stages.get(id(optimizer), OptState.READY)
        if stage is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            return self._step_scaled(optimizer, args, kwargs)
        if stage is OptState.READY:
            self.unscale_(optimizer)
        if id(optimizer) not in self._infinite:
            raise AssertionError("GradScaler.step: no parameter of this optimizer has a gradient")
        self._stages[id(optimizer)] = OptState.STEPPED
        return None if self._infinite[id(optimizer)] else optimizer.step(*args, **kwargs)

    def _step_scaled(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        """The step of an optimizer that divides by the factor itself, and leaves the step out where that is due."""
        import inspect  # slow to load, and wanted here only

        self._stages[id(optimizer)] = OptState.STEPPED
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed optimizer: it "
                "registers `grad_scale: Tensor` and `found_inf: Tensor` to it.",
                FutureWarning,
                stacklevel=3,
            )
            self._infinite.setdefault(id(optimizer), False)
            return optimizer.step(*args, **kwargs, grad_scaler=self)
        if id(optimizer) not in self._infinite:
            infinite = any(not bool(gradient.isfinite().all()) for gradient in _gradients(optimizer))
            self._infinite[id(optimizer)] = infinite
            optimizer.grad_scale = tl_core.tensor(self._factor)
        else:  # unscale_ has been called
            optimizer.grad_scale = None
        optimizer.found_inf = tl_core.tensor(float(self._infinite[id(optimizer)]))
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Grows or shrinks the factor, once after the steps of all optimizers.

        Args:
            new_scale: what to set it to instead, a number or a tensor of one.
        """
        if not self._enabled:
            return
        self._need_scale("update")
        if new_scale is not None:
            self._factor = _number(new_scale)
        elif not self._infinite:
            raise AssertionError(
                "GradScaler.update: no optimizer has been stepped or unscaled since the last update"
            )
        else:
            self._adapt(any(self._infinite.values()))
        self._stages.clear()
        self._infinite.clear()

    def _adapt(self, infinite: bool) -> None:
        if infinite:
            self._factor *= self._backoff_factor
            self._finite_steps = 0
            return
        self._finite_steps += 1
        if self._finite_steps == self._growth_interval:
            grown = self._factor * self._growth_factor
            if grown <= tl_core.finfo(tl_core.float32).max:
                self._factor = grown
            self._finite_steps = 0

    def _need_scale(self, function: str) -> None:
        if not self._scaled:
            raise AssertionError(f"GradScaler.{function}: call scale() on a loss first")

    @property
    def _scale(self) -> Tensor | None:
        """The factor as a tensor; None before the first loss has been scaled."""
        return tl_core.tensor(self._factor) if self._scaled else None

    @property
    def _init_growth_tracker(self) -> int:
        """Number of successive finite steps."""
        return self._finite_steps

    @_init_growth_tracker.setter
    def _init_growth_tracker(self, steps: int) -> None:
        self._finite_steps = steps

    def get_scale(self) -> float:
        """The factor; 1 with the scaler switched off."""
        return self._factor if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """Factor of growth of the scale."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets what the factor is multiplied by when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Factor of backoff of the scale."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets what the factor is multiplied by when it shrinks."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many finite steps in a row the factor grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets after how many finite steps in a row the factor grows."""
        self._growth_interval = new_interval

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The state to resume a run; empty for a disabled scaler."""
        if not self._enabled:
            return {}
        return {
            "scale": self._factor,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._finite_steps,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from what `state_dict` gave.

        Raises:
            RuntimeError: it is empty, as that of a scaler that was switched off.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "GradScaler.load_state_dict: the state is empty, possibly that of a disabled scaler"
            )
        self._factor = float(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._finite_steps = int(state_dict["_growth_tracker"])

    def __getstate__(self) -> dict[str, Any]:
        if self._stages:
            raise AssertionError("a GradScaler can be pickled before the first scale() of an iteration only")
        return self.__dict__.copy()


class DeprecatedGradScaler(GradScaler):
    """`GradScaler` for the one device that the name of its module says.

    Args:
        init_scale: the scale at first.
        growth_factor: its factor after `growth_interval` steps without an infinity.
        backoff_factor: its factor after an infinity.
        growth_interval: how many steps.
        enabled: whether anything is scaled.
    """

    device_type: ClassVar[str]

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ):
        kind = self.device_type
        warnings.warn(
            f"`torch.{kind}.amp.GradScaler(args...)` is deprecated. "
            f"Please use `torch.amp.GradScaler('{kind}', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(kind, init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def _gradients(optimizer: Any) -> Iterator[Tensor]:
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is not None:
                yield parameter.grad._values() if parameter.grad.is_sparse else parameter.grad


def _number(value: Any) -> float:
    if isinstance(value, Tensor) and value.numel() == 1 and not value.requires_grad:
        return float(value)
    if isinstance(value, float | int):
        return float(value)
    raise AssertionError(
        "GradScaler.update: new_scale must be a number or a tensor of one that requires no gradient"
    )


def _refresh_per_optimizer_state() -> dict[str, Any]:
    """The state of an optimizer after an update: empty."""
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class _MultiDeviceReplicator:
    """A tensor, and its copies on the devices for which it is asked.

    Args:
        master_tensor: the tensor.
    """

    def __init__(self, master_tensor: Tensor) -> None:
        self.master = master_tensor
        self._per_device_tensors: dict[Any, Tensor] = {}

    def get(self, device: Any) -> Tensor:
        """The copy on a device.

        Args:
            device: the device.
        """
        device = tl_core.device(device)
        if device not in self._per_device_tensors:
            self._per_device_tensors[device] = self.master.to(device)
        return self._per_device_tensors[device]
