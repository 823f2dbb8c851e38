"""Quantities: "25 °C", "5-10 km", "90 km/h", "1/2 tsp", "20%"."""

from __future__ import annotations

import re

from assistant.tts.spoken.context import is_attributive
from assistant.tts.spoken.numbers import AMOUNT, amount, is_one, share


def _regular(names: str) -> dict[str, tuple[str, str]]:
    """Lines "symbol symbol = name"; the plural takes an s."""
    table = {}
    for line in names.strip().splitlines():
        symbols, _, name = line.partition("=")
        for symbol in symbols.split():
            table[symbol] = (name.strip(), name.strip() + "s")
    return table


UNITS: dict[str, tuple[str, str]] = _regular(
    """
    km = kilometer
    m = meter
    cm = centimeter
    mm = millimeter
    nm = nanometer
    µm μm = micrometer
    mi = mile
    yd yds = yard
    kg = kilogram
    g = gram
    mg = milligram
    µg μg mcg = microgram
    lb lbs = pound
    oz = ounce
    l L = liter
    ml mL = milliliter
    cl cL = centiliter
    dl dL = deciliter
    gal = gallon
    qt = quart
    pt = pint
    tsp = teaspoon
    tbsp = tablespoon
    min mins = minute
    sec secs = second
    s = second
    ms msec = millisecond
    µs μs = microsecond
    ns = nanosecond
    h hr hrs = hour
    wk wks = week
    yr yrs = year
    mo mos = month
    W = watt
    kW = kilowatt
    MW = megawatt
    GW = gigawatt
    Wh = watt hour
    kWh = kilowatt hour
    MWh = megawatt hour
    V = volt
    kV = kilovolt
    mV = millivolt
    mA = milliamp
    mAh = milliamp hour
    Ω = ohm
    kΩ = kilohm
    kB KB = kilobyte
    MB = megabyte
    GB = gigabyte
    TB = terabyte
    KiB = kibibyte
    MiB = mebibyte
    GiB = gibibyte
    Mbit = megabit
    Gbit = gigabit
    px = pixel
    dB = decibel
    cal = calorie
    kcal = kilocalorie
    kJ = kilojoule
    MJ = megajoule
    kPa = kilopascal
    hPa = hectopascal
    mbar = millibar
    ha = hectare
    """
) | {
    "%": ("percent", "percent"),
    "‰": ("per mille", "per mille"),
    "°": ("degree", "degrees"),
    "°C": ("degree Celsius", "degrees Celsius"),
    "°F": ("degree Fahrenheit", "degrees Fahrenheit"),
    "C": ("degree Celsius", "degrees Celsius"),
    "F": ("degree Fahrenheit", "degrees Fahrenheit"),
    "°N": ("degree north", "degrees north"),
    "°S": ("degree south", "degrees south"),
    "°E": ("degree east", "degrees east"),
    "°W": ("degree west", "degrees west"),
    "ft": ("foot", "feet"),
    "sq ft": ("square foot", "square feet"),
    "sq mi": ("square mile", "square miles"),
    "sq m": ("square meter", "square meters"),
    "sq km": ("square kilometer", "square kilometers"),
    "fl oz": ("fluid ounce", "fluid ounces"),
    "mph": ("mile per hour", "miles per hour"),
    "mpg": ("mile per gallon", "miles per gallon"),
    "kph": ("kilometer per hour", "kilometers per hour"),
    "kmh": ("kilometer per hour", "kilometers per hour"),
    "bpm": ("beat per minute", "beats per minute"),
    "rpm": ("revolution per minute", "revolutions per minute"),
    "fps": ("frame per second", "frames per second"),
    "ppm": ("part per million", "parts per million"),
    "kbps": ("kilobit per second", "kilobits per second"),
    "Mbps": ("megabit per second", "megabits per second"),
    "Gbps": ("gigabit per second", "gigabits per second"),
    "Hz": ("hertz", "hertz"),
    "kHz": ("kilohertz", "kilohertz"),
    "MHz": ("megahertz", "megahertz"),
    "GHz": ("gigahertz", "gigahertz"),
    "psi": ("P S I", "P S I"),
}
"""Symbol -> singular, plural. Only read as a unit after a number."""

_POWERS = {"²": "square", "2": "square", "³": "cubic", "3": "cubic"}
for _unit in ("m", "km", "ft"):
    for _square in ("²", "2", "^2"):
        UNITS[f"{_unit}/s{_square}"] = (
            f"{UNITS[_unit][0]} per second squared",
            f"{UNITS[_unit][1]} per second squared",
        )
