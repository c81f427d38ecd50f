"""The lines about texts: an index of words over descriptions, against one of FTS5, with Porter's stems in both."""

from dataclasses import replace

from line import ALL, Baseline, LONG_TEXT_WORDS, LONG_TEXTS, Line, Run, SEARCHED
from programs import in_c


def against_fts5(work: str, count: int, title: str, unit: str, must: float) -> Line:
    own, other = (
        in_c(engine, f"text-{work}", count, store=engine)
        for engine in ("holdfast", "sqlite")
    )
    baseline = Baseline("SQLite, FTS5", other, must, 1.0)
    return Line(f"text-{work}", title, unit, own, (baseline,))


def of_long_texts(line: Line) -> Line:
    """The same over fewer documents, each with a description of some length."""
    assert line.run is not None

    def longer(run: Run) -> Run:
        return replace(run, documents=LONG_TEXTS, words=LONG_TEXT_WORDS)

    return replace(
        line,
        name=f"long-{line.name}",
        title=f"of {LONG_TEXT_WORDS} words each: {line.title}",
        run=longer(line.run),
        baselines=tuple(
            replace(baseline, run=longer(baseline.run)) for baseline in line.baselines
        ),
    )


SHORT_TEXT_LINES = (
    against_fts5("build", ALL, "a text index, built", "documents/s", 0.5),
    against_fts5("words", SEARCHED, "the ten best of two words", "searches/s", 0.7),
    against_fts5("phrases", SEARCHED, "the ten best of a phrase", "searches/s", 0.7),
)

TEXT_LINES = (*SHORT_TEXT_LINES, *map(of_long_texts, SHORT_TEXT_LINES))
