"""RFC 8259, JSON: what its grammar allows is stored and given back as it came, what it does not allow is refused.

Where the RFC leaves the receiver a choice, `include/holdfast/entity.h` says which it is, and so do the tables
here: `REFUSED_BY_CHOICE`.
"""

import itertools
import json
import random
import struct
from fractions import Fraction
from typing import Any

import pytest

import holdfast

Documents = holdfast.Repository[dict[str, Any]]

#: Values of the grammar, each as the bytes of one.
VALUES = [
    # section 3
    b"false", b"null", b"true",
    # section 4
    b"{}", b'{"":0}', b'{"a":1,"b":2}', b'{ "a" : 1 , "b" : 2 }', b'{"a":{"a":{}}}',
    # section 5
    b"[]", b"[1]", b"[1,2]", b"[ ]", b"[[],[[]]]", b'[1,"a",null,true,{}]',
    # section 6
    b"0", b"-0", b"-1", b"10", b"9007199254740991", b"-9007199254740991", b"9223372036854775807",
    b"-9223372036854775808", b"0.0", b"-0.0", b"1.5", b"0.1", b"1e1", b"1E1", b"1e+1", b"1e-1", b"1E+01",
    b"0e0", b"0E-0", b"-0e+00", b"123.456e-78", b"1.7976931348623157e308", b"5e-324", b"1e-400",
    b"3.141592653589793238462643383279502884197", b"0.00000000000000000000000000000001",
    # section 7
    b'""', b'"a"', b'"\\""', b'"\\\\"', b'"\\/"', b'"/"', b'"\\b\\f\\n\\r\\t"', b'"\\u0041"', b'"\\u00e9"',
    b'"\\u00E9"', b'"\\u0000"', b'"\\u001f"', b'"\\u005C"', b'"\\uD834\\uDD1E"', b'"\\ud834\\udd1e"',
    b'"\\ue000"', b'"\\uffff"', b'"\x7f"', "\"é\"".encode(), "\"€\"".encode(), "\"\U0001d11e\"".encode(),
    "\"\u2028\u2029\ufeff\ufffe\uffff\"".encode(), "\"\U0010ffff\"".encode(), b'"{[]}:,"',
    # section 2: white space
    b" 1", b"\t1", b"\n1", b"\r1", b"1 \t\n\r", b" [ 1 , 2 ] ", b'{ "a"\t:\n1\r}',
]  # fmt: skip

#: What the grammar does not allow in the place of a value.
NO_VALUES = [
    # section 3
    b"", b" ", b"False", b"NULL", b"nul", b"truee", b"tru", b"undefined", b"NaN", b"Infinity", b"-Infinity",
    # sections 4 and 5
    b"{", b"}", b"[", b"]", b"[1", b"[1,", b"[1,]", b"[,1]", b"[1 2]", b"[1;2]", b'{"a"}', b'{"a":}', b'{"a":1,}',
    b'{,"a":1}', b'{"a" 1}', b"{a:1}", b"{'a':1}", b"{1:1}", b"{null:1}", b'{"a":1 "b":2}', b'{"a":1;"b":2}',
    b'{"a"::1}', b"[}", b"{]", b'["a":1]', b'{"a",1}', b"[1]]", b"{}}", b"(1)", b"<1>",
    # section 6
    b"+1", b"01", b"-01", b"00", b"-", b"--1", b"1.", b".5", b"-.5", b"1.e1", b"1e", b"1e+", b"1e-", b"1E", b"e1",
    b"1e1.5", b"1.5.5", b"0x10", b"0b1", b"1_000", b"1,000", b"1f", b"1 2", b"1a", b"- 1", b"\xd9\xa1",
    "１".encode(), b"1\x00", b"0.1.2", b"1ee1", b"1e1e1",
    # section 7
    b'"', b'"a', b'a"', b"'a'", b'"a"b', b'"a" "b"', b'"\\"', b'"\\', b'"\\x41"', b'"\\a"', b'"\\v"', b'"\\0"',
    b'"\\u"', b'"\\u1"', b'"\\u12"', b'"\\u123"', b'"\\u123g"', b'"\\u+123"', b'"\\u 123"', b'"\\U0041"', b'"\\\'"',
    b'"\n"', b'"\t"', b'"\r"', b'"\x00"', b'"\x1f"', b'"\\\n"', b"`a`", "“a”".encode(),
    # section 2: no other white space, no comments
    b"1\x0b", b"1\x0c", b"\xc2\xa01", b"\xe2\x80\xa81", b"\xe3\x80\x801", b"/**/1", b"1//", b"#1", b"1;", b"1,",
    # section 8.1: not UTF-8
    b'"\x80"', b'"\xbf"', b'"\xc0\x80"', b'"\xc0\xaf"', b'"\xc1\xbf"', b'"\xc3"', b'"\xc3("', b'"\xe2\x82"',
    b'"\xe0\x80\xaf"', b'"\xe0\x9f\xbf"', b'"\xed\xa0\x80"', b'"\xed\xbf\xbf"', b'"\xf0\x80\x80\xaf"',
    b'"\xf0\x8f\xbf\xbf"', b'"\xf4\x90\x80\x80"', b'"\xf8\x88\x80\x80\x80"', b'"\xfe"', b'"\xff"', b'"\xe9"',
]  # fmt: skip

