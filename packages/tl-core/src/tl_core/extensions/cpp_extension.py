"""Extensions in C++ against tl's headers: built by setuptools, or when a program runs.

The headers are `tl/c_api.h` in C, `tl/tl.hpp` over it in C++, and the headers under PyTorch's names, such as
`torch/extension.h`, for sources that are written for PyTorch.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from tl_core.extensions import build_job, requirements, stable_abi
from tl_core.extensions.headers import get_include

if TYPE_CHECKING:

    class BuildExtension:
        """See `__getattr__`.

        Example:
            >>> from tl_core.extensions import cpp_extension
            >>> cpp_extension.BuildExtension.__name__
            'BuildExtension'
        """

        @classmethod
        def with_options(cls, **options: Any) -> Any: ...


__all__ = [
    "BuildExtension",
    "CUDAExtension",
    "CppExtension",
    "SyclExtension",
    "check_compiler_ok_for_platform",
    "get_compiler_abi_compatibility_and_version",
    "get_cxx_compiler",
    "get_default_build_root",
    "include_paths",
    "is_ninja_available",
    "library_paths",
    "load",
    "load_inline",
    "remove_extension_h_precompiler_headers",
    "verify_ninja_availability",
]

CUDA_HOME = ROCM_HOME = HIP_HOME = CUDNN_HOME = SYCL_HOME = None
IS_HIP_EXTENSION = IS_WINDOWS = IS_MACOS = False
IS_LINUX = True
STANDARD = "-std=c++17"
_MINIMUM = {"g++": (9, 0), "clang++": (11, 0)}


# ---- the compiler ---------------------------------------------------------------------------------------------------
def get_cxx_compiler() -> str:
    """The compiler of C++: what the environment variable `CXX` says, or `c++`.

    Example:
        >>> isinstance(get_cxx_compiler(), str)
        True
    """
    return os.environ.get("CXX", "c++")


def check_compiler_ok_for_platform(compiler: str) -> bool:
    """Whether a compiler is there and is GCC's or LLVM's.

    Args:
        compiler: its command.

    Example:
        >>> from tl_core.extensions import cpp_extension
        >>> cpp_extension.check_compiler_ok_for_platform("no-such-compiler")
        False
    """
    if shutil.which(compiler) is None:
        return False
    text = _output([compiler, "--version"])
    return any(word in text for word in ("g++", "gcc", "GCC", "clang", "Free Software Foundation"))


def get_compiler_abi_compatibility_and_version(compiler: str) -> tuple[bool, str]:
    """(whether what a compiler makes can be loaded into tl, the compiler's version).

    Args:
        compiler: its command.

    Example:
        >>> get_compiler_abi_compatibility_and_version("no compiler at all")
        (False, '0.0.0')
    """
    if not check_compiler_ok_for_platform(compiler):
        return False, "0.0.0"
    text = _output([compiler, "-dumpfullversion", "-dumpversion"])
    match = re.search(r"\d+(\.\d+)*", text)
    version = match[0] if match else "0.0.0"
    numbers = tuple(map(int, version.split(".")))
    least = _MINIMUM["clang++" if "clang" in _output([compiler, "--version"]) else "g++"]
    return numbers >= least, version


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def is_ninja_available() -> bool:
    """Whether the build tool ninja is installed. tl builds without it.

    Example:
        >>> is_ninja_available() in (True, False)
        True
    """
    return shutil.which("ninja") is not None


def verify_ninja_availability() -> None:
    """Raises RuntimeError if the build tool ninja is not installed.

    Example:
        >>> from tl_core.extensions import cpp_extension
        >>> cpp_extension.verify_ninja_availability()  # doctest: +SKIP
    """
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")


# ---- paths ----------------------------------------------------------------------------------------------------------
def _only_cpu(device_type: str) -> None:
    if device_type != "cpu":
        raise RuntimeError(
            f"tl has no headers or libraries for {device_type!r}: extensions are built for 'cpu'"
        )


def include_paths(device_type: str = "cpu", torch_include_dirs: bool = True) -> list[str]:
    """The folders of headers that an extension is compiled with.

    Args:
        device_type: "cpu".
        torch_include_dirs: whether tl's own are among them.

    Raises:
        RuntimeError: it is another.

    Example:
        >>> from pathlib import Path
        >>> any((Path(folder) / "tl" / "tl.hpp").exists() for folder in include_paths())
        True
    """
    _only_cpu(device_type)
    return [get_include()] if torch_include_dirs else []


def library_paths(device_type: str = "cpu") -> list[str]:
    """The folders of libraries that an extension is linked with: none, as it asks the core for a table of functions.

    Args:
        device_type: "cpu".

    Example:
        >>> from tl_core.extensions import cpp_extension
        >>> cpp_extension.library_paths()
        []
    """
    _only_cpu(device_type)
    return []


def get_default_build_root() -> str:
    """The folder below which `load` builds, each extension in a folder of its own.

    Example:
        >>> get_default_build_root().endswith("torch_extensions")
        True
    """
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return str(Path(cache) / "torch_extensions")


def remove_extension_h_precompiler_headers() -> None:
    """Does nothing: no headers are compiled ahead.

    Example:
        >>> from tl_core.extensions import cpp_extension
        >>> cpp_extension.remove_extension_h_precompiler_headers()
    """


def _build_folder(name: str, build_directory: str | None) -> Path:
    if build_directory is not None:
        if not Path(build_directory).is_dir():
            raise OSError(f"build_directory does not exist: {build_directory}")
        return Path(build_directory)
    root = os.environ.get("TORCH_EXTENSIONS_DIR")
    version = f"py{sys.version_info.major}{sys.version_info.minor}_cpu"
    folder = (Path(root) if root else Path(get_default_build_root()) / version) / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


# ---- setuptools -----------------------------------------------------------------------------------------------------
def CppExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> Any:
    """A `setuptools.Extension` with the folders of tl's headers.

    Args:
        name: the module's name.
        sources: the source files.
        *args: further arguments of `setuptools.Extension`.
        **kwargs: those by keyword.

    Example:
        >>> CppExtension("mine", ["mine.cpp"]).language
        'c++'
    """
    setuptools: Any = importlib.import_module("setuptools")
    kwargs["include_dirs"] = [*kwargs.get("include_dirs", []), *include_paths(), *_pybind_include()]
    kwargs["language"] = "c++"
    return setuptools.Extension(name, list(sources), *args, **kwargs)


def _refuse(what: str) -> NoReturn:
    raise RuntimeError(f"{what} cannot be built: tl computes on CPUs and has no headers of CUDA or SYCL")


def CUDAExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError: tl has no CUDA.

    Args:
        name: the module's name.
        sources: the source files.
        *args: further arguments.
        **kwargs: those by keyword.

    Example:
        >>> from tl_core.extensions import cpp_extension
        >>> try:
        ...     cpp_extension.CUDAExtension("kernels", ["kernels.cu"])
        ... except RuntimeError:
        ...     print("no CUDA")
        ...
        no CUDA
    """
    _refuse(f"the CUDA extension {name!r}")


def SyclExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> NoReturn:
    """Raises RuntimeError: tl has no SYCL.

    Args:
        name: the module's name.
        sources: the source files.
        *args: further arguments.
        **kwargs: those by keyword.

    Example:
        >>> from tl_core.extensions import cpp_extension
        >>> try:
        ...     cpp_extension.SyclExtension("kernels", ["kernels.sycl"])
        ... except RuntimeError:
        ...     print("no SYCL")
        ...
        no SYCL
    """
    _refuse(f"the SYCL extension {name!r}")


def _pybind_include() -> list[str]:
    if importlib.util.find_spec("pybind11") is None:
        return []
    import pybind11

    return [pybind11.get_include()]


def _build_extension_class() -> type:
    build_ext: Any = importlib.import_module("setuptools.command.build_ext").build_ext

    class BuildExtension(build_ext):
        """`setuptools`' command `build_ext` with the flags that extensions of tl need.

        `extra_compile_args` may be a dictionary: its entry `cxx` has the flags of C++.
        """

        _options: dict[str, Any] = {}  # noqa: RUF012

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)

        @classmethod
        def with_options(cls, **options: Any) -> type:
            """The command with options: `use_ninja`, `no_python_abi_suffix`.

            Args:
                **options: the options.
            """
            return type(cls.__name__, (cls,), {"_options": options})

        def finalize_options(self) -> None:
            """Adds the version of tl-core that the extensions need to the requirements of the distribution."""
            super().finalize_options()
            for extension in self.extensions or []:
                flags = extension.extra_compile_args or []
                listed = list(flags.get("cxx", [])) if isinstance(flags, Mapping) else list(flags)
                needed = requirements.requirement(list(extension.define_macros), listed)
                requirements.add_requirement(self.distribution, needed)

        def build_extensions(self) -> None:
            """Builds all extensions."""
            compiler = get_cxx_compiler()
            if not check_compiler_ok_for_platform(compiler):
                raise RuntimeError(
                    f"extensions need GCC or Clang; CXX says {compiler!r}, which is not there or another"
                )
            for extension in self.extensions:
                _complete(extension)
            self.compiler.compile = functools.partial(_compile_out_of_date, self.compiler, self.distribution)
            super().build_extensions()

        def get_ext_filename(self, fullname: str) -> str:
            """The file of an extension, without the part about Python where `no_python_abi_suffix` is set.

            Args:
                fullname: the extension's name.
            """
            name = super().get_ext_filename(fullname)
            if not self._options.get("no_python_abi_suffix"):
                return name
            first, *_, last = name.split(".")
            return f"{first}.{last}"

    return BuildExtension


