"""The programs, and the libraries that each of them needs.

Libraries that ask for torch are installed without what they ask for, so what they need beside it is named here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

COMMON = (
    *(
        "numpy",
        "scipy",
        "pandas",
        "scikit-learn",
        "tqdm",
        "requests",
        "pyyaml",
        "packaging",
        "filelock",
        "regex",
    ),
    *("psutil", "pillow", "matplotlib", "rich"),
    *("fsspec", "jinja2", "networkx", "sympy", "typing_extensions"),  # what torch itself asks for
)


@dataclass(frozen=True)
class Client:
    """A program: what is installed for it, and how far its numbers may be from torch's."""

    alone: tuple[
        str, ...
    ]  # distributions that ask for torch, or for something that does; the first is the client
    others: tuple[str, ...] = ()
    rtol: float = 1e-3
    atol: float = 1e-4


def client(alone: str, others: str = "", **tolerances: float) -> Client:
    """A row of the table, from words."""
    return Client(tuple(alone.split()), tuple(others.split()), **tolerances)


HUB = "huggingface_hub tokenizers safetensors"
CLIENTS = {
    "bert": client("transformers", f"{HUB}"),
    "gpt2": client("transformers", f"{HUB}"),
    "llama": client("transformers", f"{HUB}"),
    "t5": client("transformers", f"{HUB}"),
    # torch rounds the weights by which it resizes bytes to 16 bits
    "vit": client("transformers torchvision", f"{HUB}", rtol=0.03),
    "whisper": client("transformers", f"{HUB}"),
    "wav2vec2": client("transformers", f"{HUB}"),
    "mamba": client("transformers", f"{HUB}"),
    "mixtral": client("transformers", f"{HUB}"),
    "clip": client("transformers", f"{HUB}"),
    "detr": client("transformers", f"{HUB}"),
    "pipeline": client("transformers", f"{HUB}"),
    "trainer": client("transformers accelerate", f"{HUB}"),
    "peft": client("peft transformers accelerate", f"{HUB}"),
    "accelerate": client("accelerate", f"{HUB}"),
    "sentence_transformers": client("sentence-transformers transformers", f"{HUB}"),
    "diffusers": client("diffusers transformers", f"{HUB} importlib_metadata"),
    "transformers_export": client("transformers", f"{HUB} onnx onnxscript"),
    "timm": client("timm torchvision", f"{HUB}"),
    "timm_script": client("timm torchvision", f"{HUB}"),
    "lightning": client("lightning pytorch-lightning lightning-utilities torchmetrics"),
    "onnx_models": client("transformers timm torchvision", f"{HUB} onnx onnxscript onnxruntime"),
    "lightning_export": client(
        "lightning pytorch-lightning lightning-utilities torchmetrics", "onnx onnxscript"
    ),
    "fabric": client("lightning pytorch-lightning lightning-utilities torchmetrics"),
    "ignite": client("pytorch-ignite"),
    "skorch": client("skorch", "tabulate"),
    "torchmetrics": client("torchmetrics lightning-utilities"),
    "keras": client("", "keras"),
    "gpytorch": client("gpytorch linear_operator", "jaxtyping"),
    "pyro": client("pyro-ppl", "pyro-api opt_einsum"),
    "pyro_jit": client("pyro-ppl", "pyro-api opt_einsum"),
    "zuko": client("zuko"),
    "torchdiffeq": client("torchdiffeq"),
    "torchsde": client("torchsde", "trampoline"),
    "torch_geometric": client("", "torch-geometric"),
    "stable_baselines3": client("stable-baselines3", "gymnasium cloudpickle"),
    "vit_pytorch": client("vit-pytorch torchvision", "einops"),
    "denoising_diffusion": client(
        "denoising-diffusion-pytorch accelerate ema-pytorch torchvision", f"einops {HUB}"
    ),
    "torch_optimizer": client("torch-optimizer pytorch-ranger"),
    "einops": client("", "einops"),
    "opt_einsum": client("", "opt_einsum"),
    "safetensors": client("", "safetensors"),
    "torchinfo": client("", "torchinfo"),
    "tensorboard": client("", "tensorboard"),
    "array_api_compat": client("", "array-api-compat"),
    "scikit_learn": client(""),
    "onnx": client("", "onnx"),
    "x_transformers": client("x-transformers torch-einops-utils", "einops einx loguru frozendict"),
    "schedulefree": client("schedulefree lion-pytorch"),
    "nflows": client("nflows"),
    "entmax": client("entmax"),
    "captum": client("captum"),
    "kornia": client("kornia", "kornia-rs"),
    "monai": client("monai"),
    "segmentation_models": client("segmentation-models-pytorch timm torchvision", f"{HUB}"),
    "metric_learning": client("pytorch-metric-learning"),
    "e3nn": client("e3nn opt_einsum_fx", "sympy opt_einsum"),
    "e3nn_script": client("e3nn opt_einsum_fx", "sympy opt_einsum"),
    "tensordict": client("tensordict", "pyvers cloudpickle orjson importlib_metadata"),
    "botorch": client(
        "botorch gpytorch linear_operator pyro-ppl",
        "jaxtyping pyro-api opt_einsum threadpoolctl multipledispatch pyre_extensions typing_inspect mypy_extensions",
    ),
    "fastai": client(
        "fastai",
        "fastcore fastdownload fastprogress fasttransform python-fasthtml plum-dispatch beartype cloudpickle",
    ),
    "tabnet": client("pytorch-tabnet"),
    "higher": client("higher"),
    "ema": client("ema-pytorch rotary-embedding-torch", "einops"),
    "lightly": client("lightly pytorch-lightning lightning-utilities torchmetrics torchvision"),
    "ptflops": client("ptflops thop torchviz", "graphviz"),
    "trl": client("trl transformers accelerate", f"datasets {HUB}"),
    "performer": client(
        "performer-pytorch axial-positional-embedding local-attention hyper-connections torch-einops-utils",
        "einops loguru",
    ),
    "linformer": client("linformer"),
    "perceiver": client("perceiver-pytorch", "einops"),
    "vector_quantize": client("vector-quantize-pytorch torch-einops-utils", "einops einx frozendict loguru"),
    "julius": client("julius"),
    "geoopt": client("geoopt"),
    "snntorch": client("snntorch"),
    "spikingjelly": client("spikingjelly", "loguru"),
    "backpack": client("backpack-for-pytorch unfoldNd einconv", "einops"),
    "mnist": client(""),
    "dcgan": client(""),
    "word_language_model": client(""),
    "vae": client(""),
    "reinforce": client("", "gymnasium"),
}

# Those whose time and memory are held against torch's: models, training, sampling, solvers.
MEASURED = (
    "bert",
    "gpt2",
    "llama",
    "trainer",
    "diffusers",
    "timm",
    "lightning",
    "gpytorch",
    "torchdiffeq",
    "mnist",
)


def gathered(chosen: Iterable[Any], *common: str) -> tuple[list[str], list[str]]:
    """What is installed for programs or suites: with what it asks for, and without."""
    chosen = list(chosen)
    others = {*COMMON, *common, *(other for one in chosen for other in one.others)}
    return sorted(others), sorted({dist for one in chosen for dist in one.alone})


def requirements(names: list[str]) -> tuple[list[str], list[str]]:
    """What is installed for the named programs."""
    return gathered(CLIENTS[name] for name in names)
