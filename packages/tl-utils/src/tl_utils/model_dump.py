"""`python -m tl.utils.model_dump MODEL.pt`: the contents of a saved model, as JSON or as a page for a browser.

Nothing in the file is run.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import sys
import zipfile
from typing import Any, TextIO

from tl_utils.show_pickle import DumpUnpickler, FakeClass, FakeObject

__all__ = [
    "burn_in_info",
    "get_info_and_burn_skeleton",
    "get_inline_skeleton",
    "get_model_info",
    "get_storage_info",
    "hierarchical_pickle",
    "main",
]

_EXTRA_LIMIT = 16 * 1024
_MARK = "/*MODEL*/null"

_PAGE = f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Model</title>
<style>
body {{ font: 14px/1.4 system-ui, sans-serif; margin: 2em; }}
table {{ border-collapse: collapse; }}
td, th {{ border: 1px solid #ccc; padding: 2px 8px; text-align: left; }}
td.n {{ text-align: right; }}
pre, code {{ font: 12px/1.4 ui-monospace, monospace; }}
details {{ margin-left: 1em; }}
</style>
</head>
<body>
<script>
const model = {_MARK};
const add = (parent, tag, text) => {{
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  parent.appendChild(e);
  return e;
}};
const show = (parent, value, label) => {{
  if (value === null || typeof value !== "object") {{
    add(parent, "div", (label === undefined ? "" : label + ": ") + JSON.stringify(value));
    return;
  }}
  const d = add(parent, "details"), entries = Object.entries(value);
  const kind = Array.isArray(value) ? "list" : "dict", name = label === undefined ? "" : label + ": ";
  add(d, "summary", name + kind + " of " + entries.length);
  d.addEventListener("toggle", () => {{ for (const [k, v] of entries) show(d, v, k); }}, {{ once: true }});
}};
add(document.body, "h1", model.title);
add(document.body, "p", model.file_size + " bytes, version " + model.version);
add(document.body, "h2", "Files");
const table = add(document.body, "table"), head = add(table, "tr");
for (const t of ["name", "bytes"]) add(head, "th", t);
for (const f of model.zip_files) {{
  const row = add(table, "tr");
  add(row, "td", f.filename);
  add(row, "td", f.file_size).className = "n";
}}
add(document.body, "h2", "Data");
show(document.body, model.model_data, "data");
if (Object.keys(model.extra_files_jsons).length) show(document.body, model.extra_files_jsons, "extra files");
</script>
</body>
</html>
"""


def get_storage_info(storage: FakeObject) -> list[Any]:
    """The memory of a tensor: element type, key, device and number of elements.

    Args:
        storage: the placeholder in the pickle.

    Raises:
        ValueError: it is something else.

    Example:
        >>> get_storage_info(storage)  # doctest: +SKIP
    """
    if not isinstance(storage, FakeObject) or (storage.module, storage.name) != ("pers", "obj"):
        raise ValueError(f"get_storage_info: expected the stand-in of a storage, got {storage!r}")
    pid = storage.args[0]
    if (
        not isinstance(pid, tuple)
        or len(pid) != 5
        or pid[0] != "storage"
        or not isinstance(pid[1], FakeClass)
    ):
        raise ValueError(f"get_storage_info: a storage has five parts, got {pid!r}")
    return [pid[1].name.removesuffix("Storage"), *pid[2:]]


def hierarchical_pickle(data: Any) -> Any:
    """What a pickle holds, as plain values for JSON: what JSON has not is a dictionary with the key `__...__`.

    Args:
        data: the result of `show_pickle.DumpUnpickler`.

    Example:
        >>> hierarchical_pickle({"a": (1, 2)})
        {'__is_dict__': True, 'keys': ['a'], 'values': [{'__tuple_values__': [1, 2]}]}
    """
    if data is None or isinstance(data, (bool, int, float, str)):
        return data
    if isinstance(data, list):
        return [hierarchical_pickle(x) for x in data]
    if isinstance(data, tuple):
        return {"__tuple_values__": [hierarchical_pickle(x) for x in data]}
    if isinstance(data, dict):
        keys, values = ([hierarchical_pickle(x) for x in part] for part in (data.keys(), data.values()))
        return {"__is_dict__": True, "keys": keys, "values": values}
    if isinstance(data, (bytes, set, frozenset, complex)):
        return repr(data)
    if isinstance(data, FakeClass):
        return {"__module_type__": repr(data)}
    if isinstance(data, FakeObject):
        return _object(data)
    raise TypeError(f"hierarchical_pickle: a pickle can't hold a {type(data).__name__}")


def _object(data: FakeObject) -> Any:
    name = f"{data.module}.{data.name}"
    if name == "pers.obj":
        return {"__storage__": get_storage_info(data)}
    if re.fullmatch(r"torch\._utils\._rebuild_tensor(_v2)?", name):
        storage, offset, size, stride, requires_grad = data.args[:5]
        parts = [get_storage_info(storage), offset, list(size), list(stride), requires_grad]
        return {"__tensor_v2__": parts}
    state = hierarchical_pickle(data.state) if data.state is not None else None
    if name == "collections.OrderedDict":
        items = [item for item in data.items if isinstance(item, tuple) and len(item) == 2]
        return hierarchical_pickle(dict(items))
    return {"__module_type__": name, "args": [hierarchical_pickle(x) for x in data.args], "state": state,
            "items": [hierarchical_pickle(x) for x in data.items]}  # fmt: skip


