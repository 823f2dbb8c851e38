"""Units of measure: their names as people say them, and exact factors between them.

Cups, pints, gallons and fluid ounces are those of the United States unless "imperial" or "UK"
stands before them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

MONEY = "money"
"""The dimension of currencies: they have names here and no factors."""


@dataclass(frozen=True, slots=True)
class Unit:
    """name: singular; factor: of the dimension's base unit; offset: added after the factor."""

    name: str
    plural: str
    dimension: str
    factor: Fraction
    offset: Fraction = Fraction(0)


_LINES = """
length: millimetre 1/1000 mm millimeter | centimetre 1/100 cm centimeter | metre 1 m meter
  | kilometre 1000 km kilometer kay kays kms | inch 254/10000 in " | foot 3048/10000 ft feet '
  | yard 9144/10000 yd yds | mile 1609344/1000 mi | nautical_mile 1852 sea_mile
  | light_year 9460730472580800 lightyear | micrometre 1/1000000 micrometer micron
  | decimetre 1/10 dm decimeter | furlong 201168/1000 | fathom 18288/10000
mass: milligram 1/1000000 mg milligramme | gram 1/1000 g gramme | kilogram 1 kg kilo kilogramme kgs
  | tonne 1000 metric_ton | ounce 28349523125/1000000000000 oz ozs | pound 45359237/100000000 lb lbs
  | stone 635029318/100000000 st | ton 90718474/100000 short_ton us_ton
  | long_ton 10160469088/10000000 imperial_ton uk_ton | carat 1/5000
volume: millilitre 1/1000 ml milliliter mil mils | centilitre 1/100 cl centiliter
  | decilitre 1/10 dl deciliter | litre 1 l liter ltr ltrs | cubic_metre 1000 cubic_meter
  | cubic_centimetre 1/1000 cc cubic_centimeter ccs | teaspoon 492892159375/100000000000000 tsp tsps
  | tablespoon 1478676478125/100000000000000 tbsp tbsps tbs | cup 2365882365/10000000000 us_cup
  | fluid_ounce 295735295625/10000000000000 fl_oz floz us_fluid_ounce
  | pint 473176473/1000000000 us_pint pt
  | quart 946352946/1000000000 qt us_quart | gallon 3785411784/1000000000 gal us_gallon
  | imperial_pint 56826125/100000000 uk_pint british_pint
  | imperial_gallon 454609/100000 uk_gallon british_gallon
  | imperial_fluid_ounce 284130625/10000000000 uk_fluid_ounce
  | imperial_quart 11365225/10000000 uk_quart | metric_cup 1/4
  | cubic_inch 16387064/1000000000 | cubic_foot 28316846592/1000000000 cubic_feet
  | barrel 158987294928/1000000000 oil_barrel
time: millisecond 1/1000 ms msec | second 1 s sec secs | minute 60 min mins | hour 3600 h hr hrs
  | day 86400 | week 604800 wk wks | fortnight 1209600 | month 2628000 | year 31536000 yr yrs
  | decade 315360000 | century 3153600000 | microsecond 1/1000000
speed: metre_per_second 1 m/s meter_per_second mps meters_per_second metres_per_second
  | kilometre_per_hour 1000/3600 km/h kmh kph kilometer_per_hour kilometers_per_hour
    kilometres_per_hour kilometres_an_hour kilometers_an_hour
  | mile_per_hour 1609344/3600000 mph miles_per_hour miles_an_hour | knot 1852/3600 kn kt
  | foot_per_second 3048/10000 feet_per_second ft/s fps
area: square_metre 1 square_meter sqm sq_m m² m2 | square_centimetre 1/10000 square_centimeter cm²
  | square_kilometre 1000000 square_kilometer sq_km km² km2 | hectare 10000 ha
  | acre 40468564224/10000000 | square_foot 9290304/100000000 square_feet sq_ft ft² sqft
  | square_inch 64516/100000000 sq_in | square_yard 83612736/100000000 sq_yd
  | square_mile 2589988110336/1000000 sq_mi
data: bit 1/8 | byte 1 | kilobyte 1000 kb | megabyte 1000000 mb meg megs
  | gigabyte 1000000000 gb gig gigs | terabyte 1000000000000 tb | petabyte 1000000000000000 pb
  | kilobit 125 kbit | megabit 125000 mbit | gigabit 125000000 gbit | kibibyte 1024 kib
  | mebibyte 1048576 mib | gibibyte 1073741824 gib | tebibyte 1099511627776 tib
energy: joule 1 | kilojoule 1000 kj | calorie 4184 cal kcal kcals kilocalorie
  | watt_hour 3600 wh | kilowatt_hour 3600000 kwh kilowatthour
power: watt 1 w | kilowatt 1000 kw | megawatt 1000000 mw
  | horsepower 74569987158227022/100000000000000 hp
pressure: pascal 1 pa | kilopascal 1000 kpa | hectopascal 100 hpa | bar 100000 | millibar 100 mbar
  | psi 6894757293168/1000000000 pound_per_square_inch pounds_per_square_inch
  | atmosphere 101325 atm
angle: degree 1 deg | radian 5729577951308232/100000000000000 rad | turn 360 revolution
money: dollar 1 $ buck usd us_dollar | euro 1 € eur | pound_sterling 1 £ gbp quid british_pound
  pounds_sterling | yen 1 ¥ jpy | franc 1 chf swiss_franc | rupee 1 inr | yuan 1 cny renminbi
  | krona 1 kronor sek | krone 1 kroner | peso 1 | ruble 1 rouble | won 1 | bitcoin 1 btc
  | zloty 1 | real 1 reais | lira 1 | rand 1 | cent 1 | penny 1 pence
"""