#: What the RFC's grammar allows and its prose leaves to the receiver (sections 4, 6, 7 and 8.1).
REFUSED_BY_CHOICE = [
    b'{"a":1,"a":2}', b'{"a":1,"\\u0061":2}', b'{"a":{"b":1,"b":1}}', b'{"\\u0000":1}', b'{"a\\u0000b":1}',
    b"9223372036854775808", b"-9223372036854775809", b"123456789012345678901234567890",
    b"1e309", b"-1e309", b"1e400", b"1.8e308", b"1e99999999999999999999", b'"\\ud800"', b'"\\udc00"',
    b'"\\ud800\\ud800"', b'"\\ud800a"', b'"\\udc00\\ud800"', b'"\\uD834\\u0041"',
]  # fmt: skip


def wrapped(value: bytes) -> bytes:
    return b'{"_id":"1","it":' + value + b"}"


def accepts(documents: Documents, entity: bytes) -> bool:
    """Whether it is stored; then as it came, and never in part."""
    documents.delete_all()
    try:
        documents.save(entity)
    except (
        holdfast.InvalidJsonError,
        holdfast.InvalidEntityError,
        holdfast.InvalidIdError,
    ):
        assert documents.count() == 0
        return False
    assert documents.fetch_bytes("1") == entity
    return True


@pytest.mark.parametrize("value", VALUES)
def test_what_the_grammar_allows_is_stored_as_it_came(
    documents: Documents, value: bytes
) -> None:
    assert accepts(documents, wrapped(value))
    assert documents["1"]["it"] == json.loads(value)
    # Through what walks the text: a filter, an update beside it, and a patch.
    assert documents.count({"it": json.loads(value)}) == 1
    documents.modify("1", {"$set": {"other": 1}})
    documents.patch("1", {"other": None})
    assert value in documents.fetch_bytes("1")


@pytest.mark.parametrize("value", NO_VALUES)
def test_what_the_grammar_does_not_allow_is_refused(
    documents: Documents, value: bytes
) -> None:
    assert not accepts(documents, wrapped(value))
    assert not accepts(documents, wrapped(b"[" + value + b"]")) or value.strip() == b""
    documents.save({"_id": "1", "it": 0})
    with pytest.raises(holdfast.Error):
        documents.patch("1", wrapped(value))
    with pytest.raises(holdfast.Error):
        documents.modify("1", b'{"$set":{"it":' + value + b"}}")
    assert documents.fetch_all() == [{"_id": "1", "it": 0}]


@pytest.mark.parametrize("value", REFUSED_BY_CHOICE)
def test_what_the_rfc_leaves_open_is_refused(
    documents: Documents, value: bytes
) -> None:
    json.loads(value)
    assert not accepts(documents, wrapped(value))


@pytest.mark.parametrize("before", [b"\xef\xbb\xbf", b"\xff\xfe", b"\x00", b"]", b"1"])
def test_a_text_begins_with_its_value(documents: Documents, before: bytes) -> None:
    assert not accepts(documents, before + wrapped(b"1"))


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"]
)
def test_a_text_is_utf_8(documents: Documents, encoding: str) -> None:
    assert not accepts(documents, wrapped(b"1").decode().encode(encoding))


