"""Places and names of zones beside the cities that the time zone database itself names.

A country with several zones stands for the one where most of its people or its capital
are, and so does a state.
"""

from __future__ import annotations

NAMES_BY_ZONE: dict[str, str] = {
    "Africa/Abidjan": "ivory coast",
    "Africa/Accra": "ghana",
    "Africa/Addis_Ababa": "ethiopia",
    "Africa/Algiers": "algeria",
    "Africa/Cairo": "egypt, alexandria, giza",
    "Africa/Casablanca": "morocco, marrakesh, marrakech, rabat, fez, tangier",
    "Africa/Dakar": "senegal",
    "Africa/Dar_es_Salaam": "tanzania, zanzibar",
    "Africa/Harare": "zimbabwe",
    "Africa/Johannesburg": "south africa, cape town, durban, pretoria",
    "Africa/Kampala": "uganda",
    "Africa/Khartoum": "sudan",
    "Africa/Kigali": "rwanda",
    "Africa/Kinshasa": "congo",
    "Africa/Lagos": "nigeria, abuja",
    "Africa/Luanda": "angola",
    "Africa/Lusaka": "zambia",
    "Africa/Maputo": "mozambique",
    "Africa/Nairobi": "kenya, mombasa, east africa time",
    "Africa/Tripoli": "libya",
    "Africa/Tunis": "tunisia",
    "Africa/Windhoek": "namibia",
    "America/Anchorage": "alaska, juneau, fairbanks, akst, akdt",
    "America/Argentina/Buenos_Aires": "argentina, buenos aires, cordoba argentina, rosario",
    "America/Bogota": "colombia, medellin, cali",
    "America/Caracas": "venezuela",
    "America/Chicago": (
        "houston, dallas, austin, san antonio, fort worth, new orleans, minneapolis, st paul,"
        " saint paul, milwaukee, st louis, saint louis, kansas city, memphis, nashville, omaha,"
        " oklahoma city, tulsa, madison, des moines, wichita, birmingham alabama, little rock,"
        " texas, illinois, wisconsin, minnesota, iowa, missouri, arkansas, louisiana,"
        " mississippi, alabama, tennessee, oklahoma, kansas, nebraska, south dakota,"
        " north dakota, paris texas, central, us central, midwest, cst, cdt, central standard,"
        " central daylight"
    ),
    "America/Costa_Rica": "san jose costa rica",
    "America/Denver": (
        "colorado springs, boulder, salt lake city, albuquerque, santa fe, el paso, billings,"
        " colorado, utah, new mexico, wyoming, montana, mountain, us mountain, mst, mdt,"
        " mountain standard, mountain daylight"
    ),
    "America/Boise": "idaho",
    "America/Detroit": "michigan, ann arbor, grand rapids",
    "America/Edmonton": "calgary, alberta, banff",
    "America/Guayaquil": "ecuador, quito",
    "America/Halifax": "nova scotia, new brunswick, atlantic, atlantic standard, ast, adt",
    "America/Havana": "cuba",
    "America/Indiana/Indianapolis": "indianapolis, indiana",
    "America/Kentucky/Louisville": "louisville, kentucky",
    "America/La_Paz": "bolivia",
    "America/Lima": "peru, cusco",
    "America/Los_Angeles": (
        "la, l a, san francisco, san fran, san diego, san jose, sacramento, oakland, berkeley,"
        " palo alto, silicon valley, seattle, portland, portland oregon, las vegas, vegas, reno,"
        " spokane, tacoma, long beach, fresno, hollywood, california, oregon, washington state,"
        " nevada, west coast, pacific, us pacific, pst, pdt, pacific standard, pacific daylight"
    ),
    "America/Mexico_City": "mexico, guadalajara, puebla",
    "America/Montevideo": "uruguay",
    "America/New_York": (
        "new york city, nyc, n y c, manhattan, brooklyn, boston, philadelphia, washington,"
        " washington dc, washington d c, d c, dc, atlanta, miami, orlando, tampa, jacksonville,"
        " charlotte, raleigh, pittsburgh, cleveland, columbus, cincinnati, buffalo, baltimore,"
        " richmond, newark, hartford, providence, portland maine, savannah, charleston,"
        " new jersey, pennsylvania, massachusetts, connecticut, rhode island, vermont,"
        " new hampshire, maine, maryland, delaware, virginia, west virginia, north carolina,"
        " south carolina, florida, ohio, new york state, united states, the united states, usa,"
        " us, the us, u s a, america, east coast, eastern, us eastern, est, edt, eastern standard,"
        " eastern daylight"
    ),
    "America/Phoenix": "arizona, tucson, scottsdale",
    "America/Puerto_Rico": "san juan",
    "America/Regina": "saskatchewan, saskatoon",
    "America/Santiago": "chile",
    "America/Sao_Paulo": "brazil, brasilia, rio de janeiro, rio, belo horizonte, curitiba",
    "America/St_Johns": "newfoundland, st john's, saint john's",
    "America/Toronto": "canada, ontario, quebec, ottawa, montreal, quebec city, hamilton",
    "America/Vancouver": "british columbia, victoria, whistler",
    "America/Winnipeg": "manitoba",
    "Asia/Almaty": "kazakhstan, astana",
    "Asia/Amman": "jordan",
    "Asia/Baghdad": "iraq",
    "Asia/Baku": "azerbaijan",
    "Asia/Bangkok": "thailand, phuket, chiang mai, indochina",
    "Asia/Beirut": "lebanon",
    "Asia/Colombo": "sri lanka",
    "Asia/Damascus": "syria",
    "Asia/Dhaka": "bangladesh",
    "Asia/Dubai": "united arab emirates, the united arab emirates, uae, u a e, abu dhabi, gulf",
    "Asia/Ho_Chi_Minh": "vietnam, hanoi, ho chi minh city",
    "Asia/Jakarta": "indonesia",
    "Asia/Jerusalem": "israel, tel aviv, haifa",
    "Asia/Kabul": "afghanistan",
    "Asia/Karachi": "pakistan, lahore, islamabad",
    "Asia/Kathmandu": "nepal",
    "Asia/Kolkata": (
        "india, mumbai, bombay, delhi, new delhi, bangalore, bengaluru, chennai, madras,"
        " hyderabad, pune, calcutta, ahmedabad, jaipur, goa, indian standard"
    ),
    "Asia/Kuala_Lumpur": "malaysia",
    "Asia/Makassar": "bali, denpasar",
    "Asia/Manila": "philippines, the philippines, cebu",
    "Asia/Muscat": "oman",
    "Asia/Nicosia": "cyprus",
    "Asia/Phnom_Penh": "cambodia",
    "Asia/Pyongyang": "north korea",
    "Asia/Qatar": "doha",
    "Asia/Riyadh": "saudi arabia, mecca, jeddah",
    "Asia/Seoul": "south korea, korea, busan, korean",
    "Asia/Shanghai": (
        "china, beijing, peking, shenzhen, guangzhou, chengdu, wuhan, xian, nanjing, hangzhou"
    ),
    "Asia/Taipei": "taiwan",
    "Asia/Tashkent": "uzbekistan",
    "Asia/Tehran": "iran",
    "Asia/Tokyo": (
        "japan, osaka, kyoto, yokohama, nagoya, sapporo, hiroshima, fukuoka, tokio, japanese, jst"
    ),
    "Asia/Ulaanbaatar": "mongolia, ulan bator",
    "Asia/Yangon": "myanmar, burma",
    "Asia/Yekaterinburg": "yekaterinburg",
    "Asia/Yerevan": "armenia",
    "Atlantic/Reykjavik": "iceland",
    "Australia/Adelaide": "south australia",
    "Australia/Brisbane": "queensland, gold coast, cairns",
    "Australia/Darwin": "alice springs",
    "Australia/Hobart": "tasmania",
    "Australia/Perth": "western australia",
    "Australia/Sydney": "australia, canberra, new south wales, aest, aedt, australian eastern",
    "Europe/Amsterdam": (
        "netherlands, the netherlands, holland, rotterdam, the hague, utrecht, eindhoven"
    ),
    "Europe/Athens": "greece, thessaloniki, crete",
    "Europe/Belgrade": "serbia",
    "Europe/Berlin": (
        "germany, munich, hamburg, frankfurt, cologne, stuttgart, dusseldorf, leipzig, dresden,"
        " hanover, nuremberg, bremen, german"
    ),
    "Europe/Bratislava": "slovakia",
    "Europe/Brussels": "belgium, antwerp, ghent, bruges",
    "Europe/Bucharest": "romania",
    "Europe/Budapest": "hungary",
    "Europe/Chisinau": "moldova",
    "Europe/Copenhagen": "denmark, aarhus",
    "Europe/Dublin": "ireland, cork, galway, irish",
    "Europe/Helsinki": "finland, espoo, tampere, eastern european, eet",
    "Europe/Istanbul": "turkey, ankara, izmir, antalya",
    "Europe/Kyiv": "ukraine, kiev, lviv, odesa, odessa",
    "Europe/Lisbon": "portugal, porto, western european, wet",
    "Europe/Ljubljana": "slovenia",
    "Europe/London": (
        "england, scotland, wales, britain, great britain, united kingdom, the united kingdom, uk,"
        " the uk, u k, northern ireland, belfast, edinburgh, glasgow, cardiff, manchester,"
        " birmingham, liverpool, leeds, bristol, oxford, cambridge, british, british summer, bst"
    ),
    "Europe/Madrid": "spain, barcelona, valencia, seville, malaga, bilbao, majorca, ibiza",
    "Europe/Minsk": "belarus",
    "Europe/Moscow": "russia, st petersburg, saint petersburg",
    "Europe/Oslo": "norway, bergen",
    "Europe/Paris": (
        "france, marseille, lyon, nice, toulouse, bordeaux, strasbourg, cannes, central european,"
        " cet, cest, central european summer"
    ),
    "Europe/Prague": "czech republic, the czech republic, czechia, brno",
    "Europe/Riga": "latvia",
    "Europe/Rome": "italy, milan, naples, venice, florence, turin, bologna, sicily, italian",
    "Europe/Sarajevo": "bosnia",
    "Europe/Skopje": "north macedonia, macedonia",
    "Europe/Sofia": "bulgaria",
    "Europe/Stockholm": "sweden, gothenburg, malmo",
    "Europe/Tallinn": "estonia",
    "Europe/Tirane": "albania, tirana",
    "Europe/Vienna": "austria, salzburg, graz, innsbruck",
    "Europe/Vilnius": "lithuania",
    "Europe/Warsaw": "poland, krakow, cracow, gdansk, wroclaw",
    "Europe/Zagreb": "croatia, split, dubrovnik",
    "Europe/Zurich": "switzerland, geneva, basel, bern, lausanne, lucerne",
    "Pacific/Auckland": "new zealand, wellington, christchurch, queenstown, nzst, nzdt",
    "Pacific/Honolulu": "hawaii, maui, waikiki, hst, hawaiian",
    "UTC": (
        "utc, gmt, u t c, g m t, greenwich, greenwich mean, universal, coordinated universal, zulu"
    ),
}

REGIONS: frozenset[str] = frozenset(
    name.replace("_", " ")
    for name in """alabama alaska arizona arkansas california colorado connecticut delaware florida
    hawaii idaho illinois indiana iowa kansas kentucky louisiana maine maryland massachusetts
    michigan minnesota mississippi missouri montana nebraska nevada new_hampshire new_jersey
    new_mexico north_carolina north_dakota ohio oklahoma oregon pennsylvania rhode_island
    south_carolina south_dakota tennessee texas utah vermont virginia washington_state
    west_virginia wisconsin wyoming new_york ontario quebec british_columbia alberta manitoba
    saskatchewan nova_scotia new_brunswick newfoundland england scotland wales ireland germany
    france spain italy portugal netherlands belgium switzerland austria poland sweden norway
    denmark finland greece turkey india china japan south_korea thailand vietnam philippines
    egypt morocco kenya nigeria south_africa argentina chile colombia peru new_zealand queensland
    tasmania new_south_wales western_australia south_australia""".split()
)
"""Regions with one zone, or nearly: any town in them is of that zone."""
