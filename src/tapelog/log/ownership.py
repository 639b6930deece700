"""Whose a log directory is, and what a crash left lying about in it. Used by `manager`."""

from __future__ import annotations

from typing import Final

from tapelog.base.ports import Disk, Entropy
from tapelog.log import checkpoints as text
from tapelog.log import names

REPLACES_IN_PLACE: Final = b"in place\n"
REPLACES_ELSEWHERE: Final = b"elsewhere\n"
"""What the file says that marks a copy as whole: whether the log that it replaces is in the same directory."""


class WrongDirectoryError(Exception):
    """The directory belongs to another cluster or node; the message says which."""


def take(disk: Disk, path: str, entropy: Entropy, cluster_id: str, node_id: int) -> tuple[bytes, bool]:
    """The id of the directory, and whether it is new: then it is this node's from now on. WrongDirectoryError if it is
    somebody else's."""
    properties = f"{path}/{names.META_PROPERTIES}"
    if not disk.exists(properties):
        directory_id = entropy.token(16)
        content = text.render_meta_properties(cluster_id=cluster_id, node_id=node_id, directory_id=directory_id)
        disk.replace_file(properties, content)
        disk.sync_dir(path.rpartition("/")[0] or ("/" if path.startswith("/") else ""))
        return directory_id, True
    found = text.parse_meta_properties(disk.read_file(properties))
    for name, expected in (("cluster.id", cluster_id), ("node.id", str(node_id))):
        if found.get(name) != expected:
            raise WrongDirectoryError(f"{path} has {name}={found.get(name)}, expected {expected}")
    try:
        return text.uuid_bytes(found["directory.id"]), False
    except (KeyError, ValueError):
        raise WrongDirectoryError(f"{path}: meta.properties has no valid directory.id") from None


def clear_away(disk: Disk, path: str) -> list[str]:
    """Remove directories and files whose removal or replacement a crash interrupted, and finish the replacement of a
    log by its copy (`relocation`). Returns the names of copies that came to nothing: they may go."""
    futures = []
    for name in disk.listdir(path):
        if name.endswith(names.DELETE_DIR):
            disk.remove_tree(f"{path}/{name}")
        elif name.endswith(names.TEMPORARY):
            disk.remove(f"{path}/{name}")
        elif names.parse_future_dir(name) is not None and not _promoted(disk, path, name):
            futures.append(name)
    return futures


def _promoted(disk: Disk, path: str, name: str) -> bool:
    """Give a copy its plain name, if it is whole and the log that it replaces, which was here, is gone."""
    key = names.parse_future_dir(name)
    assert key is not None
    plain, mark = f"{path}/{names.partition_dir(*key)}", f"{path}/{name}/{names.FUTURE_COMPLETE}"
    if not disk.exists(mark):
        return False
    if disk.exists(plain) or disk.read_file(mark) != REPLACES_IN_PLACE:
        disk.remove(mark)  # it goes, bit by bit: nobody may find it without a log of its name, and take it for whole
        disk.sync_dir(f"{path}/{name}")
        return False
    disk.rename(f"{path}/{name}", plain)
    disk.sync_dir(path)
    disk.remove(f"{plain}/{names.FUTURE_COMPLETE}")
    return True