@pytest.mark.parametrize("text", [b"1", b'"a"', b"null", b"[]", b"[{}]"])
def test_an_entity_is_an_object(documents: Documents, text: bytes) -> None:
    assert not accepts(documents, text)


def grammatical_number(chance: random.Random) -> bytes:
    """number = [ minus ] int [ frac ] [ exp ] (section 6)."""

    def digits(most: int) -> str:
        return "".join(
            chance.choice("0123456789") for _ in range(chance.randint(1, most))
        )

    whole = chance.choice(
        ["0", str(chance.randint(1, 9)) + (digits(17) if chance.random() < 0.7 else "")]
    )
    fraction = chance.choice(["", "." + digits(25)])
    exponent = chance.choice(
        ["", chance.choice("eE") + chance.choice(["", "+", "-"]) + digits(3)]
    )
    return (chance.choice(["", "-"]) + whole + fraction + exponent).encode()


def test_any_number_of_the_grammar_is_stored_and_found_by_its_value(
    documents: Documents, chance: random.Random, cases: int
) -> None:
    for _ in range(cases):
        number = grammatical_number(chance)
        value = json.loads(number)
        fits = (
            -(2**63) <= value < 2**63
            if isinstance(value, int)
            else abs(value) != float("inf")
        )
        assert accepts(documents, wrapped(number)) == fits, number
        if fits:
            assert documents.count({"it": value}) == 1, number
            assert (
                documents.count({"it": {"$gt": value}})
                == documents.count({"it": {"$lt": value}})
                == 0
            ), number


def test_any_double_comes_back_as_it_was(
    documents: Documents, chance: random.Random, cases: int
) -> None:
    for _ in range(cases):
        (value,) = struct.unpack("<d", chance.randbytes(8))
        if value != value or abs(value) == float("inf"):
            continue
        documents.save({"_id": "1", "it": value})
        assert documents["1"]["it"] == value
        # What the library itself writes is the same double again: 0 and it are added by an update.
        assert documents.modify("1", {"$inc": {"sum": value}})["sum"] == value
        assert documents.count({"sum": value}) == 1, value


def test_numbers_near_the_middle_of_two_doubles_are_read_as_python_reads_them(
    documents: Documents, chance: random.Random, cases: int
) -> None:
    for _ in range(cases):
        (value,) = struct.unpack("<d", chance.randbytes(8))
        if value != value or not 1e-300 < abs(value) < 1e300:
            continue
        (bits,) = struct.unpack("<q", struct.pack("<d", value))
        (next_one,) = struct.unpack("<d", struct.pack("<q", bits + 1))
        middle = (Fraction(value) + Fraction(next_one)) / 2
        digits = 40
        exponent = len(str(abs(middle.numerator))) - len(str(middle.denominator))
        scaled = middle * Fraction(10) ** (digits - exponent)
        number = f"{int(scaled) + chance.randint(-1, 1)}.0e{exponent - digits}".encode()
        documents.save(wrapped(number))
        expected = json.loads(number)
        assert documents.count({"it": expected}) == 1, number
        assert documents.count({"it": {"$type": "double"}}) == 1, number


def drawn_string(chance: random.Random) -> tuple[bytes, str]:
    """char = unescaped / escape ... (section 7): a string's text, and what it stands for."""
    short = {
        "b": "\b",
        "f": "\f",
        "n": "\n",
        "r": "\r",
        "t": "\t",
        '"': '"',
        "\\": "\\",
        "/": "/",
    }
    text, value = "", ""
    for _ in range(chance.randrange(8)):
        kind = chance.randrange(4)
        if kind == 0:
            letter = chance.choice(list(short))
            text, value = text + "\\" + letter, value + short[letter]
            continue
        code = chance.choice(
            [
                chance.randrange(0x80),
                chance.randrange(0x800),
                chance.randrange(0x110000),
            ]
        )
        if 0xD800 <= code < 0xE000:
            continue
        character = chr(code)
        value += character
        if kind == 1 or code < 0x20 or character in '"\\':
            for (unit,) in struct.iter_unpack(">H", character.encode("utf-16-be")):
                hexadecimal = f"{unit:04x}"
                text += "\\u" + "".join(
                    chance.choice([digit, digit.upper()]) for digit in hexadecimal
                )
        else:
            text += character
    return b'"' + text.encode() + b'"', value


