"""The files of a package as a tree."""

from __future__ import annotations

from .glob_group import GlobGroup, GlobPattern

__all__ = ["Directory"]


class Directory:
    """A file of a package, or a directory with those in it. Printed, it is a tree.

    Args:
        name: its name.
        is_dir: whether it is a directory.

    Example:
        >>> tree = Directory("package.pt", True)
        >>> tree._add_file("models/model.pkl")
        >>> tree.has_file("models/model.pkl"), tree.has_file("model.pkl")
        (True, False)
    """

    def __init__(self, name: str, is_dir: bool) -> None:
        self.name = name
        self.is_dir = is_dir
        self.children: dict[str, Directory] = {}

    def _get_dir(self, dirs: list[str]) -> Directory:
        """The directory at a path below this one, made if it isn't there."""
        directory = self
        for name in dirs:
            if name not in directory.children:
                directory.children[name] = Directory(name, True)
            directory = directory.children[name]
        return directory

    def _add_file(self, file_path: str) -> None:
        *dirs, file = file_path.split("/")
        self._get_dir(dirs).children[file] = Directory(file, False)

    def has_file(self, filename: str) -> bool:
        """Whether there is a file.

        Args:
            filename: its path below this directory.

        Returns:
            True if there is.
        """
        first, _, rest = filename.partition("/")
        if first not in self.children:
            return False
        return self.children[first].has_file(rest) if rest else True

    def __str__(self) -> str:
        lines = [f"─── {self.name}"]
        self._append_lines(lines, "    ")
        return "\n".join(lines) + "\n"

    def _append_lines(self, lines: list[str], indent: str) -> None:
        inside = sorted(self.children.values(), key=lambda child: (not child.is_dir, child.name))
        for i, child in enumerate(inside):
            last = i == len(inside) - 1
            lines.append(f"{indent}{'└── ' if last else '├── '}{child.name}")
            child._append_lines(lines, indent + ("    " if last else "│   "))


def _create_directory_from_file_list(
    filename: str, file_list: list[str], include: GlobPattern = "**", exclude: GlobPattern = ()
) -> Directory:
    """The tree of some files.

    Args:
        filename: the name of the tree.
        file_list: the paths of the files.
        include, exclude: patterns of those that count.
    """
    glob = GlobGroup(include, exclude=exclude, separator="/")
    tree = Directory(filename, True)
    for file in file_list:
        if glob.matches(file):
            tree._add_file(file)
    return tree
