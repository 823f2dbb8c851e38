"""Values in spoken text: numbers, durations, times, percentages.

``parse_*`` takes a text that is nothing but the value and gives None when it is not
surely one; ``find_*`` looks for it inside a sentence. No model, no guessing: what is
not understood is None.

- number: ``parse_number(text)``, ``parse_ordinal(text)``, ``find_numbers(text)``
- duration: ``parse_duration(text)`` in seconds, ``find_duration(text)``, ``find_durations(text)``
- when: ``parse_time(text, now) -> When | None`` (``.at``, ``.has_date``, ``.has_time``),
  ``find_time(text, now) -> Span[When] | None``; now must have a time zone
- percent: ``parse_percent(text) -> Level | None`` (``.value`` 0 to 100, ``.said``, ``.clamped``),
  ``find_percent(text)``
"""