_LENGTHS = ("km", "m", "cm", "mm", "ft", "mi", "in")
for _symbol in _LENGTHS:
    _one, _many = UNITS.get(_symbol, ("inch", "inches"))
    for _power, _word in _POWERS.items():
        UNITS[_symbol + _power] = (f"{_word} {_one}", f"{_word} {_many}")

_NAMES = "|".join(re.escape(u) for u in sorted(UNITS, key=len, reverse=True))
_QUANTITY = re.compile(
    rf"(?<![\w.,/:])(?P<minus>-)?(?P<low>{AMOUNT})"
    rf"(?:\s?(?:{_NAMES})?\s?(?P<link>[-–]|to|or|and|±)\s?(?P<high>-?{AMOUNT}))?"
    rf"(?P<gap>\s?|-)(?P<unit>{_NAMES})(?![A-Za-z0-9²³°'])(?:/(?P<each>[A-Za-z]+[²³]?)(?![\w/]))?"
    r"(?P<dot>\.(?=\s+[a-z0-9]))?"
)
_INCHES = re.compile(
    rf"(?<![\w.,/])(?P<low>{AMOUNT})(?P<gap>-?)in(?![A-Za-z0-9])"
    rf"|(?<![\w.,/])(?P<low2>{AMOUNT}) in\.(?=\s+[a-z]|,|$)"
)
_FEET_INCHES = re.compile(r"(?<![\w.,/])(?P<feet>\d{1,2})'\s?(?P<inches>\d{1,2})(?:\"|'')")
_SPACED_DEGREE = re.compile(r"(?<=\d)\s?°\s+(?=[CF]\b)")
_LONE_PER = re.compile(
    r"(?<![\w/])(?P<a>km|m|mi|MB|GB|kB|Mbit|Gbit)/(?P<b>h|s|hr|sec|min)(?![\w/])"
)
_MILLIONS = re.compile(r"(?<![\w.,])(\d+\.\d+)M(?![\w²³])")
_BY = re.compile(rf"(\d\s?(?:{'|'.join(_LENGTHS)}))\s?[xX×]\s?(?=\d)")
_COUNTED_PER = re.compile(r"(?<=\d )([a-z]{3,}s)/(s|sec|min|h|hr)(?![\w/])")


def per(symbol: str) -> str:
    """The word after "per": "kg" -> "kilogram"; a word that is no unit stays."""
    return UNITS[symbol][0] if symbol in UNITS else symbol


def units(text: str) -> str:
    """Quantities with a unit as words."""
    text = _SPACED_DEGREE.sub("°", text)
    text = _MILLIONS.sub(r"\1 million", text)
    text = _FEET_INCHES.sub(
        lambda m: (
            f"{amount(m['feet'])} {'foot' if is_one(m['feet']) else 'feet'} "
            f"{amount(m['inches'])} {'inch' if is_one(m['inches']) else 'inches'}"
        ),
        text,
    )
    text = _BY.sub(r"\1 by ", text)
    text = _QUANTITY.sub(_quantity, text)
    text = _COUNTED_PER.sub(lambda m: f"{m[1]} per {UNITS[m[2]][0]}", text)
    text = _INCHES.sub(_inches, text)
    return _LONE_PER.sub(lambda m: f"{UNITS[m['a']][1]} per {UNITS[m['b']][0]}", text)


def _quantity(match: re.Match[str]) -> str:
    low, high, unit = match["low"], match["high"], match["unit"]
    one, many = UNITS[unit]
    tail = f" per {per(match['each'])}" if match["each"] else ""
    single = match["gap"] == "-" or is_attributive(match.string, match.start(), match.end())
    sign = "minus " if match["minus"] else ""
    if high:
        link = {"-": "to", "–": "to", "±": "plus or minus"}.get(match["link"], match["link"])
        return f"{sign}{_signed(low)} {link} {_signed(high)} {one if single else many}{tail}"
    if "/" in low and " " not in low and not single and unit not in ("%", "‰"):
        return f"{sign}{share(low, one)}{tail}"
    return f"{sign}{amount(low)} {one if single or is_one(low) else many}{tail}"


def _signed(text: str) -> str:
    return f"minus {amount(text[1:])}" if text.startswith("-") else amount(text)


def _inches(match: re.Match[str]) -> str:
    low = match["low"] or match["low2"]
    single = match["gap"] == "-" or is_attributive(match.string, match.start(), match.end())
    return f"{amount(low)} {'inch' if single or is_one(low) else 'inches'}"
