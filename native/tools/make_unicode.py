"""Writes native/src/unicode_ranges.inl from the classes of kvquant.tokenizer.

Both tokenizers must cut the same words, so there is one source of what is a letter, a number
or white space. Run from the repository root: python native/tools/make_unicode.py
"""

from __future__ import annotations

from pathlib import Path

from kvquant.tokenizer import _CLASSES, _CONTRACTION_LETTERS

OUT = Path(__file__).parents[1] / "src" / "unicode_ranges.inl"


def kind(code: int) -> str:
    found = _CLASSES[code]
    if found == " ":
        return "S"
    if found == "'":
        return "O"
    return "L" if found in _CONTRACTION_LETTERS else found


def main() -> None:
    ranges: list[tuple[int, int, str]] = []
    for code in range(0x110000):
        k = kind(code)
        if k == "O":
            continue
        if ranges and ranges[-1][1] == code - 1 and ranges[-1][2] == k:
            ranges[-1] = (ranges[-1][0], code, k)
        else:
            ranges.append((code, code, k))
    items = [f"{{0x{a:X}, 0x{b:X}, CharKind::k{k}}}," for a, b, k in ranges]
    lines = ["// Made by native/tools/make_unicode.py. First and last code point, ascending."]
    line = ""
    for item in items:
        if len(line) + len(item) + 1 > 100:
            lines.append(line)
            line = ""
        line = f"{line} {item}".strip()
    lines.append(line)
    OUT.write_text("\n".join(lines) + "\n")
    print(f"{len(ranges)} ranges")


if __name__ == "__main__":
    main()