def _compile_out_of_date(
    compiler: Any,
    distribution: Any,
    sources: Sequence[str],
    output_dir: str | None = None,
    macros: Any = None,
    include_dirs: Sequence[str] | None = None,
    debug: bool = False,
    extra_preargs: Sequence[str] | None = None,
    extra_postargs: Sequence[str] | None = None,
    depends: Sequence[str] | None = None,
) -> list[str]:
    """In the place of setuptools' `compile`: several files at once, and those alone whose headers changed."""
    _, objects, flags, options, _ = compiler._setup_compile(
        output_dir, macros, include_dirs, sources, depends, extra_postargs
    )
    command = [*_cxx_command(compiler), *compiler._get_cc_args(options, debug, extra_preargs), *flags]
    steps = []
    for source, output in zip(sources, objects, strict=True):
        Path(output).parent.mkdir(parents=True, exist_ok=True)
        steps.append(build_job.Step(command, Path(source), Path(output)))
    build_job.compile_all(distribution.get_name(), steps, bool(getattr(distribution, "verbose", 0)))
    return list(objects)


def _cxx_command(compiler: Any) -> list[str]:
    """The compiler of C++, with the flags that setuptools has for extensions."""
    flags = list(compiler.compiler_so[1:])
    return [*get_cxx_compiler().split(), *(f for f in flags if f not in ("-Wstrict-prototypes",))]


