"""Window functions."""

from opgen.row import NO_VALUES, Op

from optable.create import OPTIONS

_PERIODIC = (
    "whether the window is one number more, without its last, as spectra need it; else it is symmetric"
)
_ABOUT = {"window_length": "how many numbers it has", "periodic": _PERIODIC}


def _window(signature, **fields):
    return Op(
        f"{signature}, {OPTIONS}) -> Tensor",
        shape="[window_length]",
        **fields,
        method=False,
        devices="Any",
        grad=NO_VALUES,
        jvp=NO_VALUES,
        batch="dims",
    )


def _overloads(name, default, further, doc, about, example, shown=""):
    """The forms of a window, with and without further parameters."""
    tail = ", *, dtype=None, layout=torch.strided, device=None, requires_grad=False"
    shown = shown or f"window_length, periodic=True{default}{tail}"
    rows = [
        _window(
            f"{name}(int window_length", shown=shown, doc=doc, about={**_ABOUT, **about}, example=example
        ),
        _window(f"{name}.periodic(int window_length, bool periodic", doc=doc, about=_ABOUT),
    ]
    for overload, parameters in further.items():
        rows.append(
            _window(
                f"{name}.{overload}(int window_length, bool periodic, {parameters}",
                doc=doc, about={**_ABOUT, **about},
            )
        )  # fmt: skip
    return rows


ROWS = [
    *_overloads(
        "hann_window", "", {}, "The Hann window: (1 - cos x) / 2, where x goes from 0 to 2 pi.", {},
        ">>> tl.hann_window(4)\ntensor([0.0000, 0.5000, 1.0000, 0.5000])",
    ),
    *_overloads(
        "hamming_window", ", alpha=0.54, beta=0.46",
        {"periodic_alpha": "float alpha", "periodic_alpha_beta": "float alpha, float beta"},
        "The Hamming window: alpha - beta cos x, where x goes from 0 to 2 pi.",
        {"alpha": "the mean", "beta": "the height of the cosine"},
        ">>> tl.hamming_window(4)\ntensor([0.0800, 0.5400, 1.0000, 0.5400])",
        "window_length, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False",
    ),
    *_overloads(
        "blackman_window", "", {},
        "The Blackman window: 0.42 - 0.5 cos x + 0.08 cos 2x, where x goes from 0 to 2 pi.", {},
        ">>> tl.blackman_window(4)[1:]\ntensor([0.3400, 1.0000, 0.3400])",
    ),
    *_overloads(
        "bartlett_window", "", {}, "The Bartlett window: a triangle from 0 over 1 to 0.", {},
        ">>> tl.bartlett_window(4)\ntensor([0.0000, 0.5000, 1.0000, 0.5000])",
    ),
    *_overloads(
        "kaiser_window", ", beta=12.0", {"beta": "float beta"},
        "The Kaiser window: I_0(beta sqrt(1 - x^2)) / I_0(beta), where x goes from -1 to 1.",
        {"beta": "how narrow it is: 0 is a rectangle"},
        ">>> tl.kaiser_window(4, True, 3.0)\ntensor([0.2049, 0.7269, 1.0000, 0.7269])",
    ),
    _window(
        "_window(str shape, int window_length, bool periodic, float[] parameters",
        doc="A window of the given shape: what the module signal.windows calls.",
        about={
            None: _ABOUT,
            "shape": "cosines, triangle, kaiser, gaussian, exponential or sine",
            "parameters": "those of the shape",
        },
    ),
]  # fmt: skip
