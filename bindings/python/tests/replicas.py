"""Three PostgreSQL servers of the tests' own that replicate each other, which Patroni looks after, with an
etcd that says who is the primary, and a haproxy that connects to whoever is. All on ports of the loopback
address, run by the user postgres where root asks for it."""

import contextlib
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any, Callable, Optional

ADDRESS = "127.0.0.1"
#: Seconds after which a primary that says nothing is no longer one.
LEASE = 8


def program(name: str) -> str:
    """Debian has some where only root looks."""
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    assert found, f"{name} is not installed: `make torture-postgresql` installs it"
    return found


def start(words: "list[str]", log: Path, **environment: str) -> "subprocess.Popen[bytes]":
    """As the owner of the servers, in a session of its own, so that Ctrl-C is the tests' alone."""
    owner = pwd.getpwnam("postgres") if os.getuid() == 0 else None
    identity = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []} if owner else {}
    with open(log, "ab") as output:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            cwd=log.parent,
            env={**os.environ, **environment, "HOME": str(log.parent)},
            **identity,  # type: ignore[arg-type]
        )


def free_ports(count: int) -> "list[int]":
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((ADDRESS, 0))
        return [one.getsockname()[1] for one in sockets]


def wait_until(what: str, condition: "Callable[[], Any]", seconds: float = 120) -> Any:
    """What it answers as soon as that is true. Nobody to be connected to is not true yet."""
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(OSError, ValueError):
            if answer := condition():
                return answer
        assert time.monotonic() < deadline, f"in {seconds} seconds it did not come to pass: {what}"
        time.sleep(0.1)


def ask(port: int, path: str) -> Any:
    """A status other than 200 is an OSError."""
    with urllib.request.urlopen(f"http://{ADDRESS}:{port}/{path}", timeout=2) as answer:
        return json.load(answer)


class Node:
    """A server with the Patroni that looks after it."""

    def __init__(self, folder: Path, name: str, port: int, told_by: int) -> None:
        self.folder, self.name, self.port, self.told_by = folder, name, port, told_by
        self._patroni: Optional[subprocess.Popen[bytes]] = None

    @property
    def data(self) -> Path:
        return self.folder / self.name

    def start(self) -> None:
        self._patroni = start(
            [program("patroni"), str(self.folder / f"{self.name}.json")], self.folder / f"{self.name}.log"
        )
        (self.folder / f"{self.name}.pid").write_text(f"{self._patroni.pid}\n")

    def kill(self) -> None:
        """As when the machine loses its power: nobody says good-bye."""
        kill(self.patroni_and_server())
        if self._patroni:
            self._patroni.wait()

    def kill_server(self) -> None:
        """Patroni finds it gone."""
        kill(server_processes(self.data))

    def signal(self, number: int) -> None:
        for process in self.patroni_and_server():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def patroni_and_server(self) -> "list[int]":
        return [
            *([self._patroni.pid] if self._patroni and self._patroni.poll() is None else []),
            *server_processes(self.data),
        ]


def server_processes(data: Path) -> "list[int]":
    """A server's, of which each is a child of the first; none where it does not run."""
    try:
        first = int((data / "postmaster.pid").read_text().split()[0])
        if Path(f"/proc/{first}/comm").read_text().strip() != "postgres":
            return []
    except (OSError, ValueError, IndexError):
        return []
    found = [first]
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[1]) == first:
                found.append(int(stat.parent.name))
    return found


