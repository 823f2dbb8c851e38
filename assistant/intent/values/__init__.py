"""Values in spoken text: numbers, durations, times, percentages.

``parse_*`` takes a text that is nothing but the value and gives None when it is not
surely one; ``find_*`` looks for it inside a sentence. No model, no guessing: what is
not understood is None.

- number: ``parse_number(text)``, ``parse_ordinal(text)``, ``find_numbers(text)``
- number_range: ``find_number_ranges(text)``: "at least 3", "between 2 and 5"
- place: ``parse_place(text) -> Place | None`` ("second to last"), ``find_places(text)``
- duration: ``parse_duration(text)`` in seconds, ``find_duration(text)``, ``find_durations(text)``
- when: ``parse_time(text, now) -> When | None`` (``.at``, ``.has_date``, ``.has_time``),
  ``find_time(text, now)``, ``find_times(text, now)``; now must have a time zone
- ranges: ``parse_range(text, now) -> Range | None`` (``.start``, ``.end``, ``.stop``,
  ``.has_date``, ``.has_time``): "this weekend", "tomorrow from 3 to 5", "until friday";
  ``find_ranges(text, now)``
- mention: ``find_mentions(text, now)``: moments, ranges, lengths and recurrences together
- recurrence: ``parse_recurrence(text, now)`` as JSON ("every weekday at seven"),
  ``find_recurrences(text, now)``
- zone: ``parse_zone(text)``: "tokyo" -> "Asia/Tokyo"; ``known_places()``,
  ``find_zones(text)``
- percent: ``parse_percent(text) -> Level | None`` (``.value`` 0 to 100, ``.said``, ``.clamped``),
  ``find_percent(text)``, ``find_percents(text)``
- temperature: ``parse_temperature(text) -> Temperature | None`` (``.degrees``, ``.scale``),
  ``find_temperatures(text)``
- money: ``parse_money(text) -> Money | None`` (``.amount``, ``.currency``), ``find_money(text)``
- measure: ``find_measures(text)``, ``find_ages(text)``: "5 ft 2 in", "nine years old"
- colour: ``parse_colour(text)``: "light blue" -> "lightblue"

A whole-text parser is the safer one: a sentence may have lost a part in recognition, and
what is left of it may still look like a value. Each parser cuts the text into tokens
(``tokens``) and matches them from left to right (``match_*``: the value and the index of
the token after it); no pattern knows the sentence around it.
"""