def test_any_string_of_the_grammar_is_stored_and_found_by_what_it_stands_for(
    documents: Documents, chance: random.Random, cases: int
) -> None:
    for _ in range(cases):
        text, value = drawn_string(chance)
        assert accepts(documents, wrapped(text)), text
        assert documents["1"]["it"] == value
        assert documents.count({"it": value}) == 1, text
        assert documents.distinct("it") == [value], text
        if value and "\0" not in value:
            # A name is compared without its escapes, too.
            assert accepts(documents, b'{"_id":"1","it":{' + text + b":1}}"), text
            assert documents.count({"it": {"$eq": {value: 1}}}) == 1, text


def test_any_change_of_one_byte_is_taken_as_python_takes_it(
    documents: Documents, chance: random.Random, cases: int
) -> None:
    """Python's own reader says what is JSON, but for what it allows beyond the RFC and the choices above."""
    texts = [wrapped(value) for value in VALUES]
    interesting = (
        b'{}[]:,"\\/ \t\n\r0123456789+-.eEtruefalsn\x00\x1f\x7f\x80\xc3\xe2\xf0\xff'
    )
    for _ in range(cases):
        text = bytearray(chance.choice(texts))
        for _ in range(chance.choice([1, 1, 2])):
            place = chance.randrange(len(text) + 1)
            new = (
                bytes([chance.choice(interesting)])
                if chance.random() < 0.9
                else chance.randbytes(1)
            )
            text[place : place + chance.randrange(2)] = (
                new if chance.random() < 0.8 else b""
            )
        assert_taken_as_python_takes_it(documents, bytes(text))


def assert_taken_as_python_takes_it(documents: Documents, text: bytes) -> None:
    try:
        value = json.loads(
            text.decode(),
            object_pairs_hook=checked_object,
            parse_constant=refuse,
            parse_int=checked,
        )
        expected = (
            isinstance(value, dict) and names_one(value.get("_id")) and is_kept(value)
        )
    except (ValueError, RecursionError):
        expected = False
        value = None
    documents.delete_all()
    try:
        documents.save(text)
    except (
        holdfast.InvalidJsonError,
        holdfast.InvalidEntityError,
        holdfast.InvalidIdError,
    ):
        taken = False
    else:
        # An id that the change has made another one, or has taken away, is no concern of this.
        taken = True
        if documents.ids() != ["1"]:
            return
    assert taken == expected, text
    if taken:
        # Without the white space around it, which is no part of the object.
        assert (
            documents.fetch_bytes("1") == text.strip(b" \t\r\n")
            and documents["1"] == value
        )


def names_one(id: Any) -> bool:
    """The number and the text are one id; of Python's equals of 1 the others are none."""
    return id == "1" or (type(id) is int and id == 1)


def refuse(name: str) -> Any:
    raise ValueError(name)


def checked(text: str) -> int:
    if not -(2**63) <= int(text) < 2**63:
        raise ValueError(text)
    return int(text)


def checked_object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in members]
    if len(set(names)) < len(names) or any("\0" in name for name in names):
        raise ValueError(names)
    return dict(members)


def is_kept(value: Any) -> bool:
    """Whether it is no choice of the library's to refuse it."""
    if isinstance(value, dict):
        return all(is_kept(part) for part in itertools.chain(value, value.values()))
    if isinstance(value, list):
        return all(map(is_kept, value))
    if isinstance(value, str):
        return not any(0xD800 <= ord(character) < 0xE000 for character in value)
    return not isinstance(value, float) or abs(value) != float("inf")


@pytest.mark.parametrize("depth", [1, 50, 98, 99, 100, 101, 1_000, 100_000])
def test_nesting_has_an_end(documents: Documents, depth: int) -> None:
    """Section 9: a limit on the depth of nesting may be set; here it is 100 with the entity itself."""
    assert accepts(documents, wrapped(b"[" * depth + b"]" * depth)) == (depth < 100)
    assert not accepts(documents, wrapped(b"[" * depth + b"]" * (depth - 1)))
    assert accepts(documents, wrapped(b'{"a":' * depth + b"1" + b"}" * depth)) == (
        depth < 100
    )
