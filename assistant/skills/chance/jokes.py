"""Jokes that can be told in a kitchen; a small language model makes none that are."""

from __future__ import annotations

JOKES = (
    "Why did the egg hide? It was a little chicken.",
    "What do you call cheese that isn't yours? Nacho cheese.",
    "Why don't eggs tell jokes? They would crack each other up.",
    "What does a clock do when it's hungry? It goes back four seconds.",
    "Why did the tomato blush? It saw the salad dressing.",
    "I would tell you a joke about pizza, but it's a bit cheesy.",
    "What is brown and sticky? A stick.",
    "Why was the broom late? It overswept.",
    "What do you call a fish without eyes? A fsh.",
    "Why did the coffee file a report? It got mugged.",
    "How do you organise a party in space? You planet.",
    "What did one plate say to the other? Dinner is on me.",
    "Why can't a bicycle stand on its own? It is two tired.",
    "What do you get when you cross a snowman and a vampire? Frostbite.",
    "Why did the scarecrow win a prize? He was outstanding in his field.",
    "What kind of tree fits in your hand? A palm tree.",
)
