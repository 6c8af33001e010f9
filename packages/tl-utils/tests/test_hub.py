"""Downloads, archives, trust and entry points; the server is on the loopback."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import tl_checkpoint
import tl_core
from tl_utils import hub
from tl_utils.hub import archives, downloads, github, trust

HUBCONF = """
import helper
dependencies = ["os"]
def model(size=2, *, scale=1):
    "A small model."
    return [helper.VALUE * scale] * size
def _hidden(): pass
number = 3
"""


def archive(files, root="owner-name-abc/"):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as zipped:
        for name, text in files.items():
            zipped.writestr(name if isinstance(name, zipfile.ZipInfo) else root + name, text)
    return data.getvalue()


class Site:
    """What the server has, what it was asked, and how it misbehaves."""

    def __init__(self):
        self.files, self.asked = {}, []
        self.cut = {}  # path -> after how many bytes the connection ends, the first times
        self.ranges = True


@pytest.fixture
def site(monkeypatch, tmp_path):
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def do_GET(self):
            site.asked.append((self.path, dict(self.headers)))
            body = site.files.get(self.path)
            if body is None:
                self.send_error(404)
                return
            request = self.headers.get("Range")
            first = int(request.removeprefix("bytes=").rstrip("-")) if request and site.ranges else 0
            self.send_response(206 if first else 200)
            self.send_header("Content-Length", str(len(body) - first))
            self.send_header("ETag", '"1"')
            self.end_headers()
            cuts = site.cut.get(self.path, [])
            self.wfile.write(body[first : first + cuts.pop(0)] if cuts else body[first:])

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    monkeypatch.setattr(github, "SITE", site.url)
    monkeypatch.setattr(github, "API", f"{site.url}/api")
    monkeypatch.setattr(hub.directories, "_hub_dir", str(tmp_path / "hub"))
    yield site
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def repository(site):
    site.files |= {
        "/owner/name/tree/main/": b"",
        "/owner/name/zipball/main": archive({"hubconf.py": HUBCONF, "helper.py": "VALUE = 7"}),
        "/api/repos/owner/name/branches?per_page=100&page=1": b'[{"name": "main", "commit": {"sha": "abc"}}]',
        "/api/repos/owner/name/branches?per_page=100&page=2": b"[]",
        "/api/repos/owner/name/tags?per_page=100&page=1": b"[]",
    }
    yield site
    sys.modules.pop("helper", None)


def kept(folder):
    return sorted(p.name for p in folder.rglob("*"))


def test_a_download_and_its_hash(site, tmp_path):
    site.files["/a"] = body = os.urandom(3_000_000)
    digest = hashlib.sha256(body).hexdigest()
    hub.download_url_to_file(f"{site.url}/a", str(tmp_path / "a"), hash_prefix=digest[:8], progress=False)
    assert (tmp_path / "a").read_bytes() == body
    (tmp_path / "other").touch()
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "other").stat().st_mode
    with pytest.raises(RuntimeError, match='invalid hash value \\(expected "00000000"'):
        hub.download_url_to_file(f"{site.url}/a", str(tmp_path / "b"), hash_prefix="00000000", progress=False)
    assert kept(tmp_path) == ["a", "other"]


@pytest.mark.parametrize("ranges", [True, False])
def test_broken_connections_are_resumed(site, tmp_path, ranges):
    site.files["/a"] = body = os.urandom(100_000)
    site.cut["/a"], site.ranges = [40_000, 30_000], ranges
    hub.download_url_to_file(f"{site.url}/a", str(tmp_path / "a"), progress=False)
    assert (tmp_path / "a").read_bytes() == body
    ranges_asked = [headers.get("Range") for _, headers in site.asked]
    assert ranges_asked == [None, "bytes=40000-", "bytes=70000-" if ranges else "bytes=30000-"]
    assert site.asked[1][1]["If-Range"] == '"1"'


def test_failed_downloads_leave_nothing(site, tmp_path):
    target = tmp_path / "a"
    target.write_text("old")
    site.files["/a"], site.cut["/a"] = bytes(1000), [500] + [0] * 10
    for path, message in (("/a", "500 of 1000 bytes"), ("/missing", "404")):
        with pytest.raises(OSError, match=message):
            hub.download_url_to_file(f"{site.url}{path}", str(target), progress=False)
    with pytest.raises(OSError, match="refused"):
        hub.download_url_to_file("http://127.0.0.1:1/a", str(target), progress=False)
    with pytest.raises(ValueError, match="must begin with"):
        hub.download_url_to_file("ftp://127.0.0.1/a", str(target), progress=False)
    assert kept(tmp_path) == ["a"]
    assert target.read_text() == "old"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_disk(site, tmp_path, monkeypatch):
    site.files["/a"] = bytes(1000)
    plain = os.fdopen
    monkeypatch.setattr(
        downloads.os,
        "fdopen",
        lambda fd, mode: (os.close(fd), plain(os.open("/dev/full", os.O_WRONLY), mode))[1],
    )
    with pytest.raises(OSError, match="no room for the download"):
        hub.download_url_to_file(f"{site.url}/a", str(tmp_path / "a"), progress=False)
    assert kept(tmp_path) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="set_dir"):
        hub.download_url_to_file("http://127.0.0.1:1/a", str(tmp_path / "a"))


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="can't make the folder"):
        hub.download_url_to_file("http://127.0.0.1:1/a", str(tmp_path / "file" / "a"))


def test_the_folder_of_downloads(monkeypatch):
    monkeypatch.setattr(hub.directories, "_hub_dir", None)
    monkeypatch.delenv("TORCH_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert hub.get_dir() == "/cache/torch/hub"
    monkeypatch.setenv("TORCH_HOME", "/home")
    assert hub.get_dir() == "/home/hub"
    hub.set_dir("~/x")
    assert hub.get_dir() == os.path.expanduser("~/x")


def test_entry_points_of_a_repository(repository, capsys):
    assert hub.list("owner/name", trust_repo=True) == ["model"]
    assert hub.help("owner/name", "model") == "A small model."
    assert hub.load("owner/name", "model", 3, scale=2) == [14, 14, 14]
    assert "Using cache" in capsys.readouterr().err
    assert sum("zipball" in path for path, _ in repository.asked) == 1
    hub.load("owner/name:main", "model", force_reload=True, skip_validation=True, verbose=False)
    assert sum("zipball" in path for path, _ in repository.asked) == 2
    assert not any(p.startswith(".") for p in os.listdir(hub.get_dir()))
    assert not any("owner_name" in p for p in sys.path)
    for name, message in (
        ("_x", "Cannot find callable _x in hubconf; there are: model"),
        ("number", "number"),
    ):
        with pytest.raises(RuntimeError, match=message):
            hub.load("owner/name", name)


def test_references(repository, monkeypatch):
    assert github.parse("owner/name:a/b").folder == "owner_name_a_b"
    assert github.parse("owner/other").ref == "master"
    for wrong in ("owner", "a/b/c", "../x", "a/..", "a/b:../c", "", "a/b:"):
        if wrong != "a/b:":
            with pytest.raises(ValueError, match="expected owner/name"):
                github.parse(wrong)
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    with pytest.raises(ValueError, match="If it's a commit from a forked repo"):
        hub.load("owner/name:fork", "model", trust_repo=True)
    assert repository.asked[-1][1]["Authorization"] == "token secret"


def test_without_a_connection(tmp_path, monkeypatch):
    monkeypatch.setattr(github, "SITE", "http://127.0.0.1:1")
    monkeypatch.setattr(hub.directories, "_hub_dir", str(tmp_path))
    with pytest.raises(RuntimeError, match="no connection"):
        github.parse("owner/name")
    (tmp_path / "owner_name_master").mkdir()
    assert github.parse("owner/name").ref == "master"


def trusted():
    with open(os.path.join(hub.get_dir(), "trusted_list")) as file:
        return file.read().split()


@pytest.mark.parametrize(
    ("answer", "error"),
    [("", trust.UntrustedRepository), ("no", trust.UntrustedRepository), ("x", ValueError)],
)
def test_a_refusal(repository, monkeypatch, answer, error):
    monkeypatch.setattr("builtins.input", lambda question: answer)
    for way in (False, "check"):
        with pytest.raises(error):
            hub.load("owner/name", "model", trust_repo=way)
    assert trusted() == []
    assert not any("zipball" in path for path, _ in repository.asked)


def test_an_agreement_is_remembered(repository, monkeypatch):
    request = []
    monkeypatch.setattr("builtins.input", lambda question: request.append(question) or "y")
    hub.load("owner/name", "model", trust_repo="check")
    assert trusted() == ["owner_name"]
    hub.load("owner/name", "model", trust_repo="check")
    assert len(request) == 1
    hub.load("owner/name", "model", trust_repo=False)
    assert len(request) == 2
    os.remove(os.path.join(hub.get_dir(), "trusted_list"))
    hub.load("owner/name", "model", trust_repo="check")
    assert trusted() == []
    with pytest.raises(ValueError, match="trust_repo must be"):
        hub.load("owner/name", "model", trust_repo="yes")


def test_nobody_to_ask_and_the_old_way(repository, monkeypatch):
    def nobody(question):
        raise EOFError

    monkeypatch.setattr("builtins.input", nobody)
    with pytest.raises(trust.UntrustedRepository, match="nobody to ask"):
        hub.load("owner/name", "model")
    with pytest.warns(
        UserWarning, match="You are about to download and run code from an untrusted repository"
    ):
        hub.load("owner/name", "model", trust_repo=None)
    assert trusted() == []


def link():
    member = zipfile.ZipInfo("root/link")
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    return member


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (archive({"../../evil": "x"}), "outside its folder"),
        (archive({"..\\evil": "x"}), "outside its folder"),
        (archive({"/evil": "x"}, root=""), "outside its folder"),
        (archive({"C:/evil": "x"}, root=""), "outside its folder"),
        (archive({link(): "/etc/passwd"}), "a link or special file"),
        (archive({"a/x": "x", "b/x": "y"}, root=""), "one folder"),
        (b"no archive", "no ZIP archive"),
        (archive({"a": "x" * 100})[:-30], "no ZIP archive"),
    ],
)
def test_bad_archives_write_nothing(repository, tmp_path, body, message):
    repository.files["/owner/name/zipball/main"] = body
    with pytest.raises(ValueError, match=message):
        hub.load("owner/name", "model", trust_repo=True)
    assert kept(tmp_path) == ["hub", "trusted_list"]


def test_an_archive_larger_than_the_disk(tmp_path, monkeypatch):
    (tmp_path / "a.zip").write_bytes(archive({"a": bytes(1000)}))
    monkeypatch.setattr(
        archives.shutil, "disk_usage", lambda path: os.terminal_size((1, 1)) and type("U", (), {"free": 10})
    )
    with pytest.raises(OSError, match="1000 bytes"):
        archives.unpack(tmp_path / "a.zip", tmp_path / "target")
    assert kept(tmp_path) == ["a.zip"]


def test_local_folders(tmp_path):
    (tmp_path / "hubconf.py").write_text("dependencies = ['no_such_package']\ndef model(): return 1\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        hub.load(str(tmp_path), "model", source="local")
    with pytest.raises(FileNotFoundError, match="hubconf"):
        hub.load(str(tmp_path / "none"), "model", source="local")
    with pytest.raises(ValueError, match="'github' or 'local'"):
        hub.load(str(tmp_path), "model", source="gitlab")


@pytest.fixture
def weights(site, tmp_path):
    tl_checkpoint.save({"w": tl_core.arange(3)}, tmp_path / "w.pt")
    body = (tmp_path / "w.pt").read_bytes()
    site.name = f"w-{hashlib.sha256(body).hexdigest()[:8]}.pt"
    site.files[f"/{site.name}"] = body
    site.files["/w-00000000.pt"] = body
    return site


def test_weights(weights, tmp_path):
    folder = str(tmp_path / "kept")
    for name in (None, "named"):
        state = hub.load_state_dict_from_url(
            f"{weights.url}/{weights.name}", folder, check_hash=True, progress=False, file_name=name
        )
        assert state["w"].tolist() == [0, 1, 2]
    assert kept(tmp_path / "kept") == ["named", weights.name]
    hub.load_state_dict_from_url(f"{weights.url}/{weights.name}", folder)
    assert len(weights.asked) == 2
    with pytest.raises(RuntimeError, match="invalid hash"):
        hub.load_state_dict_from_url(f"{weights.url}/w-00000000.pt", folder, check_hash=True, progress=False)
    for name in ("../x", "/x", ""):
        with pytest.raises(ValueError, match="can't be named"):
            hub.load_state_dict_from_url(f"{weights.url}/{weights.name}", folder, file_name=name)
    assert len(os.listdir(folder)) == 2


class Evil:
    def __reduce__(self):
        return os.getcwd, ()


def test_weights_are_no_code(site, tmp_path):
    tl_checkpoint.save({"w": Evil()}, tmp_path / "saved")
    site.files["/evil.pt"] = (tmp_path / "saved").read_bytes()
    with pytest.raises(Exception, match="getcwd"):
        hub.load_state_dict_from_url(f"{site.url}/evil.pt", str(tmp_path), progress=False)


def test_weights_in_an_archive(weights, tmp_path):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as zipped:
        zipped.writestr("w.pt", (tmp_path / "w.pt").read_bytes())
    weights.files["/old.zip"] = data.getvalue()
    with pytest.warns(UserWarning, match="default zipfile format"):
        state = hub.load_state_dict_from_url(f"{weights.url}/old.zip", str(tmp_path / "k"), progress=False)
    assert state["w"].tolist() == [0, 1, 2]
    assert kept(tmp_path / "k") == ["old.zip"]


def test_a_progress_bar_for_everybody(site, tmp_path, monkeypatch, capsys):
    site.files["/a"] = bytes(1000)
    hub.download_url_to_file(f"{site.url}/a", str(tmp_path / "a"))
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.delitem(sys.modules, "tl_utils.hub.progress", raising=False)
    capsys.readouterr()
    hub.download_url_to_file(f"{site.url}/a", str(tmp_path / "b"))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    hub.download_url_to_file(f"{site.url}/a", str(tmp_path / "c"))
    assert "100.0%" in capsys.readouterr().err