def _version(archive: zipfile.ZipFile, root: str) -> str:
    try:
        return archive.read(f"{root}/version").decode().strip()
    except KeyError:
        return "unknown"


def get_model_info(path_or_file: Any, title: str | None = None, extra_file_size_limit: int = _EXTRA_LIMIT
                   ) -> dict[str, Any]:  # fmt: skip
    """The contents of a saved model.

    Args:
        path_or_file: its path, or an open file.
        title: its name, by default the file's.
        extra_file_size_limit: further files that are longer are left out.

    Returns:
        dict, fit for JSON.

    Raises:
        ValueError: it is no archive, or has no one folder.

    Example:
        >>> get_model_info("model.pt")["title"]  # doctest: +SKIP
    """
    if isinstance(path_or_file, (str, os.PathLike)):
        name, size = os.fspath(path_or_file), os.path.getsize(path_or_file)
    else:
        name = getattr(path_or_file, "name", "a file in memory")
        size = path_or_file.seek(0, io.SEEK_END)
        path_or_file.seek(0)
    try:
        with zipfile.ZipFile(path_or_file) as archive:
            return {
                "title": title or str(name),
                "file_size": size,
                **_contents(archive, extra_file_size_limit),
            }
    except zipfile.BadZipFile as error:
        raise ValueError(f"get_model_info: {name} is no archive of a saved model: {error}") from error


def _contents(archive: zipfile.ZipFile, limit: int) -> dict[str, Any]:
    infos = archive.infolist()
    roots = {info.filename.partition("/")[0] for info in infos}
    if len(roots) != 1:
        raise ValueError(f"get_model_info: the archive must have one folder, it has {sorted(roots)}")
    root = roots.pop()
    files = [
        {"filename": i.filename, "compression": i.compress_type, "compressed_size": i.compress_size,
         "file_size": i.file_size} for i in infos
    ]  # fmt: skip
    data: dict[str, Any] = {}
    for name in ("data", "constants"):
        path = f"{root}/{name}.pkl"
        if path in archive.namelist():
            with archive.open(path) as file:
                data[name] = hierarchical_pickle(
                    DumpUnpickler(io.BytesIO(file.read()), catch_invalid_utf8=True).load()
                )
    extra = {}
    for info in infos:
        if f"{root}/extra/" in info.filename and info.filename.endswith(".json") and info.file_size <= limit:
            extra[info.filename] = json.loads(archive.read(info))
    code = {
        i.filename: archive.read(i).decode(errors="replace")
        for i in infos
        if i.filename.startswith(f"{root}/code/")
    }
    return {
        "version": _version(archive, root),
        "zip_files": files,
        "model_data": data.get("data"),
        "constants": data.get("constants"),
        "code_files": code,
        "extra_files_jsons": extra,
        "extra_pickles": {},
    }


def get_inline_skeleton() -> str:
    """The page without a model, as one self-contained file.

    Example:
        >>> "<html" in get_inline_skeleton()
        True
    """
    return _PAGE


def burn_in_info(skeleton: str, info: dict[str, Any]) -> str:
    """The page with a model.

    Args:
        skeleton: the page without one.
        info: the result of `get_model_info`.

    Example:
        >>> len(burn_in_info(get_inline_skeleton(), {})) > len(get_inline_skeleton())
        False
    """
    # "</" would end a script, even in a string.
    text = (
        json.dumps(info, sort_keys=True)
        .replace("/", "\\/")
        .replace("\u2028", "\\u2028")
        .replace("<", "\\u003c")
    )
    if _MARK not in skeleton:
        raise ValueError("burn_in_info: the page has no mark for the model")
    return skeleton.replace(_MARK, text)


def get_info_and_burn_skeleton(path_or_bytesio: Any, **kwargs: Any) -> str:
    """The page of a saved model.

    Args:
        path_or_bytesio: its path, or an open file.
        kwargs: keywords of `get_model_info`.

    Example:
        >>> page = get_info_and_burn_skeleton("model.pt")  # doctest: +SKIP
    """
    return burn_in_info(get_inline_skeleton(), get_model_info(path_or_bytesio, **kwargs))


def main(argv: list[str], *, stdout: TextIO | None = None) -> None:
    """The command line.

    Args:
        argv: its words, the program's name first.
        stdout: the file to print to, by default stdout.

    Example:
        >>> main(["model_dump", "--style=json", "model.pt"])  # doctest: +SKIP
    """
    parser = argparse.ArgumentParser(prog="python -m tl_utils.model_dump", description="Shows a saved model.")
    parser.add_argument("--style", choices=["json", "html"], default="html")
    parser.add_argument("--title", help="the name; else the file's")
    parser.add_argument("model")
    options = parser.parse_args(argv[1:])
    info = get_model_info(options.model, title=options.title)
    out = stdout or sys.stdout
    out.write(
        json.dumps(info, sort_keys=True) + "\n" if options.style == "json" else burn_in_info(_PAGE, info)
    )


if __name__ == "__main__":
    main(sys.argv)
