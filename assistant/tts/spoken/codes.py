"""What is read sign by sign: phone numbers, zip codes, e-mail addresses, file names."""

from __future__ import annotations

import re

from assistant.tts.spoken.numbers import cardinal, digits

_STATES = dict(
    pair.split("=")
    for pair in (
        "AL=Alabama AK=Alaska AZ=Arizona AR=Arkansas CA=California CO=Colorado CT=Connecticut "
        "DE=Delaware FL=Florida GA=Georgia HI=Hawaii ID=Idaho IL=Illinois IN=Indiana IA=Iowa "
        "KS=Kansas KY=Kentucky LA=Louisiana ME=Maine MD=Maryland MA=Massachusetts MI=Michigan "
        "MN=Minnesota MS=Mississippi MO=Missouri MT=Montana NE=Nebraska NV=Nevada "
        "NH=New_Hampshire NJ=New_Jersey NM=New_Mexico NY=New_York NC=North_Carolina "
        "ND=North_Dakota OH=Ohio OK=Oklahoma OR=Oregon PA=Pennsylvania RI=Rhode_Island "
        "SC=South_Carolina SD=South_Dakota TN=Tennessee TX=Texas UT=Utah VT=Vermont "
        "VA=Virginia WA=Washington WV=West_Virginia WI=Wisconsin WY=Wyoming DC=Washington_D_C"
    ).split()
)
_SIGNS = {".": " dot ", "_": " underscore ", "-": " dash ", "+": " plus ", "@": " at "}

_URL = re.compile(r"\b(?:https?|ftp|file)://([^\s/?#\"'<>()]+)[^\s\"'<>()]*", re.IGNORECASE)
_WWW = re.compile(r"\bwww\.([\w-]+(?:\.[\w-]+)+)(?:/[^\s\"'<>()]*)?", re.IGNORECASE)
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]*\w@[\w-]+(?:\.[\w-]+)+(?<![.-])")
_HANDLE = re.compile(r"(?<![\w@])@(?=[A-Za-z])")
_HIDDEN = re.compile(r"(?<!\S)\.(?=[A-Za-z]{2})")
_NAME = re.compile(r"\b\w[\w-]*(?:\.[A-Za-z0-9][\w-]*)*\.[a-z][a-z0-9]{1,5}\b(?!\.\w)")
_PATH = re.compile(r"(?<![\w/.])~?/(?=[A-Za-z])[\w./-]*\w")

_PHONE = re.compile(
    r"(?<![\w.,/$+-])(?:"
    r"\+\d{1,3}(?:[ .-]?\(?\d{1,5}\)?){2,5}"
    r"|(?:1[ .-])?\(\d{3}\) ?\d{3}[ .-]\d{4}"
    r"|(?:1[ .-])?\d{3}([ .-])\d{3}\1\d{4}"
    r"|\d{3}-\d{4}"
    r"|0\d{2,4}[ -]\d{3,4}(?:[ -]?\d{3,4})?"
    r")(?![\w/%]|[.,-]\d)"
)
_CARD = re.compile(
    r"(?<![\w.,-])(?:\d{4}([ -])\d{4}(?:\1\d{4})+|\d{3}-\d{2}-\d{4})(?![\w-]|[.,]\d)"
)
_STATE_ZIP = re.compile(rf"\b({'|'.join(_STATES)}) (\d{{5}})(?:-(\d{{4}}))?(?![\w-])")
_ZIP_PLUS = re.compile(r"(?<![\w.,-])(\d{5})-(\d{4})(?![\w-])")
_CUED = re.compile(
    r"\b(?P<cue>(?:zip(?: code)?|postal code|postcode|area code|pin(?: code)?|passcode|code|"
    r"extension|ext\.|serial number|order number|tracking number|account number|phone number|"
    r"flight)(?: number)?(?: is)?:? )#?(?P<code>\d[\d-]{1,}\d)(?![\w%]|[.,:/]\d)",
    re.IGNORECASE,
)
_EMERGENCY = re.compile(
    r"\b(?P<cue>(?:call|dial|ring|phone)(?:ing|ed|s)? )(?P<code>\d{3})"
    r"(?![\w%-]|[.,:/]\d| [a-z]+s\b)",
    re.IGNORECASE,
)
_DATE = r"\d{1,2}\.\d{1,2}\.[12]\d{3}(?![\d.])"
_DOTTED = re.compile(rf"(?<![\w.,])(?!{_DATE})v?(?P<n>\d+(?:\.\d+){{2,}})(?![\w,])", re.IGNORECASE)
_SPACED_THOUSANDS = re.compile(
    r"(?<![\w.,:/$+-])(?<!\d )(?P<n>[1-9]\d{0,2}(?: \d{3})* 000)(?![\w%/-]|[.,:]\d| \d)"
)
_LONG = re.compile(r"(?<![\w.,-])\d{11,}(?![\w.,]\d)")


