"""Modules whose variables are settings."""

import os
import pickle
import sys
import unittest.mock

import pytest

from tl_core.settings import config_module
from tl_core.settings.config_module import Config, install_config_module

SOURCE = """
import os
from typing import Any, Optional
from tl_core.settings.config_module import Config, install_config_module
import sys

depth: int = 3
rate = 0.5
maybe: Optional[bool] = None
names = ["a"]
# @compile_ignored: it changes nothing that is computed
shown = True
_hidden = 1
cached_here = 2
switch: Any = Config(default=True, justknob="some:switch")
usual: Any = Config(default=False, env_name_default="TL_TEST_USUAL", value_type=bool)
forced: Any = Config(default=1, env_name_force=["TL_TEST_NOT_THERE", "TL_TEST_FORCED"])
_save_config_ignore = ["rate"]
_cache_config_ignore_prefix = ["cached"]

class inner:
    width = 8
    class deeper:
        flag = False

other: Any = Config(alias="settings_of_test.depth")

def helper():
    return depth

install_config_module(sys.modules[__name__])
"""


@pytest.fixture
def settings(tmp_path, monkeypatch):
    (tmp_path / "settings_of_test.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("TL_TEST_USUAL", "1")
    monkeypatch.setenv("TL_TEST_FORCED", "seven")
    import settings_of_test

    yield settings_of_test
    del sys.modules["settings_of_test"]


def test_values_come_from_defaults_programs_and_the_environment(settings):
    assert (settings.depth, settings.rate, settings.maybe, settings.names) == (3, 0.5, None, ["a"])
    assert settings.switch is True and settings.usual is True and settings.forced == "seven"
    assert settings.inner.width == 8 and settings.inner.deeper.flag is False
    settings.depth, settings.usual, settings.forced, settings.inner.deeper.flag = 4, False, 2, True
    assert settings.depth == 4 and settings.usual is False and settings.forced == "seven"
    assert settings.inner.deeper.flag is True and settings.to_dict()["inner.deeper.flag"] is True
    assert settings.get_type("depth") is int and settings.get_type("usual") is bool
    for act in (
        lambda: settings.missing,
        lambda: setattr(settings, "missing", 1),
        lambda: settings.get_type("x"),
    ):
        with pytest.raises(AttributeError, match="does not exist"):
            act()
    with pytest.raises(AttributeError, match=r"inner\.missing"):
        settings.inner.missing  # noqa: B018


def test_containers_change_without_their_defaults(settings):
    settings.names.append("b")
    assert settings.names == ["a", "b"] and not settings._is_default("names")
    choice = settings.to_dict()
    choice["names"].append("c")
    assert settings.names == ["a", "b"]
    lines = settings.codegen_config().splitlines()
    assert lines[0] == "settings_of_test.names = ['a', 'b']" and len(lines) == 3, (
        "and two from the environment"
    )


def test_settings_are_saved_and_compared(settings):
    saved = settings.save_config()
    assert "rate" not in pickle.loads(saved) and pickle.loads(saved)["depth"] == 3
    portable = settings.save_config_portable()
    assert not {"_hidden", "cached_here"} & set(portable) and portable["inner.width"] == 8
    before = settings.get_hash()
    settings.shown = False
    assert settings.get_hash() == before, "marked as ignored"
    settings.depth = 9
    assert settings.get_hash() != before
    settings.load_config(saved)
    assert settings.depth == 3 and settings.shown is True and settings.get_hash() == before
    settings.load_config({"depth": 5, "unknown": 1})
    assert settings.depth == 5


def test_settings_are_patched(settings):
    with settings.patch("depth", 1):
        assert settings.depth == 1
        with settings.patch({"depth": 2}, rate=0.1):
            assert (settings.depth, settings.rate) == (2, 0.1)
        assert (settings.depth, settings.rate) == (1, 0.5)
    assert settings.depth == 3

    @settings.patch(depth=7)
    def within():
        return settings.depth

    @settings.patch(depth=8)
    class Tests:
        def test_it(self):
            return settings.depth

        def other(self):
            return settings.depth

    assert (within(), Tests().test_it(), Tests().other()) == (7, 8, 3)
    revert = settings._make_closure_patcher(depth=6)()
    assert settings.depth == 6
    revert()
    assert settings.depth == 3
    with unittest.mock.patch("settings_of_test.depth", 11):
        assert settings.depth == 11
    assert settings.depth == 3
    with pytest.raises(AssertionError, match="missing"):
        settings.patch("missing")


def test_an_alias_stands_for_another(settings):
    assert settings.other == 3
    settings.other = 4
    assert settings.depth == 4 and "other" not in settings.to_dict()


def test_what_makes_no_sense_is_refused():
    with pytest.raises(AssertionError, match="bad is not a boolean"):
        Config(default="bad", justknob="some:switch")
    with pytest.raises(AssertionError, match="alias"):
        Config(default=1, alias="a.b")
    with pytest.raises(NotImplementedError, match="install_config_module"):
        config_module.ConfigModule()


def test_a_module_without_a_file_has_settings(monkeypatch):
    module = type(os)("made")
    module.size, module.os = 1, os
    install_config_module(module)
    assert module.size == 1 and module.os is os and module.get_hash()
    monkeypatch.setenv("TL_TEST_WORD", "0")
    assert config_module.get_tristate_env("TL_TEST_WORD", True) is False
    assert config_module.get_tristate_env("TL_TEST_NOT_THERE") is None