_PLURALS = {
    "foot": "feet", "inch": "inches", "century": "centuries", "stone": "stone", "psi": "psi",
    "square_foot": "square feet", "cubic_foot": "cubic feet", "square_inch": "square inches",
    "cubic_inch": "cubic inches", "horsepower": "horsepower", "yen": "yen", "yuan": "yuan",
    "pound_sterling": "pounds sterling", "penny": "pence", "krona": "kronor", "krone": "kroner",
    "rand": "rand", "won": "won", "real": "reais", "foot_per_second": "feet per second",
}  # fmt: skip


def _units() -> dict[str, Unit]:
    """Every name, singular and plural, with its unit."""
    table: dict[str, Unit] = {}
    text = " ".join(_LINES.split())
    for head, rest in _dimensions(text):
        for entry in rest.split("|"):
            name, factor, *others = entry.split()
            plural = _PLURALS.get(name) or _plural(name)
            spoken = name.replace("_", " ")
            unit = Unit(spoken, plural.replace("_", " "), head, Fraction(factor))
            for word in (name, plural, *others, *(_plural(other) for other in others)):
                table.setdefault(word.replace("_", " "), unit)
    for name, factor, offset, *others in (
        ("degree Celsius", "1", "0", "celsius", "centigrade", "c", "°c", "celcius"),
        ("degree Fahrenheit", "5/9", "-160/9", "fahrenheit", "f", "°f", "farenheit"),
        ("kelvin", "1", "-27315/100", "kelvins", "k"),
    ):
        plural = name.replace("degree ", "degrees ")
        unit = Unit(name, plural, "temperature", Fraction(factor), Fraction(offset))
        for word in (name.lower(), plural.lower(), *others):
            table[word] = unit
            table[f"degrees {word}"] = table[f"degree {word}"] = unit
    return table


def _dimensions(text: str) -> list[tuple[str, str]]:
    parts = text.split(": ")
    heads = [parts[0], *(part.rpartition(" ")[2] for part in parts[1:-1])]
    bodies = [*(part.rpartition(" ")[0] for part in parts[1:-1]), parts[-1]]
    return list(zip(heads, bodies, strict=True))


def _plural(name: str) -> str:
    if "_per_" in name:
        first, _, rest = name.partition("_per_")
        return f"{_plural(first)}_per_{rest}"
    return name if name.endswith("s") else f"{name}s"


UNITS = _units()
LONGEST = max(len(name.split()) for name in UNITS)
"""Words of the longest name."""

_ABBREVIATED = frozenset(name for name in UNITS if len(name) <= 2)
"""Letters that are a unit only right behind a number."""

_PARTNERS = {
    "metre": "foot", "centimetre": "inch", "millimetre": "inch", "kilometre": "mile",
    "kilogram": "pound", "gram": "ounce", "litre": "gallon", "millilitre": "fluid ounce",
    "degree Celsius": "degree Fahrenheit", "kilometre per hour": "mile per hour",
    "square metre": "square foot", "hectare": "acre", "stone": "kilogram", "yard": "metre",
    "cup": "millilitre", "tablespoon": "millilitre", "teaspoon": "millilitre", "pint": "litre",
    "quart": "litre", "foot": "metre", "kilojoule": "calorie", "bar": "psi",
}  # fmt: skip


def find_unit(name: str, *, after_number: bool = False) -> Unit | None:
    """The unit of that name; single letters and the like only behind a number."""
    word = " ".join(name.lower().replace("-", " ").split())
    if word in _ABBREVIATED and not after_number:
        return None
    return UNITS.get(word)


def partner(unit: Unit) -> Unit | None:
    """The unit that is meant by "convert five miles"; None when it could be many."""
    other = _PARTNERS.get(unit.name)
    if other is None:
        other = next((name for name, back in _PARTNERS.items() if back == unit.name), None)
    return UNITS[other.lower()] if other else None


def meant_together(one: Unit, other: Unit) -> tuple[Unit, Unit]:
    """Ounces beside a volume are fluid ounces, pounds beside money are money."""
    for word, dimension, unit in (
        ("ounce", "volume", UNITS["fluid ounce"]),
        ("pound", MONEY, UNITS["pound sterling"]),
    ):
        if one.name == word and other.dimension == dimension:
            one = unit
        if other.name == word and one.dimension == dimension:
            other = unit
    return one, other


def convert(amount: Fraction, one: Unit, other: Unit) -> Fraction:
    """Both of the same dimension."""
    assert one.dimension == other.dimension, (one, other)
    base = amount * one.factor + one.offset
    return (base - other.offset) / other.factor
