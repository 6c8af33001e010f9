"""The suites: where a library's tests come from, which of them run, and what is installed for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tools.clients.table import gathered

# pytest and what several suites import.
TOOLS = ("pytest>=8", "flaky", "parameterized")


@dataclass(frozen=True)
class Suite:
    """A library's tests."""

    repository: str  # on GitHub
    ref: str  # a tag, or a commit where there is none
    kept: tuple[str, ...]  # the folders that are unpacked
    files: tuple[str, ...]  # patterns of the files with tests, in their order
    alone: tuple[str, ...]  # distributions installed without what they ask for: the first is the library
    others: tuple[str, ...] = ()
    at: str = "."  # the folder that pytest is started in
    left_out: Mapping[str, str] = field(default_factory=dict)  # files and tests that aren't run, and why
    arguments: tuple[str, ...] = ()  # of pytest
    settings: tuple[tuple[str, str], ...] = ()  # of the environment
    sample: int = 1  # one of so many tests runs, by a checksum of its name


NUMERIC = ("jaxtyping", "pyro-api", "opt_einsum", "networkx")
HUB = ("huggingface_hub", "tokenizers", "safetensors", "datasets", "evaluate", "tensorboard")
# Inference: the files that take seconds, not those that learn until they are right.
PYRO_INFER = ("abstract_infer", "compute_downstream_costs", "conjugate_gradients", "csis", "discrete")
# The other files need several devices, an accelerator, or libraries for accelerators.
ACCELERATE = (
    *(
        "accelerator",
        "big_modeling",
        "cli",
        "compile",
        "cpu",
        "data_loader",
        "dataclasses",
        "fp8",
        "grad_sync",
    ),
    *(
        "hooks",
        "imports",
        "kwargs_handlers",
        "launch",
        "logging",
        "memory_utils",
        "metrics",
        "modeling_utils",
    ),
    *("offload", "optimizer", "sagemaker", "scheduler", "state_checkpointing", "tracking", "utils"),
)
PEFT = (
    *("adamss_asa", "bdlora", "bufferdict", "deft", "incremental_pca", "lorafa", "loraplus", "low_level_api"),
    *("lora_variants", "mapping", "mixed", "osf", "velora"),
)
# The files whose references need neither a network nor another library for torch.
TORCHMETRICS = (
    *("regression/test_*", "pairwise/test_*", "segmentation/test_dice", "clustering/test_*"),
    *("nominal/test_cramers", "nominal/test_pearson", "nominal/test_t*"),
    *(f"image/test_{name}" for name in ("ergas", "lpips", "qnr", "sam", "uqi")),
    *("audio/test_sa_sdr", "audio/test_si_*"),
    *(f"text/test_{name}" for name in ("cer", "chrf", "eed", "mer", "rouge", "sacre_bleu", "ter", "w*")),
)
NETWORK = "needs a network"
LARGE = "takes long, as it trains on large sets"

