"""Secrets in texts, as Python asks the engine; tests/c/test_redact.c has the rules."""

from __future__ import annotations

import random

import pytest
from leaks import assert_nothing_is_kept

from roastcoffea._core import ChunkLog, is_secret_name, redact_name, redact_text
from roastcoffea.export import extras

ADDRESS = "root://me:pw@host//f.root?authz=abc&xrdcl.unzip=in.root"
# Of these, texts and JSON are made at random.
PIECES = (
    "root://", "https://", "::", ":", "/", "?", "&", "#", "=", "@", "host", "authz", "password", "token", "--password",
    "Bearer ", "Basic ", "Authorization: ", "'", '"', "\\", " ", "\n", ",", "{", "}", "[", "]", "None", "abc1234567",
    "eyJhbGciOiJIUzI1NiJ9", "-----BEGIN RSA PRIVATE KEY-----", "-----END", "*", "***", "b", "ä", "日",
)


def test_names_and_texts():
    assert redact_name(ADDRESS) == "root://host//f.root?xrdcl.unzip=in.root"
    assert redact_text(f"no {ADDRESS!r}") == "no 'root://host//f.root?xrdcl.unzip=in.root&***'"
    assert is_secret_name("db_password") and not is_secret_name("chunksize")


@pytest.mark.parametrize("text", ["", "/data/f.root", "root://host//f.root", "日本", "lone \udc80", "a\0b"])
def test_what_has_no_secret_is_the_same_object(text):
    assert redact_name(text) is text and redact_text(text) is text


def test_a_lone_surrogate_beside_a_secret():
    assert redact_text("\udc80 password=abc") == "\\udc80 password=***"


@pytest.mark.parametrize("function", [redact_name, redact_text, is_secret_name])
def test_arguments(function):
    for wrong in (None, 3, b"bytes"):
        with pytest.raises(TypeError, match="a str is expected"):
            function(wrong)
    assert_nothing_is_kept(lambda: function("https://u:p@host/f?password=1"), 1000)


def test_values_keep_their_shape():
    """Of any texts."""
    draw = random.Random(1)

    def text():
        return "".join(draw.choices(PIECES, k=draw.randrange(6)))

    def value(depth=0):
        kind = draw.randrange(6 if depth < 3 else 4)
        if kind == 4:
            return [value(depth + 1) for _ in range(draw.randrange(4))]
        if kind == 5:
            return {f"{name}{i}": value(depth + 1) for i, name in enumerate(draw.choices(("n", "tokens", "x"), k=3))}
        return (text(), draw.randrange(10), None, -1.5)[kind]

    def redacted(value):
        if isinstance(value, dict):
            return {name: redacted(one) for name, one in value.items()}
        if isinstance(value, list):
            return [redacted(one) for one in value]
        return redact_text(value) if isinstance(value, str) else value

    for _ in range(3000):
        made = [value(), value()]
        assert extras.load(extras.dump(made, 1 << 20)) == extras.plain_json(made) == redacted(made)
        (chunk,) = ChunkLog([{"duration": 1.0, "mine": made}])
        assert chunk["mine"] == redacted(made)


def test_values_under_the_name_of_a_secret():
    given = {"Token": "abc", "auth": {"a": 1}, "list": [{"pw": 5}], "token": None, "secret": True, "max_tokens": 5, "x": ADDRESS}
    kept = {"Token": "***", "auth": "***", "list": [{"pw": "***"}], "token": None, "secret": True, "max_tokens": 5,
            "x": redact_text(ADDRESS)}
    assert extras.plain_json(given) == kept == extras.load(extras.dump(given, 1 << 20))