def kill(processes: "list[int]") -> None:
    """All at once, before one starts others anew; waits until they are gone, or wait for who started them."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    for process in processes:
        wait_until(f"process {process} ends", lambda process=process: not runs(process))  # type: ignore[misc]


def runs(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Replicas:
    """Started by its constructor, and until `stop`. Synchronous: what is committed is on two nodes."""

    def __init__(self, is_synchronous: bool) -> None:
        self.is_synchronous = is_synchronous
        self.folder = Path(tempfile.mkdtemp(prefix="holdfast-replicas-", dir="/tmp"))
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres")
        self._end_with_this_process()
        self._etcd, peer, self._proxy, *rest = free_ports(9)
        names = ("one", "two", "three")
        self.nodes = [Node(self.folder, name, *pair) for name, pair in zip(names, zip(rest[::2], rest[1::2]))]
        self._start_etcd(peer)
        for node in self.nodes:
            (self.folder / f"{node.name}.json").write_text(json.dumps(self._settings(node)))
            node.start()
        self._start_proxy()
        self.wait_until_whole()

    @property
    def url(self) -> str:
        """By way of the proxy, which connects to whoever is the primary."""
        return f"postgresql://postgres@{ADDRESS}:{self._proxy}/postgres"

    @property
    def hosts(self) -> str:
        """As libpq finds the primary itself."""
        places = ",".join(f"{ADDRESS}:{node.port}" for node in self.nodes)
        return f"postgresql://postgres@{places}/postgres?target_session_attrs=read-write"

    def primary(self) -> Optional[Node]:
        """Whoever says so of itself; during a failover nobody may."""
        for node in self.nodes:
            with contextlib.suppress(OSError, ValueError):
                ask(node.told_by, "primary")
                return node
        return None

    def wait_for_primary(self, other_than: Optional[Node] = None) -> Node:
        def found() -> Optional[Node]:
            primary = self.primary()
            return primary if primary is not other_than else None

        return wait_until("there is a primary", found)

    def wait_until_whole(self) -> None:
        """Until each node runs, on the primary's timeline, and as many are synchronous as are to be."""

        def whole() -> bool:
            members = ask(self.nodes[0].told_by, "cluster")["members"]
            roles = sorted(member["role"] for member in members)
            follower = "sync_standby" if self.is_synchronous else "replica"
            timelines = {member.get("timeline") for member in members}
            is_streaming = all(member["state"] in ("running", "streaming") for member in members)
            return roles == sorted(["leader", follower, "replica"]) and is_streaming and len(timelines) == 1

        wait_until("all nodes run", whole, 180)

    def stop(self) -> None:
        end(self.folder)

    def _end_with_this_process(self) -> None:
        """Also of a program that is killed nothing stays."""
        subprocess.Popen(
            [sys.executable, __file__, self.folder, str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _start_etcd(self, peer: int) -> None:
        here = f"http://{ADDRESS}:{self._etcd}"
        there = f"http://{ADDRESS}:{peer}"
        words = [program("etcd"), "--enable-v2", "--name", "etcd", "--data-dir", str(self.folder / "etcd")]
        words += ["--listen-client-urls", here, "--advertise-client-urls", here]
        words += ["--listen-peer-urls", there, "--initial-advertise-peer-urls", there]
        words += ["--initial-cluster", f"etcd={there}"]
        process = start(words, self.folder / "etcd.log")
        (self.folder / "etcd.pid").write_text(f"{process.pid}\n")
        wait_until("etcd answers", lambda: ask(self._etcd, "version"))

    def _settings(self, node: Node) -> Any:
        """Patroni's, in JSON, which is YAML."""
        programs = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
        return {
            "scope": "holdfast",
            "name": node.name,
            "restapi": {
                "listen": f"{ADDRESS}:{node.told_by}",
                "connect_address": f"{ADDRESS}:{node.told_by}",
            },
            "etcd": {"host": f"{ADDRESS}:{self._etcd}"},
            "bootstrap": {
                "dcs": {
                    "ttl": LEASE,
                    "loop_wait": 1,
                    "retry_timeout": 3,
                    # A primary that was killed is not waited for.
                    "primary_start_timeout": 0,
                    "synchronous_mode": self.is_synchronous,
                    "synchronous_mode_strict": self.is_synchronous,
                    "postgresql": {"use_pg_rewind": True, "use_slots": True},
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "data-checksums", "no-sync"],
            },
            "postgresql": {
                "listen": f"{ADDRESS}:{node.port}",
                "connect_address": f"{ADDRESS}:{node.port}",
                "data_dir": str(node.data),
                "bin_dir": str(programs),
                "pgpass": str(self.folder / f"{node.name}.pgpass"),
                "authentication": {
                    "superuser": {"username": "postgres"},
                    "replication": {"username": "replicator"},
                },
                "pg_hba": [
                    "local all all trust",
                    f"host all all {ADDRESS}/32 trust",
                    f"host replication all {ADDRESS}/32 trust",
                ],
                # Processes are killed, and not machines: what was written stays.
                "parameters": {
                    "unix_socket_directories": str(self.folder),
                    "fsync": "off",
                    "shared_buffers": "16MB",
                    "max_connections": 150,
                },
            },
        }

    def _start_proxy(self) -> None:
        servers = "\n".join(
            f"    server {node.name} {ADDRESS}:{node.port} check port {node.told_by}" for node in self.nodes
        )
        (self.folder / "haproxy.cfg").write_text(f"""
global
    maxconn 500
defaults
    mode tcp
    timeout connect 2s
    timeout client 10m
    timeout server 10m
    timeout check 1s
listen primary
    bind {ADDRESS}:{self._proxy}
    option httpchk OPTIONS /primary
    http-check expect status 200
    default-server inter 500 fall 2 rise 1 on-marked-down shutdown-sessions
{servers}
""")
        words = [program("haproxy"), "-db", "-f", str(self.folder / "haproxy.cfg")]
        process = start(words, self.folder / "haproxy.log")
        (self.folder / "haproxy.pid").write_text(f"{process.pid}\n")


def end(folder: Path) -> None:
    """Kills what runs there, and removes it."""
    watched = []
    for note in folder.glob("*.pid"):
        with contextlib.suppress(OSError, ValueError):
            watched.append(int(note.read_text()))
    # First who would start a server anew.
    kill([process for process in watched if str(folder).encode() in command_line(process)])
    for data in folder.glob("*/postmaster.pid"):
        kill(server_processes(data.parent))
    shutil.rmtree(folder, ignore_errors=True)


def command_line(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while runs(int(sys.argv[2])) and os.path.exists(sys.argv[1]):
        time.sleep(1)
    if os.path.exists(sys.argv[1]):
        end(Path(sys.argv[1]))