SUITES = {
    "einops": Suite(
        "arogozhnikov/einops",
        "v0.8.2",
        ("einops",),
        ("einops/tests/test_*.py",),
        ("einops==0.8.2",),
        settings=(("EINOPS_TEST_BACKENDS", "numpy,torch"),),
    ),
    "torchdiffeq": Suite(
        "rtqichen/torchdiffeq",
        "a88aac53cae738addee44251288ce5be9a018af3",
        ("tests",),
        ("tests/*_tests.py",),
        ("torchdiffeq==0.2.5",),
    ),
    "zuko": Suite("probabilists/zuko", "1.6.0", ("tests",), ("tests/test_*.py",), ("zuko==1.6.0",)),
    "array-api-compat": Suite(
        "data-apis/array-api-compat",
        "1.15",
        ("tests",),
        ("tests/test_*.py",),
        ("array-api-compat==1.15",),
        ("array-api-strict", "array-api-extra"),
    ),
    "safetensors": Suite(
        "huggingface/safetensors",
        "24b0b2857fef49be734b9ab72ce97c09bb25f5b9",
        ("bindings/python/tests",),
        tuple(f"bindings/python/tests/test_{name}.py" for name in ("simple", "pt_*", "handle", "pread*")),
        ("safetensors==0.8.0",),
        at="bindings/python",
    ),
    "gpytorch": Suite(
        "cornellius-gp/gpytorch",
        "v1.15.2",
        ("test",),
        ("test/*/test_*.py",),
        ("gpytorch==1.15.2", "linear_operator", "pyro-ppl"),
        NUMERIC,
        left_out={"test/examples": LARGE},
    ),
    "torchmetrics": Suite(
        "Lightning-AI/torchmetrics",
        "v1.9.0",
        ("tests",),
        tuple(f"tests/unittests/{files}.py" for files in TORCHMETRICS),
        ("torchmetrics==1.9.0", "lightning-utilities"),
        ("cachier", "scikit-image", "pytest-rerunfailures"),
        at="tests",
        arguments=("-p", "no:flaky", "-k", "functional"),
    ),
    "torchmetrics-classification": Suite(
        "Lightning-AI/torchmetrics",
        "v1.9.0",
        ("tests",),
        ("tests/unittests/classification/test_*.py",),
        ("torchmetrics==1.9.0", "lightning-utilities"),
        ("cachier", "scikit-image", "pytest-rerunfailures"),
        at="tests",
        arguments=("-p", "no:flaky", "-k", "functional"),
        sample=20,
    ),
    "pyro": Suite(
        "pyro-ppl/pyro",
        "1.9.1",
        ("tests",),
        (
            "tests/test_*.py",
            *(
                f"tests/{folder}/test_*.py"
                for folder in ("ops", "ops/einsum", "params", "poutine", "nn", "optim")
            ),
            "tests/distributions/test_[a-q]*.py",
            *(f"tests/infer/test_{name}.py" for name in PYRO_INFER),
        ),
        ("pyro-ppl==1.9.1",),
        NUMERIC,
        left_out={
            "tests/test_examples.py": LARGE,
            "tests/ops/test_gaussian.py::test_gaussian_funsor": "needs funsor",
        },
    ),
    "skorch": Suite(
        "skorch-dev/skorch",
        "v1.4.0",
        ("skorch",),
        ("skorch/tests/test_*.py", "skorch/tests/callbacks/test_*.py"),
        ("skorch==1.4.0",),
        ("tabulate", "numpydoc"),
        left_out={
            "skorch/tests/test_hf.py::TestHuggingfacePretrainedTokenizer": NETWORK,
            "skorch/tests/test_hf.py::TestHuggingfacePretrainedTokenizerWithFit": NETWORK,
            "skorch/tests/test_dataset.py::TestGetLen::test_get_len_transformers_tokenizer": NETWORK,
            "skorch/tests/test_dataset.py::TestNetWithTokenizers": NETWORK,
        },
    ),
    "accelerate": Suite(
        "huggingface/accelerate",
        "v1.14.0",
        ("tests",),
        tuple(f"tests/test_{name}.py" for name in ACCELERATE),
        ("accelerate==1.14.0",),
        HUB,
    ),
    "peft": Suite(
        "huggingface/peft",
        "v0.20.0",
        ("tests",),
        tuple(f"tests/test_{name}.py" for name in PEFT),
        ("peft==0.20.0", "transformers", "accelerate", "diffusers"),
        (*HUB, "importlib_metadata"),
        left_out={
            "tests/test_low_level_api.py::TestInjectAdapterFromStateDict": NETWORK,
            "tests/test_incremental_pca.py::test_incremental_pca": NETWORK,
        },
    ),
    # Models of a program's own; those of the other files come from a hub.
    "peft-models": Suite(
        "huggingface/peft",
        "v0.20.0",
        ("tests",),
        ("tests/test_custom_models.py",),
        ("peft==0.20.0", "transformers", "accelerate", "diffusers"),
        (*HUB, "importlib_metadata"),
        sample=40,
    ),
    "lightning": Suite(
        "Lightning-AI/pytorch-lightning",
        "2.6.5",
        ("tests/tests_pytorch",),
        tuple(
            f"tests/tests_pytorch/{files}.py"
            for files in ("core/test_*", "loops/test_*", "loops/optimization/test_*", "callbacks/test_[cd]*")
        ),
        ("lightning==2.6.5", "pytorch-lightning==2.6.5", "torchmetrics", "lightning-utilities"),
        ("cloudpickle", "tensorboard", "pytest-rerunfailures"),
        at="tests",
        # flaky and rerunfailures understand one mark differently; several processes are started by others
        arguments=("-p", "no:flaky", "-k", "not spawn and not ddp"),
    ),
    "lightning-trainer": Suite(
        "Lightning-AI/pytorch-lightning",
        "2.6.5",
        ("tests/tests_pytorch",),
        tuple(f"tests/tests_pytorch/trainer/{files}.py" for files in ("test_*", "*/test_*")),
        ("lightning==2.6.5", "pytorch-lightning==2.6.5", "torchmetrics", "lightning-utilities"),
        ("cloudpickle", "tensorboard", "pytest-rerunfailures"),
        at="tests",
        left_out={"tests/tests_pytorch/trainer/test_ddp_sigterm_handling.py": "starts several processes"},
        arguments=("-p", "no:flaky", "-k", "not spawn and not ddp"),
        sample=5,
    ),
    "roma": Suite("naver/roma", "v1.6.0", ("test",), ("test/test_*.py",), ("roma==1.6",)),
    "zennit": Suite(
        "chr5tphr/zennit",
        "0.5.1",
        ("tests",),
        tuple(f"tests/test_{name}.py" for name in ("canonizers", "cmap", "core")),
        ("zennit==0.5.1",),
    ),
    "snntorch": Suite(
        "jeshraghian/snntorch",
        "v0.9.4",
        ("tests",),
        ("tests/test_*.py", "tests/test_snntorch/test_*.py", "tests/test_snntorch/functional/test_*.py"),
        ("snntorch==0.9.4",),
        left_out={"tests/test_nir.py": "needs nir"},
    ),
    "torchjd": Suite(
        "TorchJD/torchjd",
        "v0.8.1",
        ("tests",),
        (
            *(f"tests/unit/autojac/{files}.py" for files in ("test_*", "_transform/test_*")),
            *(f"tests/unit/aggregation/test_{name}.py" for name in ("graddrop", "mean", "sum", "values")),
        ),
        ("torchjd==0.8.1",),
        ("qpsolvers", "quadprog"),
    ),
    "pytorch-optimizer": Suite(
        "kozistr/pytorch_optimizer",
        "v3.9.0",
        ("tests",),
        tuple(
            f"tests/test_{name}.py"
            for name in (
                *("base", "gradients", "load_modules", "loss_functions", "lr_scheduler_parameters"),
                *("lr_schedulers", "utils"),
            )
        ),
        ("pytorch-optimizer==3.9.0",),
        left_out={"tests/test_utils.py::test_version_utils": "asks for PyTorch 2.9"},
    ),
    "gluonts": Suite(
        "awslabs/gluonts",
        "v0.16.0rc1",
        ("test",),
        tuple(
            f"test/torch/distribution/test_{name}.py"
            for name in ("affine*", "discrete*", "negative_binomial", "studentt", "torch_*")
        ),
        ("gluonts==0.16.0",),
        ("pydantic", "toolz"),
    ),
    "pytorch-crf": Suite(
        "kmkurn/pytorch-crf", "v0.7.2", ("tests",), ("tests/test_*.py",), ("pytorch-crf==0.7.2",)
    ),
    "normflows": Suite(
        "VincentStimper/normalizing-flows",
        "v1.7.3",
        ("normflows",),
        ("normflows/*_test.py", "normflows/*/*_test.py", "normflows/*/*/*_test.py"),
        ("normflows==1.7.3",),
    ),
    "piq": Suite(
        "photosynthesis-team/piq",
        "v0.8.0",
        ("tests",),
        # ssim and its kin need TensorFlow, the others models of a hub
        tuple(f"tests/test_{name}.py" for name in ("gmsd", "haarpsi", "mdsi", "psnr", "tv", "utils", "vsi")),
        ("piq==0.8.0", "torchvision"),
        ("scikit-image",),
        left_out={"tests/test_utils.py::test_download_tensor": NETWORK},
    ),
    "pypose": Suite(
        "pypose/pypose",
        "v0.9.5",
        ("tests",),
        tuple(
            f"tests/{folder}/test_*.py" for folder in ("basics", "function", "lietensor", "module", "optim")
        ),
        ("pypose==0.9.5", "torchvision"),
        left_out={
            "tests/function/test_metric.py": NETWORK,
            **{
                f"tests/module/test_icp.py::TestICP::test_icp_{name}": NETWORK
                for name in ("broadcasting1", "broadcasting2", "laserscan_data")
            },
            **{
                f"tests/module/test_pnp.py::TestEPnP::test_epnp_{name}": NETWORK
                for name in ("highdim", "nonbatch", "random")
            },
        },
    ),
    "torchkge": Suite(
        "torchkge-team/torchkge",
        "3adb9344dec974fc29d158025c014b0dcb48118c",
        ("tests",),
        ("tests/test_*.py",),
        ("torchkge==0.17.7",),
    ),
    "torchio": Suite(
        "TorchIO-project/torchio",
        "v1.2.1",
        ("tests",),
        ("tests/transforms/augmentation/test_*.py", "tests/data/sampler/test_*.py"),
        ("torchio==1.2.1",),
        ("deprecated", "einops", "humanize", "jaxtyping", "nibabel", "simpleitk", "typer"),
    ),
    "pfrl": Suite(
        "pfnet/pfrl",
        "v0.4.0",
        ("tests",),
        tuple(f"tests/{folder}_tests/test_*.py" for folder in ("collections", "functions", "nn")),
        ("pfrl==0.4.0",),
        ("gym", "filelock", "pillow"),
        arguments=("-m", "not slow"),
    ),
}


def requirements(names: list[str]) -> tuple[list[str], list[str]]:
    """What is installed for the named suites."""
    return gathered((SUITES[name] for name in names), *TOOLS)
