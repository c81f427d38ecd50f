"""The lines about durable commits at a fixed rate, a share of the highest that each engine reaches from 64 threads."""

from line import Baseline, Line
from programs import open_load

RANKS = (("p50", "0.5"), ("p99", "0.99"), ("p999", "0.999"))


def under(percent: int) -> tuple[Line, ...]:
    """The rate, and how long a commit takes from when it was to begin. One run of each program gives all four."""
    run = open_load("holdfast", percent)
    baselines = tuple(
        Baseline(name, open_load(engine, percent))
        for name, engine in (("SQLite", "sqlite"), ("RocksDB", "rocksdb"))
    )
    among = f"durable commits at {percent} % of the highest rate"
    return (
        Line(f"open-load-{percent}", among, "commits/s", run, baselines),
        *(
            Line(
                f"open-load-{percent}-{name}",
                f"{among}: {float(rank) * 100:g} of 100 take less",
                "ms",
                run,
                baselines,
                rank=rank,
            )
            for name, rank in RANKS
        ),
    )


OPEN_LOAD_LINES = (*under(50), *under(80))
