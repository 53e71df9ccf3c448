"""All texts of a batch at once: joined into one, so that each step is one call for all of them.

Between two texts stands a NUL, which no text keeps. Steps neither touch it nor look across it.
"""

import html
import re
import unicodedata
from dataclasses import dataclass
from itertools import repeat
from operator import add

BETWEEN = "\0"

# Where something was masked, until the end: a private character for each kind, which no text keeps either.
MASKS = {"email": "\ue000", "phone": "\ue001"}
SHOWN = {MASKS["email"]: "[e-mail]", MASKS["phone"]: "[phone]"}
PATTERNS = {
    "email": re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"),
    "phone": re.compile(r"(?<![\w+])(?:\+|\(0\)|0)\d(?:[ ()/-]{0,2}\d){6,14}(?!\w)"),
}

# Markup within a word or a sentence leaves no space.
INLINE = re.compile(r"</?(?:a|b|code|em|i|s|small|span|strong|sub|sup|u)\b[^<>\0]*>", re.IGNORECASE)
MARKUP = re.compile(r"<!--[^\0]*?-->|</?[A-Za-z][^<>\0]*>")
SPACES = re.compile(r"[^\S\0]+")
EDGES = re.compile(r"(?:(?<=\0)|\A) | (?=\0|\Z)")
TAG = re.compile(r"(?<![\w&/])#(\w*[^\W\d_]\w*)")

# Control characters but for those that are spaces, marks of direction, characters without a width, private characters.
DROPPED = re.compile(
    "[\x01-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b\u200c\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
    "\ue000-\uf8ff\U000f0000-\U0010ffff]"
)


@dataclass(frozen=True)
class Cleaned:
    texts: list[str]
    masked: list[int]
    """How many addresses and numbers were masked in each."""
    tags: list[list[str]]
    """Words behind a `#`, in small letters, each once, in their order."""


def clean(texts: list[str], mask: list[str]) -> Cleaned:
    """Cleans all texts; masks what the kinds say."""
    if not texts:
        return Cleaned([], [], [])
    joined = BETWEEN.join(texts)
    if joined.count(BETWEEN) >= len(texts):
        joined = BETWEEN.join([text.replace(BETWEEN, "") for text in texts])
    joined = DROPPED.sub("", html.unescape(MARKUP.sub(" ", INLINE.sub("", joined))))
    joined = unicodedata.normalize("NFC", joined)
    for kind in mask:
        joined = PATTERNS[kind].sub(MASKS[kind], joined)
    joined = EDGES.sub("", SPACES.sub(" ", joined))
    rows = joined.split(BETWEEN)
    masked = [0] * len(rows)
    for kind in mask:
        masked = list(map(add, masked, map(str.count, rows, repeat(MASKS[kind]))))
    tags = [list(dict.fromkeys(map(str.lower, TAG.findall(row)))) if "#" in row else [] for row in rows]
    for char, shown in SHOWN.items():
        joined = joined.replace(char, shown)
    return Cleaned(joined.split(BETWEEN), masked, tags)