def codes(text: str) -> str:
    """Addresses, names and codes as words. Run first: the rest would take them apart."""
    text = _URL.sub(lambda m: _host(m[1], m[0]), text)
    text = _WWW.sub(lambda m: _host(m[1], m[0]), text)
    text = _EMAIL.sub(lambda m: _signs(m[0]), text)
    text = _PATH.sub(_path, text)
    text = _DOTTED.sub(_dotted, text)
    text = _NAME.sub(_name, text)
    text = _HIDDEN.sub("dot ", text)
    text = _HANDLE.sub("at ", text)
    text = _STATE_ZIP.sub(_state_zip, text)
    text = _CARD.sub(lambda m: _groups(m[0]), text)
    text = _SPACED_THOUSANDS.sub(lambda m: m["n"].replace(" ", ","), text)
    text = _PHONE.sub(lambda m: _groups(m[0]), text)
    text = _ZIP_PLUS.sub(lambda m: _groups(m[0]), text)
    text = _CUED.sub(lambda m: m["cue"] + _groups(m["code"]), text)
    text = _EMERGENCY.sub(lambda m: m["cue"] + digits(m["code"]), text)
    return _LONG.sub(lambda m: digits(m[0]), text)


def _host(host: str, whole: str) -> str:
    name = host.rpartition("@")[2].partition(":")[0].removeprefix("www.").strip(".,;!-")
    end = whole[-1] if whole[-1] in ".,;:!?" else ""
    return _signs(name) + end


def _signs(text: str) -> str:
    for sign, word in _SIGNS.items():
        text = text.replace(sign, word)
    return " ".join(text.split())


def _name(match: re.Match[str]) -> str:
    # "end.Of" is a missing space, "e.g" and "a.m" are abbreviations; names have longer parts.
    parts = match[0].split(".")
    if all(len(p) == 1 for p in parts) or max(len(p) for p in parts[:-1]) == 0:
        return match[0]
    if all(p.isdecimal() for p in parts[:-1]) and len(parts[-1]) < 3:
        return match[0]
    return " dot ".join(p.replace("_", " underscore ") for p in parts)


def _path(match: re.Match[str]) -> str:
    said = match[0].replace("~", "home ").replace("/", " slash ")
    return " ".join(said.split())


def _dotted(match: re.Match[str]) -> str:
    parts = match["n"].split(".")
    if all(len(p) == 3 for p in parts[1:]) and len(parts[0]) < 4 and match[0][0] != "v":
        return "".join(parts)
    word = " dot " if len(parts) == 4 else " point "
    said = word.join(cardinal(int(p)) if len(p) < 12 else digits(p) for p in parts)
    return ("version " if match[0][0] in "vV" else "") + said


def _groups(text: str) -> str:
    """Digits one by one, with a short pause between the groups."""
    said = ", ".join(digits(g) for g in re.split(r"[^\d]+", text) if g)
    return ("plus " if text.startswith("+") else "") + said


def _state_zip(match: re.Match[str]) -> str:
    said = f"{_STATES[match[1]].replace('_', ' ')} {digits(match[2])}"
    return f"{said}, {digits(match[3])}" if match[3] else said
