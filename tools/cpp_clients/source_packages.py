"""Published packages with C++ for PyTorch, and which of their files are for the CPU."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Package:
    """Sources of a package.

    Args:
        origin (str): The name on the package index with `==` and its version, or the address of a repository.
        files (str): Patterns of the files that are for the CPU, separated by spaces.
        include (str): Folders of headers, separated by spaces.
        module (str): The name of its module of Python; libraries of operators have none.
        prepare (str): A command of the shell that writes headers which its build configures.
        flags (str): Flags of its build, separated by spaces.
    """

    origin: str
    files: str
    include: str = ""
    module: str = ""
    prepare: str = ""
    flags: str = ""


PACKAGES = {
    "extension-cpp": Package("https://github.com/pytorch/extension-cpp", "extension_cpp/csrc/*.cpp"),
    "lltm": Package(
        "https://github.com/pytorch/extension-cpp",
        "cpp/lltm.cpp",
        prepare="git fetch -q --depth 1 origin 23f3d41045779e52e5c5c0565deeb4b04c9c4ce0 && git checkout -q FETCH_HEAD",
    ),
    "scatter": Package("torch_scatter==2.1.2", "csrc/*.cpp csrc/cpu/*.cpp", "csrc"),
    "cluster": Package("torch_cluster==1.6.3", "csrc/*.cpp csrc/cpu/*.cpp", "csrc"),
    "spline-conv": Package("torch_spline_conv==1.2.2", "csrc/*.cpp csrc/cpu/*.cpp", "csrc"),
    "sparse": Package(
        "torch_sparse==0.6.18", "csrc/*.cpp csrc/cpu/*.cpp", "csrc third_party/parallel-hashmap"
    ),
    "pyg-lib": Package(
        "https://github.com/pyg-team/pyg-lib",
        "pyg_lib/csrc/*.cpp pyg_lib/csrc/*/*.cpp pyg_lib/csrc/*/autograd/*.cpp pyg_lib/csrc/*/cpu/*.cpp",
        ". third_party/parallel-hashmap",
        prepare="cd pyg_lib/csrc && sed 's/@WITH_MKL_BLAS@/0/; s/@NO_METIS@/1/' config.h.in > config.h",
    ),
    "pytorch3d": Package(
        "https://github.com/facebookresearch/pytorch3d",
        "pytorch3d/csrc/*.cpp pytorch3d/csrc/*/*.cpp pytorch3d/csrc/*/*/*.cpp",
        "pytorch3d/csrc",
        "_C",
    ),
    "detectron2": Package(
        "https://github.com/facebookresearch/detectron2",
        "detectron2/layers/csrc/*.cpp detectron2/layers/csrc/*/*.cpp",
        "detectron2/layers/csrc",
    ),
    "mmcv": Package(
        "https://github.com/open-mmlab/mmcv",
        "mmcv/ops/csrc/pytorch/*.cpp mmcv/ops/csrc/pytorch/cpu/*.cpp",
        "mmcv/ops/csrc/common mmcv/ops/csrc/pytorch",
        "_ext",
    ),
    "points-kernels": Package(
        "https://github.com/torch-points3d/torch-points-kernels", "cpu/src/*.cpp", "cpu/include", "points_cpu"
    ),
    "torchsparse": Package(
        "https://github.com/mit-han-lab/torchsparse",
        "torchsparse/backend/*.cpp torchsparse/backend/*/*_cpu.cpp",
        "torchsparse/backend sparsehash/src",
        "backend",
        "git clone -q --depth 1 https://github.com/sparsehash/sparsehash && cd sparsehash && ./configure -q "
        "&& make -s src/sparsehash/internal/sparseconfig.h",
    ),
    # For PyTorch's stable headers alone. The parts without FFmpeg.
    "torchcodec": Package(
        "https://github.com/meta-pytorch/torchcodec",
        " ".join(
            f"src/torchcodec/_core/{name}"
            for name in ("Decode*.cpp", "Encode*.cpp", "FileIO.cpp", "image_custom_ops.cpp", "giflib/*.c")
        ),
        "src/torchcodec/_core/giflib",
        flags="-std=c++20 -DTORCHCODEC_ENABLE_GIF=1",
    ),
    "maskrcnn-benchmark": Package(  # written for PyTorch 1.0
        "https://github.com/facebookresearch/maskrcnn-benchmark",
        "maskrcnn_benchmark/csrc/*.cpp maskrcnn_benchmark/csrc/cpu/*.cpp",
        "maskrcnn_benchmark/csrc",
        "_C",
    ),
    "torchsearchsorted": Package(
        "https://github.com/aliutkus/torchsearchsorted", "src/cpu/*.cpp", "src/cpu", "cpu"
    ),
    "fast-transformers": Package(
        "https://github.com/idiap/fast-transformers",
        "fast_transformers/causal_product/causal_product_cpu.cpp",
        module="causal_product_cpu",
    ),
    "monai": Package(
        "https://github.com/Project-MONAI/MONAI",
        "monai/csrc/*.cpp monai/csrc/*/*.cpp monai/csrc/*/*/*.cpp",
        "monai/csrc",
        "_C",
    ),
    "fairseq": Package("fairseq==0.12.2", "fairseq/clib/*/*.cpp", "fairseq/clib"),
}