def _complete(extension: Any) -> None:
    flags = extension.extra_compile_args
    if isinstance(flags, Mapping):  # those of CUDA's compiler concern no file
        flags = list(flags.get("cxx", []))
    foreign = [s for s in extension.sources if Path(s).suffix in (".cu", ".sycl")]
    if foreign:
        _refuse(f"the extension {extension.name!r} with {', '.join(foreign)}")
    flags = list(flags or [])
    if getattr(extension, "py_limited_api", False) and not any("Py_LIMITED_API" in f for f in flags):
        flags.append("-DPy_LIMITED_API=0x030B0000")
    if not any(flag.startswith("-std=") for flag in flags):
        flags.append(STANDARD)
    module = extension.name.rpartition(".")[2]
    extension.extra_compile_args = [*flags, *_common_flags(module)]


def __getattr__(name: str) -> Any:
    if name == "BuildExtension":  # setuptools is loaded for it
        globals()[name] = _build_extension_class()
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# ---- when a program runs --------------------------------------------------------------------------------------------
_loaded: dict[str, tuple[str, int]] = {}  # for each name what was built, and how many times


def load(
    name: str,
    sources: str | Sequence[str],
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_sycl_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    is_standalone: bool = False,
    keep_intermediates: bool = True,
) -> Any:
    """Builds an extension from source files and loads it. What has been built from the same text is not built again.

    Args:
        name: the module's name; sources have it as the macro `TORCH_EXTENSION_NAME`.
        sources: the files, one or several.
        extra_cflags: further flags of the compiler.
        extra_cuda_cflags: no use is made of them.
        extra_sycl_cflags: no use is made of them.
        extra_ldflags: further flags of the linker.
        extra_include_paths: further folders of headers.
        build_directory: where to build; by default a folder below that of the environment variable
            `TORCH_EXTENSIONS_DIR`, or of `get_default_build_root`.
        verbose: whether the commands are printed.
        with_cuda: whether it needs CUDA, which raises.
        with_sycl: whether it needs SYCL, which raises.
        is_python_module: whether the library is a module of Python, which is returned.
        is_standalone: whether a program is built in place of a library; its path is returned.
        keep_intermediates: whether object files stay.

    Returns:
        The module; None for a library that is none; the program's path.

    Raises:
        RuntimeError: it cannot be built; the message has what the compiler says.

    Example:
        >>> from tl_core.extensions import cpp_extension
        >>> module = cpp_extension.load("sums", ["sums.cpp"])  # doctest: +SKIP
    """
    files = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    foreign = [str(f) for f in files if Path(f).suffix in (".cu", ".cuh", ".sycl")]
    if foreign or with_cuda or with_sycl:
        _refuse(f"the extension {name!r} with {', '.join(foreign) or 'CUDA or SYCL'}")
    job = _Job(
        name,
        [Path(f).absolute() for f in files],
        [*(extra_cflags or []), *(f"-I{folder}" for folder in extra_include_paths or [])],
        list(extra_ldflags or []),
        _build_folder(name, build_directory),
        verbose,
        "program" if is_standalone else "module" if is_python_module else "library",
    )
    target = job.build(keep_intermediates)
    if is_standalone:
        return str(target)
    if not is_python_module:
        import ctypes

        ctypes.CDLL(str(target))  # its copies of inline functions serve no other library
        stable_abi.raise_errors()  # those of its registrations
        return None
    return _import(job.module, target)


