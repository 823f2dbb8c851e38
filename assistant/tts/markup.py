"""One written word without its markup: the part of cleaning that needs no memory."""

from __future__ import annotations

import html
import re
import unicodedata

FORBIDDEN = "*#`_[]"
"""Never reach the voice, whatever the text was."""

TAGS = frozenset(
    "a abbr article aside audio b big blockquote body br button caption center cite code col dd "
    "del details dfn div dl dt em figure font footer form h1 h2 h3 h4 h5 h6 head header hr html "
    "i iframe img input ins kbd label li link main mark meta nav ol option p picture pre q s samp "
    "script section select small source span strike strong style sub summary sup table tbody td "
    "textarea tfoot th thead think title tr tt u ul var video".split()
)
_BLOCK_TAGS = frozenset(
    "br p div li ul ol h1 h2 h3 h4 h5 h6 tr td th dd dt hr table blockquote section".split()
)

_MARKER = re.compile(
    r"<\|[^|<>]*\|>(?:system|user|assistant)?|\[/?INST\]|<</?SYS>>|</?s>|<(?:bos|eos|pad|unk)>"
    r"|<(?:start|end)_of_turn>(?:model|user)?"
)
_COMMENT = re.compile(r"<!--.*?-->")
_AUTOLINK = re.compile(r"<(?:mailto:)?((?:https?|ftp)://[^\s<>]+|[\w.+-]+@[\w.-]+)>")
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9]*)(?:\s[^<>]*|/)?/?>")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,10});")
_TARGET = re.compile(r"\]\((?:[^()]|\([^()]*\))*\)")
_REFERENCE = re.compile(r"\]\[[^\[\]]*\]")
_CITATION = re.compile(r"\[\^?\d{1,3}\](?!\()|【[^】]*】")
_URL = re.compile(r"(?:https?|ftp)://(?:[^\s/?#@]*@)?([^\s/?#:\"'<>()\]]+)[^\s\"'<>()\]]*", re.I)
_WWW = re.compile(r"\bwww\.([\w-]+(?:\.[\w-]+)+)[^\s\"'<>()\]]*", re.I)
_SHORTCODE = re.compile(r"(?<![\w:]):[a-z][a-z0-9_+-]+:(?![\w:])")
_NO_SPACE = re.compile(r"([a-z]{2}[.!?])(?=[A-Z][a-z]*\b)")
_EMOTICON = re.compile(
    r"^[:;]'?[-^o]?[)(DPpOo/\\|*]+[.!?]?$|^xD+$|^<3$|^\^_?\^$|^[-¯]\\?_.*_/?[-¯]$"
)

_LATEX = {
    "times": "×",
    "cdot": "×",
    "div": "÷",
    "approx": "≈",
    "neq": "≠",
    "leq": "≤",
    "le": "≤",
    "geq": "≥",
    "ge": "≥",
    "pm": "±",
    "pi": "π",
    "degree": "°",
    "circ": "°",
    "sqrt": "√",
    "infty": "∞",
    "rightarrow": "→",
    "to": "→",
    "ldots": "…",
    "dots": "…",
    "left": "",
    "right": "",
    "text": "",
    "mathrm": "",
    "boxed": "",
}
_FRAC = re.compile(r"\\d?frac\{([^{}]*)\}\{([^{}]*)\}")
_COMMAND = re.compile(r"\\(" + "|".join(sorted(_LATEX, key=len, reverse=True)) + r")(?![A-Za-z])")

_KEPT_SIGNS = frozenset("°℃℉№©")
_EMOJI_PARTS = frozenset("\ufe0e\ufe0f\u20e3\u200d")


def plain(word: str) -> str:
    """``word`` (without white space) as plain text; may be empty or several words.

    "|" stands for a boundary between cells or blocks.
    """
    word = _MARKER.sub("", word)
    word = _AUTOLINK.sub(r"\1", word)
    if "<" in word:
        word = _TAG.sub(_tag, _COMMENT.sub("", word))
    word = _ENTITY.sub(lambda m: html.unescape(m[0]), word)
    if not word.isascii():
        word = "".join(map(_character, unicodedata.normalize("NFC", word)))
    else:
        word = "".join(c if c.isprintable() else " " for c in word)
    if _EMOTICON.match(word):
        return ""
    word = _TARGET.sub("]", word)
    word = _CITATION.sub("", _REFERENCE.sub("]", word))
    word = _WWW.sub(_host, _URL.sub(_host, word))
    word = _SHORTCODE.sub("", word)
    if "\\" in word:
        word = _backslashes(word)
    if any(c in FORBIDDEN for c in word):
        word = _marks(word)
    word = re.sub(r"~{2,}|[{}]", "", word)
    word = _NO_SPACE.sub(r"\1 ", word)
    return " ".join(word.split())


def _tag(match: re.Match[str]) -> str:
    name = match[1].lower()
    if name not in TAGS:
        return match[0]
    return "|" if name in _BLOCK_TAGS else ""


def _host(match: re.Match[str]) -> str:
    end = re.search(r"[.,;:!?*_`]*$", match[0])
    return match[1].removeprefix("www.").rstrip(".,;:!?*_`") + (end[0] if end else "")


def _backslashes(word: str) -> str:
    word = _FRAC.sub(r"\1/\2", word)
    word = _COMMAND.sub(lambda m: f" {_LATEX[m[1]]} ".replace("  ", ""), word)
    word = re.sub(r"\\(?=[^\w\s])", "", word)
    return word.replace("\\", " ")


def _marks(word: str) -> str:
    """Takes the signs of ``FORBIDDEN`` out; the few that mean something become words."""
    word = re.sub(r"(?<=\d)\*\*(?=\d)", "^", word)
    word = re.sub(r"(?<=\d)\*(?=\d)", "×", word)
    word = word.replace("*", "").replace("`", "")
    word = re.sub(r"\b([A-Ga-g])#(?!\w)", r"\1 sharp", word)
    word = re.sub(r"#(?=\d+\b)", "number ", word)
    word = re.sub(r"(?<=[^\W_])_+(?=[^\W_])", " ", word)
    word = re.sub(r"(?<=[\w)])\[", " ", word.replace("![", "["))
    return "".join(c for c in word if c not in FORBIDDEN)


def _character(char: str) -> str:
    """One character without a picture or an invisible sign; odd forms become usual ones."""
    if char.isascii():
        return char if char.isprintable() else " "
    if char in _EMOJI_PARTS:
        return ""
    if char in _KEPT_SIGNS:
        return char
    category = unicodedata.category(char)
    if category in ("So", "Sk", "Cf", "Cs", "Co", "Cn", "Me"):
        return ""
    if category == "Cc" or category[0] == "Z":
        return " "
    if unicodedata.decomposition(char).startswith(("<wide>", "<font>", "<compat> 0066")):
        return unicodedata.normalize("NFKC", char)
    return char
