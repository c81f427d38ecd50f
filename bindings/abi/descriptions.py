"""What the headers' comments say, in the regular words that they are written in.

A comment is sentences. Among them are items: `name: what it is.` of parameters, and `Errors: HF_X (when).` of
statuses. What begins three places to the right is a list and no sentence; behind `options:` the options are.
Another function's comment holds where one is referred to: `options: as for hf_x`, `Everything else as hf_x`,
or a first sentence that begins with its name.
"""

import re
from typing import NamedTuple

LISTED = re.compile(r"^ {2,}", re.MULTILINE)
#: Where the words about a parameter end, other than at the next one.
_ENDS = (
    r"Errors?\b|Any thread|Answers |Cannot fail|Returns |HF_OK:|Does |Blocks|Runs on|Called on|Neither |"
    r"Both are |With |Waits |A call |The result|The text is|Always |Parameters as|Everything else|"
    r"The rest as|Nothing |None |Readers "
)
_REFERENCE = r"(?:\bas (?:of |for |in |at )?|\bsee |\bof )(hf_\w+)"
_WHOLE = re.compile(
    r"(?:Everything else|The rest|[Pp]arameters(?: and errors)?|Errors and thread|"
    r"Errors, thread and waiting)(?:, [^.]*?)? as (?:of |for |in |at )?(hf_\w+)"
)


class Option(NamedTuple):
    """One member of a function's options."""

    name: str
    form: str
    default: str
    description: str


def prose(comment: str) -> "list[str]":
    """The paragraphs of a comment in one line each, without what is listed."""
    paragraphs: list[list[str]] = [[]]
    for line in comment.split("\n"):
        if not line.strip() or LISTED.match(line):
            paragraphs.append([])
        else:
            paragraphs[-1].append(line)
    return [" ".join(lines) for lines in paragraphs if lines]


def sentence(comment: str) -> str:
    """A comment in one line."""
    return " ".join(comment.split())


def parameters(comment: str, names: "list[str]") -> "dict[str, str]":
    """What a comment says of each parameter, by its name."""
    told: dict[str, str] = {}
    one = "|".join(map(re.escape, sorted(names, key=len, reverse=True))) or "(?!)"
    item = re.compile(rf"(?:^|(?<=[.;:,)] ))((?:{one})(?:, (?:{one}))*)(?:: |(?= receives| must not))")
    for paragraph in prose(comment):
        begun = list(item.finditer(paragraph))
        for match, following in zip(begun, [*begun[1:], None]):
            text = paragraph[match.end() : following.start() if following else None]
            text = re.split(rf"(?<=[.;]) (?={_ENDS})", text.strip())[0]
            for name in match[1].split(", "):
                told.setdefault(name, text.strip().rstrip(".:;,"))
    return told


def referred(text: str) -> "list[str]":
    """The functions whose words hold for a parameter, or for errors, too."""
    return re.findall(_REFERENCE, text)


def alike(comment: str) -> "list[str]":
    """The functions that a function is like in all that its own comment does not say."""
    paragraphs = prose(comment)
    first = re.match(r"(hf_\w+)(?:[ ,]| and (hf_\w+))", paragraphs[0]) if paragraphs else None
    both = re.match(r"hf_\w+ and (hf_\w+)", paragraphs[0]) if paragraphs else None
    names = [first[1]] if first else []
    names += [both[1]] if both else []
    return names + [name for paragraph in paragraphs for name in _WHOLE.findall(paragraph)]


def statuses(comment: str, known: "set[str]") -> "tuple[dict[str, str], list[str]]":
    """The statuses that a comment names, each with its occasion, and the functions whose come besides."""
    text = " ".join(prose(comment))
    errors = re.search(r"\b[Ee]rrors?(?:, with [^:]*| are [^:]*)?(?::| as| also)", text)
    told = text[errors.start() :] if errors else text
    found: dict[str, str] = {}
    for match in re.finditer(r"-?\b(HF_[A-Z_]+)\b(?: \(((?:[^()]|\([^()]*\))*)\))?", told):
        if match[1] in known and match[1] != "HF_OK":
            found.setdefault(match[1], match[2] or "")
    others = referred(re.sub(r"\([^()]*\)", "", told)) if errors else []
    return found, [*others, *re.findall(r"what (hf_\w+) answers", told)]


