"""The PostgreSQL server of the benchmark: it syncs, as one that keeps what matters to somebody."""

import os
import subprocess
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "HoldfastPostgreSQLTests" / "cluster.sh"


class DurableServer:
    """Started by its constructor, and until `stop`. Each run has a database of its own."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="holdfast-postgresql-", dir="/tmp")
        self._url = self._run("start", str(os.getpid()))
        self._databases: set[str] = set()

    def database(self, name: str) -> str:
        """The URL of the database of this name, which is made where it is missing."""
        if name not in self._databases:
            self._databases.add(name)
            self._sql(f'CREATE DATABASE "{name}"')
        return self._url.removesuffix("/postgres") + f"/{name}"

    def drop(self, name: str) -> None:
        if name in self._databases:
            self._databases.remove(name)
            self._sql(f'DROP DATABASE "{name}" WITH (FORCE)')

    def stop(self) -> None:
        self._run("stop")

    def _sql(self, text: str) -> None:
        subprocess.run(
            ["psql", "--no-psqlrc", "--quiet", self._url, "--command", text], check=True
        )

    def _run(self, verb: str, *operands: str) -> str:
        done = subprocess.run(
            [SCRIPT, verb, self._folder, *operands],
            env={
                **os.environ,
                "HOLDFAST_SERVER_SETTINGS": "-c fsync=on -c shared_buffers=256MB -c max_wal_size=4GB",
            },
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()
