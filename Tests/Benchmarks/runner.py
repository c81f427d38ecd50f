"""Runs the programs of the benchmark: in turns, in fresh directories, and once under strace to count syncs."""

import json
import shutil
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Optional

from durable_server import DurableServer
from line import ALL, Line, Run

TIMEOUT_SECONDS = 600
SYNCS = ("fdatasync", "fsync", "msync")
#: Of each document.
BEGINNING = '{"id":"'


class Failure(Exception):
    """A program failed, or acknowledged what it had not synced."""


@dataclass
class Series:
    """What the rounds of one program gave."""

    values: list[float] = field(default_factory=list)
    #: Operations that were done again for a conflict, in the last round.
    repeated: int = 0
    #: Syncs for each operation, where it has to be durable.
    syncs: Optional[float] = None

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def spread(self) -> list[float]:
        return [min(self.values), max(self.values)]


class Runner:
    """Runs programs on one file of documents. `limit`: the most operations of a run, for a short test."""

    def __init__(self, words: dict[str, str], data: Path, limit: Optional[int]) -> None:
        self.words = words
        self.data = data
        self.limit = limit
        #: The directories that hold all documents of a run.
        self._full: set[Path] = set()
        with open(words["documents"]) as documents:
            self.texts = documents.readlines()
        self.document_count = len(self.texts)
        self.words["id"] = json.loads(self.texts[0])["id"]
        self.clean()
        data.mkdir(parents=True)

    def clean(self) -> None:
        """Removes what the programs have stored."""
        if "_server" in self.__dict__:
            self._server.stop()
            del self._server
        shutil.rmtree(self.data, ignore_errors=True)

    @cached_property
    def _server(self) -> DurableServer:
        """Started for the first line that wants it."""
        return DurableServer()

    def measure(self, lines: Sequence[Line], rounds: int) -> list[list[Series]]:
        """Of lines that run the same programs the series of each: of its own program and of its baselines, which take
        turns in every round."""
        runs = lines[0].runs
        if not runs:
            return [[Series([Path(self.words["library"]).stat().st_size / 1e6])]]
        syncs = [self.syncs(run) for run in runs]
        series = [[Series(syncs=of_one) for of_one in syncs] for _ in lines]
        for number in range(rounds):
            # Nobody always comes after the same one.
            for place in range(len(runs)):
                turn = (place + number) % len(runs)
                results = [self.run(runs[turn]) for _ in range(runs[turn].times)]
                for line, of_line in zip(lines, series):
                    of_line[turn].values.append(
                        statistics.median(_value(result, line) for result in results)
                    )
                    of_line[turn].repeated = results[-1]["repeated"]
        return series

    def run(
        self, run: Run, count: Optional[int] = None, prefix: tuple[str, ...] = ()
    ) -> dict:
        """Runs a program once, and answers what it printed."""
        if run.store:
            return self._execute(run, self._filled(run), count, prefix)
        directory = self.data / "run"
        try:
            return self._execute(run, directory, count, prefix)
        finally:
            if run.is_on_server:
                self._server.drop(directory.name)
            shutil.rmtree(directory, ignore_errors=True)

    def syncs(self, run: Run) -> Optional[float]:
        """How often a durable program syncs for each operation, what opening and closing need not counted.

        With so many operations under way, each sync can make only so many of them durable.
        """
        if run.in_flight == 0:
            return None
        count = min(self._count(run), max(500, 20 * run.in_flight))
        syncs = self._traced_syncs(run, count) - self._traced_syncs(run, 1)
        if syncs < (count - 1) // run.in_flight:
            name = " ".join(run.command)
            raise Failure(
                f"{name}: {count} operations were acknowledged after only {syncs} syncs"
            )
        return syncs / (count - 1)

    def _traced_syncs(self, run: Run, count: int) -> int:
        table = self.data / "syncs"
        self.run(
            run,
            count,
            ("strace", "-f", "-c", "-o", str(table), "-e", "trace=" + ",".join(SYNCS)),
        )
        rows = [row.split() for row in table.read_text().splitlines()]
        return sum(int(row[3]) for row in rows if row and row[-1] in SYNCS)

    def _filled(self, run: Run) -> Path:
        """The directory of a store that holds all documents of the run."""
        kind = "-on-server" if run.is_on_server else ""
        directory = (
            self.data / f"{run.store}{kind}-{run.documents or 'all'}-{run.words}"
        )
        if directory not in self._full:
            self._full.add(directory)
            arguments = ("{place}", "{documents}", "{count}")
            load = Run(
                ("{build}/" + run.store, "load", *arguments),
                is_on_server=run.is_on_server,
                documents=run.documents,
                words=run.words,
            )
            self._execute(load, directory, self._document_count(load), ())
        return directory

    def _document_count(self, run: Run) -> int:
        if run.documents == ALL:
            return self.document_count
        return self._limited(run.documents)

    def _documents(self, run: Run) -> Path:
        """The file of the run's documents: of as many as there are, or of some, or of them again and again under
        other ids; with longer descriptions where the run wants them."""
        if run.documents == ALL:
            return Path(self.words["documents"])
        path = self.data / f"documents-{run.documents}-{run.words}"
        if not path.exists():
            with open(path, "w") as file:
                for number in range(self._document_count(run)):
                    turn, place = divmod(number, self.document_count)
                    prefix = f"{turn}~" if turn else ""
                    text = self._lengthened(place, run.words)
                    file.write(BEGINNING + prefix + text[len(BEGINNING) :])
        return path

    def _lengthened(self, place: int, words: int) -> str:
        """A document whose description goes on with those of the documents behind it until it has so many words."""
        if words == 0:
            return self.texts[place]
        document = json.loads(self.texts[place])
        text = document.get("description", "").split()
        while len(text) < words:
            place = (place + 1) % self.document_count
            text += json.loads(self.texts[place]).get("description", "").split()
        document["description"] = " ".join(text)
        return json.dumps(document, separators=(",", ":"), ensure_ascii=False) + "\n"

    def _count(self, run: Run) -> int:
        return self._limited(run.count or self._document_count(run))

    def _limited(self, count: int) -> int:
        return count if self.limit is None else min(count, self.limit)

    def _execute(
        self, run: Run, directory: Path, count: Optional[int], prefix: tuple[str, ...]
    ) -> dict:
        words = {
            **self.words,
            "directory": str(directory),
            "place": self._server.database(directory.name)
            if run.is_on_server
            else str(directory),
            "documents": str(self._documents(run)),
            "records": str(self._limited(run.records)),
            "count": str(count or self._count(run)),
        }
        command = [*prefix, *(word.format(**words) for word in run.command)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
            )
        except OSError as error:
            raise Failure(f"{command[0]}: {error}")
        except subprocess.TimeoutExpired as late:
            raise Failure(f"{' '.join(command)}: takes longer than {late.timeout} s")
        if done.returncode != 0:
            raise Failure(
                f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}"
            )
        return json.loads(done.stdout)


def _value(result: dict, line: Line) -> float:
    """What a program printed, in the unit of its line."""
    if line.unit == "MB":
        return result["megabytes"]
    if line.unit == "bytes":
        return result["megabytes"] * 1e6 / result["operations"]
    time = result["seconds"] / result["operations"]
    if line.rank:
        time = result["ranks"][line.rank]
    return time * 1e3 if line.unit == "ms" else 1 / time
