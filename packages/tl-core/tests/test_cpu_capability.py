"""The environment variables that lower the instruction set."""

import os
import subprocess
import sys

import pytest

import tl_core as tl

LEVELS = ("DEFAULT", "AVX2", "AVX512")


def capability(**variables):
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_CPU_CAPABILITY")} | variables
    command = [sys.executable, "-c", "import tl_core; print(tl_core.cpu_capability())"]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return process.stdout.strip(), process.stderr


def at_most(level):
    """The level, or what the processor has if that is less."""
    has = capability()[0]
    return LEVELS[min(LEVELS.index(level), LEVELS.index(has))]


@pytest.mark.parametrize("variable", ["TL_CPU_CAPABILITY", "ATEN_CPU_CAPABILITY"])
@pytest.mark.parametrize("level", ["default", "DEFAULT", "Default", "avx2", "AVX2", "avx512", "AVX512"])
def test_capitals_and_small_letters(variable, level):
    assert capability(**{variable: level}) == (at_most(level.upper()), "")


def test_the_lower_of_both_counts():
    assert capability(TL_CPU_CAPABILITY="AVX2", ATEN_CPU_CAPABILITY="default")[0] == "DEFAULT"


@pytest.mark.parametrize("text", ["avx", "AVX3", "sse", "avx2 "])
def test_what_is_no_level_is_said_and_ignored(text):
    result, message = capability(TL_CPU_CAPABILITY=text)
    assert result == capability()[0] == tl.cpu_capability() or "TL_CPU_CAPABILITY" in os.environ
    assert message == f'tl: TL_CPU_CAPABILITY must be default, avx2 or avx512; ignoring "{text}"\n'
