"""Colours by name: "red", "light blue", "the dark sea green", as the web names them."""

from __future__ import annotations

from assistant.intent.values.cardinal import word_at
from assistant.intent.values.tokens import tokenize

_NAMES = frozenset(
    """aliceblue antiquewhite aqua aquamarine azure beige bisque black blanchedalmond blue
    blueviolet brown burlywood cadetblue chartreuse chocolate coral cornflowerblue cornsilk crimson
    cyan darkblue darkcyan darkgoldenrod darkgray darkgreen darkkhaki darkmagenta darkolivegreen
    darkorange darkorchid darkred darksalmon darkseagreen darkslateblue darkslategray darkturquoise
    darkviolet deeppink deepskyblue dimgray dodgerblue firebrick floralwhite forestgreen fuchsia
    gainsboro ghostwhite gold goldenrod gray green greenyellow honeydew hotpink indianred indigo
    ivory khaki lavender lavenderblush lawngreen lemonchiffon lightblue lightcoral lightcyan
    lightgoldenrodyellow lightgray lightgreen lightpink lightsalmon lightseagreen lightskyblue
    lightslategray lightsteelblue lightyellow lime limegreen linen magenta maroon mediumaquamarine
    mediumblue mediumorchid mediumpurple mediumseagreen mediumslateblue mediumspringgreen
    mediumturquoise mediumvioletred midnightblue mintcream mistyrose moccasin navajowhite navy
    oldlace olive olivedrab orange orangered orchid palegoldenrod palegreen paleturquoise
    palevioletred papayawhip peachpuff peru pink plum powderblue purple red rosybrown royalblue
    saddlebrown salmon sandybrown seagreen seashell sienna silver skyblue slateblue slategray snow
    springgreen steelblue tan teal thistle tomato turquoise violet wheat white whitesmoke yellow
    yellowgreen""".split()
)
_OTHERS = {
    "navyblue": "navy",
    "babyblue": "lightskyblue",
    "darkpink": "deeppink",
    "darkpurple": "indigo",
    "lightpurple": "mediumpurple",
    "lightorange": "sandybrown",
    "lightred": "lightcoral",
    "darkyellow": "goldenrod",
    "darkbrown": "saddlebrown",
    "lightbrown": "peru",
    "rose": "hotpink",
    "amber": "orange",
    "scarlet": "crimson",
    "lilac": "plum",
    "mint": "mintcream",
    "peach": "peachpuff",
    "cream": "oldlace",
    "bluegreen": "teal",
}


def parse_colour(text: str) -> str | None:
    """The web's name of the colour that the whole text is ("lightblue"), or None.

    "Grey" and "gray", "colour" and "color" are the same.
    """
    tokens = tokenize(text)
    words = [token.text for token in tokens if token.text != "-"]
    if word_at(tokens, 0) in ("the", "a"):
        words = words[1:]
    if words[:1] in (["colour"], ["color"]):
        words = words[1:]
    elif words[-1:] in (["colour"], ["color"]):
        words = words[:-1]
    name = "".join(words).replace("grey", "gray")
    return name if name in _NAMES else _OTHERS.get(name)
