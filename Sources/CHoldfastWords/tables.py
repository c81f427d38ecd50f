"""Writes tables.inc: what the words of texts are made of. Run by hand, with the packages regex and unicodedata2, and only
together with a new number for the entries of text indexes (TextDefinition.swift): their terms change with it.
"""

import sys
from pathlib import Path

import regex
import unicodedata2 as unicode

# As in words.h.
CLASSES = [
    ("CR", "LF", "Newline"),
    ("Extend",),
    ("Format",),
    ("ZWJ",),
    ("Katakana",),
    ("Hebrew_Letter",),
    ("ALetter",),
    ("MidLetter",),
    ("MidNum",),
    ("MidNumLet",),
    ("Single_Quote",),
    ("Double_Quote",),
    ("Numeric",),
    ("ExtendNumLet",),
]
PICTOGRAPH, LETTER = 0x20, 0x40

# Marks of these combining classes make other letters of those under them: nuktas, voicing marks, viramas, vowels.
KEPT_MARKS = {0, 7, 8, 9, 84, 91, 103, 107, 118, 122, 129, 130, 132}
APOSTROPHES = {0x2018, 0x2019, 0xFF07}
HANGUL = range(0xAC00, 0xD7A4)
SCALARS = [code for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
ALL = "".join(map(chr, SCALARS))


def marked(pattern: str) -> set[int]:
    """The scalars that a pattern matches."""
    return {ord(text) for text in regex.findall(pattern, ALL)}


WORD_CLASSES = [
    (index + 1, marked("|".join(rf"\p{{WB={name}}}" for name in names)))
    for index, names in enumerate(CLASSES)
]
PICTOGRAPHS = marked(r"\p{Extended_Pictographic}")
SELECTORS = marked(r"\p{Variation_Selector}")


def word_class(text: str) -> int:
    number = next(
        (number for number, members in WORD_CLASSES if ord(text) in members), 0
    )
    if ord(text) in PICTOGRAPHS:
        number |= PICTOGRAPH
    if unicode.category(text)[0] in "LN":
        number |= LETTER
    return number


def is_dropped(text: str) -> bool:
    category = unicode.category(text)
    if category in ("Cf", "Me") or ord(text) in SELECTORS or text == "\u034f":
        return True
    return category == "Mn" and unicode.combining(text) not in KEPT_MARKS


def lower(text: str) -> str:
    return "'" if ord(text) in APOSTROPHES else text.casefold()


def plain(text: str) -> str:
    return "".join(
        part for part in unicode.normalize("NFD", text) if not is_dropped(part)
    )


def rows(values: list[str], width: int) -> str:
    lines = []
    for start in range(0, len(values), width):
        lines.append("    " + ", ".join(values[start : start + width]) + ",")
    return "\n".join(lines)


def mapped(name: str, comment: str, change) -> str:
    found = []
    for code in SCALARS:
        if code in HANGUL or code < 0x80:
            continue
        new = change(chr(code))
        if new != chr(code):
            assert len(new) <= 3, hex(code)
            found.append((code, [ord(part) for part in new]))
    entries = [
        f"{{0x{code:x}, {{{', '.join(f'0x{part:x}' for part in new) or '0'}}}}}"
        for code, new in found
    ]
    return f"/// {comment}\nstatic const struct mapping {name}[] = {{\n{rows(entries, 4)}\n}};\n"


def main() -> None:
    starts, last = [], None
    for code in range(sys.maxunicode + 1):
        number = 0 if 0xD800 <= code < 0xE000 else word_class(chr(code))
        if number != last:
            starts.append(f"0x{code << 8 | number:x}")
        last = number
    pairs = []
    for code in range(0x80, 0x10000):
        parts = (
            unicode.normalize("NFD", chr(code)) if not 0xD800 <= code < 0xE000 else ""
        )
        if len(parts) < 2 or not 0x300 <= ord(parts[-1]) < 0x370:
            continue
        base = unicode.normalize("NFC", parts[:-1])
        if len(base) == 1 and unicode.normalize("NFC", base + parts[-1]) == chr(code):
            pairs.append((ord(base), ord(parts[-1]), code))
    text = f"""/// Written by tables.py from Unicode {unicode.unidata_version}.
/// Where a stretch of scalars of one class begins, with the class in the last byte.
static const uint32_t classes[] = {{
{rows(starts, 10)}
}};

{mapped("lower", "Scalars whose case is folded; apostrophes are one.", lower)}
{mapped("plain", "Scalars, of folded case, that are others without accents, or nothing.", plain)}
/// Letters, the accents that may follow them, and what stands for both.
static const struct composition compositions[] = {{
{rows([f"{{0x{base:x}, 0x{mark:x}, 0x{code:x}}}" for base, mark, code in sorted(pairs)], 5)}
}};
"""
    Path(__file__).with_name("tables.inc").write_text(text)


main()
