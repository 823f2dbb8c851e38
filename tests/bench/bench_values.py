"""Scores the parsers of values on the recognizers-text specifications (English).

``python tests/bench/bench_values.py --data DIR_OR_FILE`` prints one line of JSON, as
``assistant bench values --json`` does, and needs no settings. ``--show`` lists what is wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from assistant.bench.values import read_rows, score


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--show", action="store_true", help="list the rows that are wrong")
    options = parser.parse_args()
    print(json.dumps(score(read_rows(options.data), show=options.show)))


if __name__ == "__main__":
    main()
