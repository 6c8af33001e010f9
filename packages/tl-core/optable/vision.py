"""Sampling grids at given points, and rearranging channels and positions."""

from opgen.row import Composite, Op

MODES = "int interpolation_mode, int padding_mode, bool align_corners"
PASSED = "interpolation_mode, padding_mode, align_corners"


def _public(signature, doc, **fields):
    return Composite(signature, method=False, doc=doc, **fields)


def _private(signature, grad, doc, **fields):
    return Op(
        signature,
        method=False,
        function=False,
        grad=grad,
        jvp="double-vjp",
        batch="fold",
        doc=doc,
        **fields,
    )


ROWS = [
    _private(
        f"_grid_sample(Tensor input, Tensor grid, {MODES}, int[] order) -> Tensor",
        {
            "input": f"_grid_sample_adjoint(g, grid, input.shape, {PASSED}, order)",
            "grid": f"_grid_sample_gradient(g, input, grid, {PASSED}, order)",
        }, "The input read at points, its weights differentiated `order` times by each coordinate.",
        shape="[input.shape[0], input.shape[1], *grid.shape[1:-1]]",
    ),
    _private(
        f"_grid_sample_adjoint(Tensor grad, Tensor grid, int[] sizes, {MODES}, int[] order) -> Tensor",
        {
            "grad": f"_grid_sample(g, grid, {PASSED}, order)",
            "grid": f"_grid_sample_gradient(grad, g, grid, {PASSED}, order)",
        }, "The adjoint of _grid_sample by its input.", shape="list(sizes)",
    ),
    Op(
        f"_grid_sample_derivative(Tensor grad, Tensor input, Tensor grid, {MODES}, int[] order) -> Tensor",
        function=False, method=False,
        grad="none:only runs where nothing is recorded",
        jvp="none:not implemented: only runs where nothing is differentiated", batch="fold",
        doc="The gradient of _grid_sample by its points.",
    ),
    _public(
        f"_grid_sample_gradient(Tensor grad, Tensor input, Tensor grid, {MODES}, int[] order) -> Tensor",
        "The gradient of _grid_sample by its points, in operators where it is recorded.",
        function=False,
    ),
    _public(
        f"grid_sampler(Tensor input, Tensor grid, {MODES}) -> Tensor",
        "The input read at points given in units of its half size.",
        shape="[input.shape[0], input.shape[1], *grid.shape[1:-1]]",
        autocast="float32",
    ),
    _public(
        f"grid_sampler_2d(Tensor input, Tensor grid, {MODES}) -> Tensor",
        "Images read at points given in units of their half size.",
        shape="[input.shape[0], input.shape[1], *grid.shape[1:-1]]",
        autocast="float32",
        core=True,
    ),
    _public(
        f"grid_sampler_3d(Tensor input, Tensor grid, {MODES}) -> Tensor",
        "Volumes read at points given in units of their half size.",
        shape="[input.shape[0], input.shape[1], *grid.shape[1:-1]]",
        autocast="float32",
    ),
    _public(
        "affine_grid_generator(Tensor theta, int[] size, bool align_corners) -> Tensor",
        "The points that an affine map sends a grid to.", shape="[size[0], *size[2:], len(size) - 2]",
    ),
    _public(
        "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
        "Channels spread over squares of positions.", shape="shuffle(self.shape, upscale_factor, 1)",
        example=">>> tl.pixel_shuffle(tl.zeros(1, 8, 2, 2), 2).shape\ntorch.Size([1, 2, 4, 4])",
    ),
    _public(
        "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
        "Squares of positions gathered into channels.", shape="shuffle(self.shape, 1, downscale_factor)",
        example=">>> tl.pixel_unshuffle(tl.zeros(1, 2, 4, 4), 2).shape\ntorch.Size([1, 8, 2, 2])",
    ),
    _public(
        "channel_shuffle(Tensor self, int groups) -> Tensor", "Channels taken from each group in turn.",
        shape="self.shape",
        example=(
            ">>> tl.channel_shuffle(tl.arange(4.0).view(1, 4, 1, 1), 2).flatten()\ntensor([0., 2., 1., 3.])"
        ),
    ),
    _public(
        "native_channel_shuffle(Tensor self, int groups) -> Tensor",
        "Channels taken from each group in turn.", shape="self.shape",
    ),
]  # fmt: skip
