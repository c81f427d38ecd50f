"""The programs in the documents. All code blocks of a language on one page, one behind the other, are one program; what a
page has in a comment of HTML belongs to it and is not shown. A line that prints says in its comment what that is, so that a
program is to print its comments.

    documents.py DIRECTORY DOCUMENT...

writes each document's program in Swift to DIRECTORY/Sources/NAME/main.swift, and what it is to print to DIRECTORY/NAME.txt.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Every page that people read but for the Swift modules' catalogues, which DocC reads.
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "SECURITY.md",
        ROOT / "bindings/python/README.md",
        *(it for it in (ROOT / "docs").rglob("*.md") if "generated" not in it.parts),
    ]
)
PRINTING = {
    "c": (r"\s*printf\(", r".*; */\* (.*) \*/"),
    "python": (r"\s*print\(", r".*\)  # (.*)"),
    "swift": (r"\s*print\(", r".*\)  // (.*)"),
}


def blocks(document, language):
    pattern = rf"^```{language}\n(.*?)^```$"
    return re.findall(pattern, document.read_text(), re.DOTALL | re.MULTILINE)


def program(document, language):
    """Of a document, or of a file that is a program."""
    if document.suffix == f".{language}":
        return document.read_text()
    return "\n".join(blocks(document, language))


def pages_in(language):
    return [page for page in PAGES if blocks(page, language)]


def name(document):
    """A page's name among all, as one word."""
    parts = document.resolve().relative_to(ROOT).with_suffix("").parts[-2:]
    words = re.split(r"\W+", " ".join(parts))
    return "".join(word[:1].upper() + word[1:] for word in words)


def told(source, language):
    """What the program's comments say that it prints. Every line that prints has one."""
    begins, says = PRINTING[language]
    lines = [it for it in source.splitlines() if re.match(begins, it)]
    comments = [re.fullmatch(says, it) for it in lines]
    untold = [
        line for line, comment in zip(lines, comments, strict=True) if not comment
    ]
    assert not untold, f"what is printed? {untold}"
    return "".join(f"{it[1]}\n" for it in comments)


def main(directory, *documents):
    for document in map(Path, documents):
        source = program(document, "swift")
        if not source:
            continue
        # Not the name of the module, Holdfast, alone.
        target = Path(directory, "Sources", f"{name(document)}Program")
        target.mkdir(parents=True)
        (target / "main.swift").write_text(source)
        Path(directory, f"{target.name}.txt").write_text(told(source, "swift"))


if __name__ == "__main__":
    main(*sys.argv[1:])
