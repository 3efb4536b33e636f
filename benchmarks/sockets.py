"""Which connections a process holds, as Linux tells it under /proc."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

ESTABLISHED = "01"


def client_ports(process_id: int, port: int) -> set[int]:
    """The ports of the clients whose connections to `port` the process holds now."""
    inodes = set()
    for entry in Path(f"/proc/{process_id}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            kind, _, inode = str(entry.readlink()).partition(":")
            if kind == "socket":
                inodes.add(inode.strip("[]"))
    found = set()
    for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        fields = line.split()
        own, peer = (int(address.rpartition(":")[2], 16) for address in fields[1:3])
        if own == port and fields[3] == ESTABLISHED and fields[9] in inodes:
            found.add(peer)
    return found