def _import(name: str, path: Path) -> ModuleType:
    if name in sys.modules and getattr(sys.modules[name], "__file__", None) == str(path):
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no extension module")
    module = importlib.util.module_from_spec(spec)
    stable_abi.raise_errors()
    spec.loader.exec_module(module)
    sys.modules[name] = module
    return module


class _Job:
    """One extension to be built."""

    def __init__(
        self,
        name: str,
        sources: list[Path],
        flags: list[str],
        link_flags: list[str],
        folder: Path,
        verbose: bool,
        kind: str,
    ) -> None:
        self.name, self.sources, self.flags, self.link_flags = name, sources, flags, link_flags
        self.folder, self.verbose, self.kind = folder, verbose, kind
        self.compiler = get_cxx_compiler()
        build_job.require_compiler(name, self.compiler)
        self.module = name

    def _digest(self) -> str:
        text = hashlib.sha256()
        for part in (self.compiler, *self.flags, *self.link_flags, self.kind, get_include()):
            text.update(part.encode() + b"\0")
        for source in self.sources:
            text.update(source.read_bytes() + b"\0")
        return text.hexdigest()

    def build(self, keep_intermediates: bool) -> Path:
        """Builds what isn't built, and returns the file.

        A module that this process has loaded cannot be replaced: another text of it gets a name of its own.
        """
        digest = self._digest()
        before, count = _loaded.get(self.name, (digest, 0))
        count += before != digest
        self.module = f"{self.name}_v{count}" if count else self.name
        suffix = "" if self.kind == "program" else ".so"
        target, stamp = self.folder / f"{self.module}{suffix}", self.folder / f"{self.module}.sha256"
        with build_job.FolderLock(self.folder):
            steps = self._steps()
            # Without its object files, the digest of the sources says whether a library is current.
            stored = stamp.read_text() if target.exists() and stamp.exists() else ""
            if stored != digest or any(s.record.exists() and not s.is_current() for s in steps):
                stamp.unlink(missing_ok=True)
                self._run(steps, target, keep_intermediates)
                stamp.write_text(digest)
        _loaded[self.name] = (digest, count)
        return target

    def _steps(self) -> list[build_job.Step]:
        includes = [*include_paths(), sysconfig.get_path("include"), *_pybind_include()]
        shared = [] if self.kind == "program" else ["-fPIC"]
        standard = [] if any(f.startswith("-std=") for f in self.flags) else [STANDARD]
        common = [self.compiler, *standard, *shared, *_common_flags(self.module)]
        common += [f"-isystem{folder}" for folder in includes] + self.flags
        return [
            build_job.Step(common, source, self.folder / f"{source.stem}_{i}.o")
            for i, source in enumerate(self.sources)
        ]

    def _run(self, steps: list[build_job.Step], target: Path, keep_intermediates: bool) -> None:
        build_job.compile_all(self.name, steps, self.verbose)
        objects = [str(step.output) for step in steps]
        shared = [] if self.kind == "program" else ["-shared"]
        build_job.link(self.name, [self.compiler, *shared, *objects, *self.link_flags], target, self.verbose)
        if not keep_intermediates:
            for step in steps:
                for file in (step.output, step.record, step.depfile):
                    file.unlink(missing_ok=True)


