"""The programs in the documents: all code blocks of a language, one behind the other. A line that prints says in its comment
what that is, so that a program is to print its comments.

    documents.py DIRECTORY DOCUMENT...

writes each document's program in Swift to DIRECTORY/Sources/NAMEProgram/main.swift, and what it is to print to
DIRECTORY/NAMEProgram.txt.
"""

import re
import sys
from pathlib import Path

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
        name = f"{document.stem}Program"  # not Holdfast, which is the module
        target = Path(directory, "Sources", name)
        target.mkdir(parents=True)
        (target / "main.swift").write_text(source)
        # The README's prints values that no comment could foretell.
        if document.name != "README.md":
            Path(directory, f"{name}.txt").write_text(told(source, "swift"))


if __name__ == "__main__":
    main(*sys.argv[1:])
