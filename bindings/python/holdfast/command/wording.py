"""The library's messages in the command's words: where its advice names options, this one names flags."""

import re

#: Advice of the library, and what helps whoever types commands. What no line here matches stays as it is.
_ADVICE = (
    ('allow "create", or check the path', "check the path (put, import and shell --create make one)"),
    (
        '(see which it has, or )?open it with "create": true',
        "holdfast info tells which it has, and put and import create one",
    ),
    ("open it for writing once", "put something into it, or remove it"),
    ('[:;] open (it )?with "read_only": true( to read it)?', ""),
    ('open it (without "read_only"|with "read_only": false) to write', "leave --read-only out"),
    (', or set "allow_unsafe_location"', ""),
    (", or raise lock_timeout_ms", ", or run it again"),
    ("use update or save to replace it", "put without --add replaces it"),
    ("use add or save to create it", "check the id (put creates it)"),
    (
        r'let the option "existing" say whether it is to be replaced \("replace"\) or to stay \("skip"\)',
        "--existing says whether it is to be replaced (replace) or to stay (skip)",
    ),
    ('give the option "repository"', "give --repository"),
    ('give "name"', "give --name"),
    ('leave "key" out', "leave --key out"),
    ('choose another column as "id"', "choose another column with --id"),
    (r'(has no table "[^"]*"): see which it has', r"\1"),
    (
        "choose another name, or remove it first",
        "choose another name, or remove it first (restore takes --replace)",
    ),
    ("(open it first, or )?see which it has", "holdfast info tells which it has"),
    (
        r'the idempotency key "import/(.*)/\d+" was used before for other writes: .*',
        r"--resume \1 was begun with other contents: give another name",
    ),
    ("drop it and create it again", "drop it and create it again, with holdfast index"),
    ("drop it first, or give the new one another name", "drop it first, or give the new one another --name"),
    ("(,? or|:) raise (max_entity_bytes|max_depth)", ""),
    ("raise max_attempts or timeout_ms, or let it read less", "run it again when fewer others write"),
    ("waited longer than its timeout_ms", "waited too long"),
    ("take events, wait, or raise max_in_flight", "wait, and run it again"),
    ('"expire_after_ms" needs', "--expire-after needs"),
    (r"the function that hf_interrupt_set_check was given said to end it", "run it again"),
    (
        "the function that hf_interrupt_set_check was given was asked while its call waits for a server, .*",
        "a signal's handler used a store that waits for its server: run it again",
    ),
    ('the option "fields" of an index', "the list of an index's paths"),
)
_OPTION = re.compile(r'(?:the )?option "(\w+)"(?: in the [a-z ]+ options)?|"(\w+)" in the find options')
_KNOWN = [(re.compile(advice), words) for advice, words in _ADVICE]


def in_own_words(message: str) -> str:
    """A message of the library's with the command's advice, on one line."""
    for advice, words in _KNOWN:
        message = advice.sub(words, message, count=1)
    message = _OPTION.sub(lambda found: "--" + (found[1] or found[2]).replace("_", "-"), message, count=1)
    return " ".join(message.split())
