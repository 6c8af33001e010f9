"""The parts of the examples, against numpy and closed forms."""

import numpy as np
import pytest

import tl
from tl.examples import maml, per_sample
from tl.examples.digits import Images
from tl.examples.gpt import rate
from tl.examples.resnet import Residual, enlarged


def test_the_rate_rises_and_falls():
    assert [rate(step, step / 10, 3.0, 2) for step in (0, 1, 5, 10)] == [
        3 * 0.5,
        pytest.approx(3 * 0.9),
        1.5,
        0.0,
    ]


def test_gradients_of_samples_are_clipped_before_their_mean():
    gradients = {"w": tl.tensor([[3.0, 0.0], [0.3, 0.0]]), "b": tl.tensor([[4.0], [0.4]])}
    mean = per_sample.private_mean(gradients, clip=1.0, noise=0.0)
    np.testing.assert_allclose(mean["w"].numpy(), [(0.6 + 0.3) / 2, 0.0], rtol=1e-5)
    np.testing.assert_allclose(mean["b"].numpy(), [(0.8 + 0.4) / 2], rtol=1e-5)


def test_the_gradient_of_one_sample_after_the_other():
    model = tl.nn.Linear(2, 3)
    parameters = dict(model.named_parameters())
    x, y = tl.randn(4, 2), tl.tensor([0, 2, 1, 1])
    gradient = tl.func.grad(lambda p, a, b: per_sample.loss_of_one(model, p, a, b))
    result = per_sample.by_loop(gradient, parameters, x, y)
    scores = x.numpy() @ model.weight.detach().numpy().T + model.bias.detach().numpy()
    error = np.exp(scores) / np.exp(scores).sum(1, keepdims=True) - np.eye(3)[y.numpy()]
    np.testing.assert_allclose(result["bias"].detach().numpy(), error, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        result["weight"].detach().numpy(), error[:, :, None] * x.numpy()[:, None], rtol=1e-4, atol=1e-6
    )


def test_waves_have_a_height_of_1_to_5():
    x, y = maml.waves(200, 10)
    assert x.shape == y.shape == (200, 10, 1) and float(x.abs().max()) <= 5 and float(y.abs().max()) <= 5
    assert float(y.abs().amax(1).min()) < 4 < float(y.abs().amax(1).max())


def test_images_with_twice_the_pixels():
    images = Images(tl.tensor([[[[0.0, 4.0], [8.0, 12.0]]]]), tl.tensor([3]))
    result = enlarged(images)
    assert result.pixels.shape == (1, 1, 4, 4) and result.digits is images.digits
    assert result.pixels[0, 0, 0].tolist() == pytest.approx([0.0, 1.0, 3.0, 4.0], abs=1e-6)


@pytest.mark.parametrize(("channels", "out", "stride"), [(2, 2, 1), (2, 4, 2)])
def test_a_residual_block_adds_its_input(channels, out, stride):
    block = Residual(channels, out, stride).eval()
    x = tl.randn(1, channels, 6, 6)
    assert block(x).shape == (1, out, 6 // stride, 6 // stride) and float(block(x).min()) >= 0