def options(comment: str) -> "list[Option]":
    """The options that a comment lists behind `options:`."""
    found: list[Option] = []
    inside = False
    for line in comment.split("\n"):
        if re.search(r"(^|[.,;] |, )options: ", line):
            inside = True
        elif line.strip() and not LISTED.match(line):
            inside = inside and "options" in line
        elif inside and (match := re.match(r' {2,7}((?:"\w+"(?:, )?)+)(?:: (.*)| (holds .*))$', line)):
            for name in re.findall(r'"(\w+)"', match[1]):
                found.append(_option(name, match[2] or match[3]))
        elif inside and found and line.strip():
            found[-1] = _longer(found[-1], line.strip())
    return found


def _option(name: str, text: str) -> Option:
    """An option from its first line: the form, in two spaces or brackets the default, and what it means."""
    form, _, description = text.partition("  ")
    description = description.strip()
    default = ""
    if match := re.match(r"(.*?) \(([^()]*)\)(?:, ?(.*))?$", form):
        form, default = match[1], match[2]
        description = " ".join(filter(None, (match[3], description)))
    elif match := re.match(r"\(([^()]*)\) ?(.*)$", description):
        default, description = match[1], match[2]
    return Option(name, form.strip().rstrip(","), default, description)


def _longer(option: Option, line: str) -> Option:
    if not option.default and not option.description and (match := re.match(r"\(([^()]*)\)\s*(.*)$", line)):
        return option._replace(default=match[1], description=match[2])
    return option._replace(description=f"{option.description} {line}".strip())


def threads(comment: str) -> str:
    """The sentences that say on which thread something is called."""
    said = [it for paragraph in prose(comment) for it in re.split(r"(?<=[.;]) ", paragraph)]
    return " ".join(it for it in said if re.search(r"\b([Cc]alled|asked|[Rr]uns?)\b.*\bthreads?\b", it))


def thread(comment: str) -> str:
    """The sentence that says from which thread a function is called."""
    return _sentence(comment, "Any thread")


def blocking(comment: str) -> str:
    """The sentence that says whether and for what a function waits."""
    return _sentence(comment, "Does not block|Blocks|May block|Reads (?:the|from)|Does I/O|Waits ")


def _sentence(comment: str, beginning: str) -> str:
    text = " ".join(prose(comment))
    found = re.search(rf"(?:^|(?<=[.;)] ))(?:{beginning})(?:[^.]|\.(?=\w))*", text)
    return found[0].strip() if found else ""


def common(head: str, of_host: bool) -> "dict[str, str]":
    """What the first comment of a header lists of parameters: `  name    what it is`, behind `Parameters`."""
    told: dict[str, str] = {}
    matching = False
    names: list[str] = []
    for line in head.split("\n"):
        if re.match(r"\S", line):
            if line.startswith("Parameters"):
                matching = line.startswith("Parameters of the host's functions") == of_host
            elif names:
                matching = False
            names = []
        elif matching and (match := re.match(r" {2,4}(\w+(?:, \w+)*) {2,}(\S.*)$", line)):
            names = match[1].split(", ")
            told.update(dict.fromkeys(names, match[2]))
        elif matching and names and line.strip():
            told.update({name: f"{told[name]} {line.strip()}" for name in names})
    return told


def may_be_null(text: str) -> bool:
    """Whether what is said of a pointer gives NULL a meaning."""
    return "NULL" in re.sub(r"(must not be|other than) NULL|NULL-terminated", "", text)
