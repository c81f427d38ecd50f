"""A PostgreSQL server of the tests' own: see cluster.sh."""

import atexit
import functools
import itertools
import os
import subprocess
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[3] / "Tests" / "HoldfastPostgreSQLTests" / "cluster.sh"

_numbers = itertools.count()


def new_store() -> str:
    """The parameter of a URL that names a store which nobody used before."""
    return f"holdfast_store=test{os.getpid()}.{next(_numbers)}"


class Server:
    """Started by its constructor, and until `stop`."""

    def __init__(self, **environment: str) -> None:
        """`environment`: more variables for it."""
        self._environment = {**os.environ, **environment}
        self.folder = tempfile.mkdtemp(prefix="holdfast-postgresql-", dir="/tmp")
        self.url = self._run("start", str(os.getpid()))
        self._owner = os.getpid()

    @staticmethod
    @functools.cache
    def shared() -> "Server":
        """One for all tests of this process, which ends with it."""
        server = Server()
        atexit.register(server.stop)
        return server

    @functools.cached_property
    def pooled(self) -> str:
        """The URL of a pgbouncer in front of it, which gives out connections by transaction."""
        return self._run("pool")

    def start(self) -> None:
        self._run("start")

    def restart(self) -> None:
        """Ends its sessions, and starts it anew."""
        self._run("restart")

    def crash(self) -> None:
        """Kills all of its processes."""
        self._run("crash")

    def stop(self) -> None:
        """Not in a forked child, which runs its parent's exit functions, too."""
        if os.getpid() == self._owner:
            self._run("stop")

    def sql(self, text: str) -> str:
        """What psql prints of the rows."""
        return subprocess.run(
            ["psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", self.url, "--command", text],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    def _run(self, verb: str, *operands: str) -> str:
        done = subprocess.run(
            [SCRIPT, verb, self.folder, *operands],
            env=self._environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()
