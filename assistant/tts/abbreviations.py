"""Abbreviations that end with a dot: where a sentence may end after one, and how it is said."""

from __future__ import annotations

TITLES = {
    "Mr": "Mister",
    "Mrs": "Missus",
    "Ms": "Miz",
    "Dr": "Doctor",
    "Prof": "Professor",
    "Rev": "Reverend",
    "Gen": "General",
    "Col": "Colonel",
    "Sgt": "Sergeant",
    "Capt": "Captain",
    "Lt": "Lieutenant",
    "Cmdr": "Commander",
    "Gov": "Governor",
    "Sen": "Senator",
    "Rep": "Representative",
    "Hon": "Honorable",
    "Pres": "President",
    "Mt": "Mount",
}
"""Before a name; never the end of a sentence."""

STREETS = {
    "St": "Street",
    "Ave": "Avenue",
    "Blvd": "Boulevard",
    "Rd": "Road",
    "Ln": "Lane",
    "Dr": "Drive",
    "Hwy": "Highway",
    "Ct": "Court",
    "Sq": "Square",
    "Pkwy": "Parkway",
}

AFTER_NAMES = {
    "Jr": "Junior",
    "Sr": "Senior",
    "Inc": "Incorporated",
    "Ltd": "Limited",
    "Co": "Company",
    "Corp": "Corporation",
    "Bros": "Brothers",
    "Esq": "Esquire",
}
"""After a name; a sentence may end there."""

WORDS = {
    "e.g": "for example",
    "i.e": "that is",
    "eg": "for example",
    "ie": "that is",
    "etc": "et cetera",
    "vs": "versus",
    "approx": "approximately",
    "cf": "compare",
    "ca": "circa",
    "dept": "department",
    "Dept": "Department",
    "govt": "government",
    "misc": "miscellaneous",
    "incl": "including",
    "excl": "excluding",
    "max": "maximum",
    "min": "minimum",
    "avg": "average",
    "temp": "temperature",
    "tbsp": "tablespoons",
    "tsp": "teaspoons",
    "a.k.a": "also known as",
    "w.r.t": "with respect to",
    "viz": "namely",
    "Apt": "Apartment",
    "est": "established",
}
"""Always said in full when the dot is there."""

UNDOTTED = {
    "vs": "versus",
    "etc": "et cetera",
    "approx": "approximately",
    "aka": "also known as",
    "tbsp": "tablespoons",
    "tsp": "teaspoons",
    "w/o": "without",
    "w/": "with",
    "c/o": "care of",
    "b/c": "because",
}
"""Said in full without a dot too."""

BEFORE_NUMBERS = {
    "No": "number",
    "no": "number",
    "Nos": "numbers",
    "nos": "numbers",
    "p": "page",
    "pp": "pages",
    "Fig": "figure",
    "fig": "figure",
    "Figs": "figures",
    "Vol": "volume",
    "vol": "volume",
    "Ch": "chapter",
    "ch": "chapter",
    "Sec": "section",
    "sec": "section",
    "Art": "article",
    "Eq": "equation",
    "eq": "equation",
    "Ep": "episode",
    "Rm": "room",
    "Apt": "apartment",
    "c": "circa",
    "approx": "approximately",
    "ca": "circa",
}
"""Only in front of a figure: "No. 5", but "No. I can't."."""

MONTHS = frozenset("Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec".split())
"""In front of a day no sentence ends."""

NEVER_LAST = frozenset(TITLES) | frozenset(
    "e.g i.e eg ie vs approx cf ca viz incl excl w.r.t a.k.a".split()
)
"""No sentence ends after these."""

UNIT_DOTS = frozenset(
    "min mins sec secs hr hrs ft in oz lb lbs yd yds mi gal qt pt tsp tbsp max avg".split()
)
"""A sentence ends here only before a capital."""

MAYBE_LAST = (
    frozenset(AFTER_NAMES)
    | (frozenset(STREETS) - {"Dr"})
    | frozenset("a.m p.m A.M P.M am pm etc Ph.D M.D B.A M.A B.Sc M.Sc D.C B.C A.D al dept".split())
)
"""The next word decides whether the sentence ends."""

STARTERS = frozenset(
    "A All Also Although An And Another Any Are As Ask At Be Because But By Can Could Did Do Does "
    "Each Even Every First For From Get Go Had Has Have He Her Here Hers His How However I If In "
    "Is It Its Just Last Later Let Like Many May Maybe Meanwhile More Most My Next No None Not Now "
    "Of Oh OK Okay On Once One Only Or Our Perhaps Please Say See She Should Since So Some Sorry "
    "Soon Still Such Take Tell Thank Thanks That The Their Then There These They This Those "
    "Though To Today Tomorrow Try Two Until Use Was We Well Were What When Where Which While Who "
    "Why Will With Would Yes Yet You Your I'm I'll I've It's He's She's They're We're We'll That's "
    "There's Don't You're What's Let's".split()
)
"""Words that start a sentence far more often than a name."""
