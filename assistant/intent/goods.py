"""What is commonly bought: words that tell two things from one whose name has an "and" in it."""

from __future__ import annotations

import re

GOODS = frozenset(
    """
    apple apricot aubergine avocado bacon bagel baguette banana basil bean beef beer beetroot
    berry biscuit blackberry blueberry bouillon bread brioche broccoli brownie bulgur bun burger
    butter buttermilk cabbage cake candy carrot cashew cauliflower celery cereal champagne
    cheddar cheese cherry chicken chickpea chilli chip chive chocolate cider cilantro cinnamon
    clementine cocoa coconut coffee coke coriander corn cornflakes couscous crab cracker cream
    crisp croissant cucumber cumin curry custard date detergent dill doughnut dressing duck egg
    eggplant espresso feta fig fish flour garlic gherkin gin ginger granola grape grapefruit
    gravy ham hazelnut herb honey houmous hummus jam jelly juice kale ketchup kiwi lager lamb
    lasagne leek lemon lemonade lentil lettuce lime liver lobster lolly macaroni mackerel mango
    margarine marmalade marmite mayo mayonnaise meat melon milk mince mint mozzarella muesli
    muffin mushroom mussel mustard nectarine noodle nut nutmeg oat oatmeal oil olive onion
    orange oregano pancake papaya paprika parmesan parsley parsnip pasta pastry pea peach peanut
    pear pepper pepperoni pesto pickle pie pineapple pistachio pitta pizza plum pomegranate
    popcorn pork porridge potato prawn pretzel pudding pumpkin quiche quinoa radish raisin
    raspberry rhubarb rice ricotta risotto roll rosemary rum rye saffron sage salad salami
    salmon salsa salt sandwich sardine sauce sausage scone shallot shrimp sirloin smoothie soda
    soup spaghetti spice spinach squash steak stock strawberry sugar sultana sushi sweetcorn
    sweet syrup tahini tangerine tea thyme tilapia toast tofu tomato tortilla treacle trout tuna
    turkey turmeric turnip vanilla veal vegetable veg fruit vinegar vodka waffle walnut wasabi
    water watercress watermelon whiskey whisky wine wrap yeast yoghurt yogurt zucchini courgette
    grocery groceries snack drink aspirin bandage battery bin-bag bleach body-wash broom brush
    bulb candle cardboard cat-food cleaner cleanser clingfilm cloth conditioner cotton deodorant
    diaper dog-food envelope film floss foil glue hairspray ibuprofen kibble kindling laundry
    lightbulb litter lotion marker matches medicine mop mouthwash nappy napkin nail needle
    notebook paint paper paracetamol pen pencil perfume pill pillow plaster plate polish powder
    printer-ink ink razor rope ruler sanitizer sanitiser screw scissors shampoo shower-gel gel
    soap softener sponge stamp stapler sticker string sunscreen suncream tablet tampon tape
    thread tissue toilet-paper toothbrush toothpaste torch towel umbrella vitamin wipe
    wrapping-paper charcoal compost fertiliser fertilizer flower seed sock shirt hat glove scarf
    shoe jacket jumper sweater trousers jeans swimsuit pyjamas underwear passport ticket charger
    cable tent toy ball bag bottle cup glass hammer saw screwdriver drill
    """.split()
)
"""Nouns in the singular."""

STAPLES = frozenset(
    """
    milk butter bread egg sugar flour coffee water rice pasta oil margarine yogurt yoghurt juice
    wine beer soap shampoo toothpaste paper tissue foil tape batteries
    """.split()
)
"""Never the first half of a flavour: "milk and tomato soup" are two."""

DISHES = frozenset(
    """
    bake bar biscuit burger cake casserole cereal chutney cookie cracker crisp crumble cupcake
    curry dip dressing flan frittata gratin jam jelly juice lasagne loaf marinade muffin noodle
    omelette pancake pasta pasty pie pilaf pizza popcorn pudding quiche ravioli relish risotto
    roll salad salsa sandwich sauce scone seasoning smoothie sorbet soup spread squash stew
    stuffing tart tea toastie turnover wrap yoghurt yogurt tortellini rub mix shampoo candle
    ice-cream
    """.split()
)
"""What two flavours may be of: "apple and blackberry crumble"."""

PAIRS = frozenset(
    """
    mac|cheese macaroni|cheese fish|chips salt|pepper half|half rum|coke gin|tonic bangers|mash
    sausage|mash bubble|squeak biscuits|gravy chicken|waffles franks|beans pork|beans rice|peas
    head|shoulders ben|jerry's ben|jerrys arts|crafts mum|dad mom|dad nuts|bolts m|m m|m's m|ms
    johnson|johnson arm|hammer dolce|gabbana marks|spencer black|decker barnes|noble
    bed|breakfast rock|roll odds|ends bits|bobs bits|pieces black|white hook|loop hide|seek
    lock|key trick|treat snakes|ladders dungeons|dragons beans|toast vodka|coke whisky|soda
    whiskey|soda surf|turf spaghetti|meatballs ham|eggs bacon|eggs cookies|cream
    strawberries|cream peaches|cream cream|sugar oil|vinegar sweet|sour hot|sour chips|dip
    chips|salsa salt|vinegar cheese|onion wear|tear pots|pans cup|saucer hat|coat
    """.split()
)
"""One thing when nothing else is said around them, or when they stand before a noun."""

FLAVOURS = frozenset(
    """
    salt|vinegar cheese|onion cheese|chive sweet|sour hot|sour oil|vinegar ham|cheese
    bread|butter peanut-butter|jelly peanut-butter|jam sour-cream|onion sour-cream|chive
    sage|onion steak|kidney steak|ale cookies|cream strawberries|cream peaches|cream black|white
    red|white hook|loop drip|dry wash|go grab|go rock|roll push|pull cut|paste vanilla|chocolate
    milk|honey oat|honey shea|butter tea-tree|mint
    """.split()
)
"""Halves of a name that need a noun after them: "bread and butter pudding"."""

_IRREGULAR = {
    "loaves": "loaf",
    "knives": "knife",
    "leaves": "leaf",
    "potatoes": "potato",
    "tomatoes": "tomato",
    "mangoes": "mango",
    "matches": "matches",
    "scissors": "scissors",
    "trousers": "trousers",
    "jeans": "jeans",
    "pyjamas": "pyjamas",
    "molasses": "molasses",
    "hummus": "hummus",
    "houmous": "houmous",
    "couscous": "couscous",
    "cookies": "cookie",
    "pies": "pie",
    "brownies": "brownie",
    "smoothies": "smoothie",
    "groceries": "groceries",
    "toothpaste": "toothpaste",
}
_ES = re.compile(r"(?:ch|sh|ss|x)es$")


def singular(word: str) -> str:
    """ "eggs" -> "egg"; for comparing words, not for speaking."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if _ES.search(word):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def is_goods(phrase: str) -> bool:
    """True when the phrase, in lower case, ends in a word for what is bought."""
    words = phrase.split()
    if not words:
        return False
    head = singular(words[-1])
    return head in GOODS or "-".join((*words[-2:-1], head)) in GOODS
