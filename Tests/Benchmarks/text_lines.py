"""The lines about texts: an index of words over descriptions, against one of FTS5, with Porter's stems in both."""

from line import ALL, Baseline, Line, SEARCHED
from programs import in_c


def against_fts5(work: str, count: int, title: str, unit: str, must: float) -> Line:
    own, other = (
        in_c(engine, f"text-{work}", count, store=engine)
        for engine in ("holdfast", "sqlite")
    )
    baseline = Baseline("SQLite, FTS5", other, must, 1.0)
    return Line(f"text-{work}", title, unit, own, (baseline,))


TEXT_LINES = (
    against_fts5("build", ALL, "a text index, built", "documents/s", 0.5),
    against_fts5("words", SEARCHED, "the ten best of two words", "searches/s", 0.7),
    against_fts5("phrases", SEARCHED, "the ten best of a phrase", "searches/s", 0.7),
)
