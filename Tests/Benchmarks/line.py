"""What a line of the benchmark is: a program to be run, and those it is compared with."""

from dataclasses import dataclass
from typing import Optional

# Operations of a run. ALL stands for the number of documents; baselines that are slow store fewer, which, for a tree
# that grows, is in their favour.
ALL = 0
SOME = 20_000
FEW = 12_800
UPDATES = 40_000
READS = 200_000
SCANNED = 400_000
# Sums for each value of a member: line, workload, how many documents, title, baseline.
GROUPS = (
    (
        "group",
        "groups",
        SCANNED,
        "a sum for each value of a member, no index",
        "SQLite, GROUP BY json_extract",
    ),
    (
        "index-group",
        "index-groups",
        SCANNED,
        "a sum for each value of an indexed member",
        "SQLite, expression index",
    ),
)
FOUND = 400_000
SEARCHED = 500
SYNCS = 2_000
DELAYS = 500
LOAD_MILLISECONDS = 3_000
MEMBERS = 4_000_000
STARTS = 15

LONG_TEXTS = 20_000
LONG_TEXT_WORDS = 100

BATCH = 1_000
MANY_DOCUMENTS = 100_000
MOST_DOCUMENTS = 1_000_000
# Of YCSB.
RECORDS = 50_000


@dataclass(frozen=True)
class Run:
    """A program to be run. The runner fills in the words in braces."""

    command: tuple[str, ...]
    count: int = 1
    #: Whether it works on a database of a PostgreSQL server, and not in a directory.
    is_on_server: bool = False
    #: The engine that has filled the store which is worked on; "" for a directory that the program creates.
    store: str = ""
    #: How many documents there are; ALL for those of the package index.
    documents: int = ALL
    #: At least so many words each description has, with those of the documents behind it; 0: as they are.
    words: int = 0
    #: How many records the program makes by itself, where it does.
    records: int = 0
    #: How many documents can be under way unacknowledged, if the acknowledged ones must be durable; else 0.
    in_flight: int = 0
    #: How many times it is run in a round.
    times: int = 1


@dataclass(frozen=True)
class Baseline:
    """What Holdfast is compared with, the ratio that must be reached, and the one that is striven for."""

    name: str
    run: Run
    must: Optional[float] = None
    stretch: Optional[float] = None


@dataclass(frozen=True)
class Line:
    """One line. A unit ending in "/s" counts operations; "ms" is the time of one; "MB" the memory that a program
    added, or, of a line that runs none, the size of the library; "bytes" that of one document.

    Lines that run the same programs, and stand one after the other, share their runs."""

    name: str
    title: str
    unit: str
    run: Optional[Run]
    baselines: tuple[Baseline, ...] = ()
    #: For a line without ratios: the value that must be reached, and the one that is striven for; less is better.
    must: Optional[float] = None
    stretch: Optional[float] = None
    #: Of a program that tells the times of its operations: whose this line is, of all from 0 to 1 of them.
    rank: str = ""

    @property
    def runs(self) -> tuple[Run, ...]:
        """Its own program, and those that it is compared with."""
        own = () if self.run is None else (self.run,)
        return (*own, *(baseline.run for baseline in self.baselines))