def _common_flags(module: str) -> list[str]:
    return ["-fvisibility=hidden", f"-DTORCH_EXTENSION_NAME={module}", "-DTORCH_API_INCLUDE_EXTENSION_H"]


def load_inline(
    name: str,
    cpp_sources: str | Sequence[str],
    cuda_sources: str | Sequence[str] | None = None,
    sycl_sources: str | Sequence[str] | None = None,
    functions: Sequence[str] | Mapping[str, str] | str | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_sycl_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    build_directory: str | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    with_pytorch_error_handling: bool = True,
    keep_intermediates: bool = True,
    use_pch: bool = False,
    no_implicit_headers: bool = False,
) -> Any:
    """Builds an extension from text and loads it.

    The text begins with `torch/extension.h` and `tl/tl.hpp`. `functions` and `torch/extension.h` need the package
    pybind11. Without pybind11, the text begins with `torch/all.h`.

    Args:
        name: the module's name.
        cpp_sources: the text, in one piece or several.
        cuda_sources: text in CUDA, which raises.
        sycl_sources: text in SYCL, which raises.
        functions: the functions to be bound; a dictionary has their docstrings.
        extra_cflags: further flags of the compiler.
        extra_cuda_cflags: no use is made of them.
        extra_sycl_cflags: no use is made of them.
        extra_ldflags: further flags of the linker.
        extra_include_paths: further folders of headers.
        build_directory: see `load`.
        verbose: whether the commands are printed.
        with_cuda: whether it needs CUDA, which raises.
        with_sycl: whether it needs SYCL, which raises.
        is_python_module: see `load`.
        with_pytorch_error_handling: has no effect: tl's errors are always Python's exceptions.
        keep_intermediates: whether object files stay.
        use_pch: has no effect: no headers are compiled ahead.
        no_implicit_headers: whether the text begins as it is, without headers.

    Returns:
        As `load`.

    Raises:
        RuntimeError: it cannot be built.
        ImportError: functions are to be bound and pybind11 is not installed.

    Example:
        >>> from tl_core.extensions import cpp_extension
        >>> source = "at::Tensor wave(at::Tensor x) { return x.sin() + 1; }"
        >>> module = cpp_extension.load_inline("wave", source, functions=["wave"])  # doctest: +SKIP
        >>> module.wave(tl.zeros(2))  # doctest: +SKIP
    """
    if cuda_sources or sycl_sources or with_cuda or with_sycl:
        _refuse(f"the extension {name!r} with CUDA or SYCL")
    parts = [cpp_sources] if isinstance(cpp_sources, str) else list(cpp_sources)
    face = "torch/extension.h" if _pybind_include() else "torch/all.h"
    head = [] if no_implicit_headers else [f"#include <{face}>", "#include <tl/tl.hpp>"]
    uses_tl = any("tl::" in part for part in parts)
    text = "\n".join([*head, *parts, *_bindings(functions, uses_tl)]) + "\n"
    folder = _build_folder(name, build_directory)
    source = folder / "main.cpp"
    if not (source.exists() and source.read_text() == text):
        source.write_text(text)
    return load(
        name,
        [str(source)],
        extra_cflags=extra_cflags,
        extra_ldflags=extra_ldflags,
        extra_include_paths=extra_include_paths,
        build_directory=str(folder),
        verbose=verbose,
        is_python_module=is_python_module,
        keep_intermediates=keep_intermediates,
    )


def _bindings(functions: Sequence[str] | Mapping[str, str] | str | None, uses_tl: bool) -> list[str]:
    if functions is None:
        return []
    if not _pybind_include():
        raise ImportError(
            "load_inline(functions=...) binds by pybind11, which is not installed: pip install pybind11"
        )
    if isinstance(functions, str):
        functions = [functions]
    docs = functions if isinstance(functions, Mapping) else {f: f for f in functions}
    lines = ["#include <torch/extension.h>", "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {"]
    if uses_tl:  # `tl::Tensor` as an argument
        lines = ["#include <tl/pybind.hpp>", *lines, "  tl::begin(m);"]
    for function, doc in docs.items():
        quoted = doc.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        lines.append(f'  m.def("{function}", &{function}, "{quoted}");')
    return [*lines, "}"]
