"""Gradients for each sample, batches of models, Jacobians: the transforms of functions."""

import tl as torch
from tl import Tensor, nn
from tl.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)

Parameters = dict[str, Tensor]


def main() -> None:
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    parameters: Parameters = {name: p.detach() for name, p in model.named_parameters()}
    buffers = dict(model.named_buffers())
    x, y = torch.randn(5, 3), torch.randn(5, 1)

    def loss(p: Parameters, sample: Tensor, target: Tensor) -> Tensor:
        prediction = functional_call(model, (p, buffers), (sample.unsqueeze(0),))
        return nn.functional.mse_loss(prediction, target.unsqueeze(0))

    per_sample = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
    print({name: g.shape for name, g in per_sample.items()})
    gradients, value = grad_and_value(loss)(parameters, x[0], y[0])
    print(value.item(), gradients["weight"].shape)

    models = [nn.Linear(3, 1) for _ in range(4)]
    stacked, stacked_buffers = stack_module_state(models)

    def call(p: Parameters, b: Parameters, inputs: Tensor) -> Tensor:
        result: Tensor = functional_call(models[0], (p, b), (inputs,))
        return result

    predictions = torch.vmap(call, in_dims=(0, 0, None))(stacked, stacked_buffers, x)
    print(predictions.shape)

    def f(t: Tensor) -> Tensor:
        return t.sin() * t.sum()

    point = torch.randn(3)
    print(
        jacrev(f)(point).shape, jacfwd(f, argnums=0)(point).shape, hessian(lambda t: f(t).sum())(point).shape
    )
    output, pull = vjp(f, point)
    (cotangent,) = pull(torch.ones_like(output))
    _, tangent = jvp(f, (point,), (torch.ones(3),))
    print(cotangent, tangent, torch.func.linearize(f, point)[0].shape)


if __name__ == "__main__":
    main()
