"""A modelled, not measured, figure of the engine on a Raspberry Pi 5.

    python tests/bench/model_pi5.py [--table]

Compiles the dot-product kernels for 64-bit ARM, cuts the inner loops out of the assembly and has
llvm-mca count their cycles on Neoverse N1, the server sibling of the Pi 5's Cortex-A76 (LLVM's own
cortex-a76 model is the older A57). Bytes per token are taken at 10 GB/s, the cores at 2.4 GHz.
Norms, rotation, softmax, barriers and sampling are left out, caches are taken as perfect: the
figure is a bound to compare kernels by. Ends in one line of JSON.

"tokens" are with the cache in half precision, "quantized" at 3.5 bits: 48 tokens as halves, every
block of the others at the price of 3-bit codes, the dearest to unpack.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPILER = "aarch64-linux-gnu-g++"
GHZ, CORES, GB_S = 2.4, 4, 10.0
DEPTHS = (0, 1024, 4096, 8000)

# SmolLM2-135M.
LAYERS, HIDDEN, FFN, KV, HEAD_DIM, KV_HEADS, VOCAB = 30, 576, 1536, 192, 64, 3, 49152
LAYER_WEIGHTS = 2 * HIDDEN * HIDDEN + 2 * KV * HIDDEN + 3 * FFN * HIDDEN
# 16 rows of 32 columns, as packed: codes and scales.
TILE, Q4_BYTES, Q8_BYTES = 512, 320, 544
# Of the quantized cache: scales and tags are in the bits.
CODE_BITS, HALVES, BLOCK = 3.5, 48, 16


@dataclass(frozen=True, slots=True)
class Kernel:
    """A part of one function: loops are told by the instruction that they are for.

    unit: how many of this instruction one unit of work needs; what the unit is.
    """

    name: str
    function: str
    instruction: str | tuple[str, ...]
    also: str
    unit: int
    what: str
    without: str = "no such instruction"


KERNELS = (
    Kernel("gemv q4_1", "gemm_q4ILi1E", "sdot", "sdot", 64, "16 rows x 32 columns"),
    Kernel("gemv q8_0", "gemm_q8ILi1E", "sdot", "sdot", 64, "16 rows x 32 columns"),
    # The two halves of attention are one shape: 16 halves widened, then 3 x 16 products.
    Kernel("attend fp16", "attend_queriesILi3E", "fmla", "fcvtl", 12, "16 halves x 3 queries"),
    Kernel("codes, unpack", "unpackILi4E", ("bit", "bsl", "bif"), "and", 32, "block of 3 bits"),
    Kernel("codes x queries", "multiply_keysILi3E", "sdot", "sdot", 192, "block x 3 queries"),
    Kernel("codes x weights", "attend_partsILi3E", "udot", "udot", 192, "block x 3 queries"),
    Kernel("scores", "weigh_partsILi3E", "fmax", "fmul", 4, "16 scores", without="frint"),
    Kernel("softmax", "weigh_partsILi3E", "frintm", "fmla", 4, "16 scores"),
    Kernel("weights to bytes", "weigh_partsILi3E", "frintn", "fmla", 4, "16 weights"),
)


def inner_loops(assembly: str, function: str) -> list[list[str]]:
    """Bodies of the innermost loops of the function whose mangled name holds ``function``."""
    start = re.search(rf"^_Z\w*{function}[\w.]*:$", assembly, re.M)
    if start is None:
        raise ValueError(f"there is no function {function}")
    end = assembly.index(".cfi_endproc", start.end())
    lines = [line.split("//")[0].strip() for line in assembly[start.end() : end].splitlines()]
    labels = {line[:-1]: i for i, line in enumerate(lines) if line.endswith(":")}
    loops = []
    for i, line in enumerate(lines):
        branch = re.match(r"(?:b\.\w+|b\w{2}|cbn?z|tbn?z)\s.*?(\.L\w+)$", line)
        if branch and labels.get(branch[1], i) < i:
            loops.append((labels[branch[1]], i))
    innermost = [
        (a, b)
        for a, b in loops
        if not any(a <= c and d <= b and (c, d) != (a, b) for c, d in loops)
    ]
    return [[x for x in lines[a : b + 1] if x and not x.startswith(".")] for a, b in innermost]


def cycles_of(loop: list[str], mca: str) -> float:
    """Cycles of one pass in a steady state."""
    # A branch out of the loop, to a label that is not there, is as dear as any other.
    body = [
        re.sub(r"\.L\w+", "0", x) if re.match(r"(b\.|b\w{2}\s|[ct]bn?z)", x) else x for x in loop
    ]
    done = subprocess.run(
        [mca, "-mtriple=aarch64", "-mcpu=neoverse-n1", "-iterations=200"],
        input="\n".join(body), capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = re.search(r"Total Cycles:\s+(\d+)", done.stdout)
    if found is None:
        raise ValueError("llvm-mca printed no cycles")
    return int(found[1]) / 200


def model(assembly: str, mca: str) -> dict[str, dict[str, float | str]]:
    """Cycles and instructions of one unit of each kernel."""
    out: dict[str, dict[str, float | str]] = {}
    for kernel in KERNELS:
        used = [
            loop
            for loop in inner_loops(assembly, kernel.function)
            if sum(x.startswith(kernel.instruction) for x in loop) >= max(1, kernel.unit // 8)
            and any(x.startswith(kernel.also) for x in loop)
            and not any(x.startswith(kernel.without) for x in loop)
        ]
        if not used:
            raise ValueError(f"no inner loop of {kernel.name} was found")
        # Where several do the same work, the slowest counts.
        units = [sum(x.startswith(kernel.instruction) for x in u) / kernel.unit for u in used]
        costs = [cycles_of(loop, mca) / n for loop, n in zip(used, units, strict=True)]
        slowest = costs.index(max(costs))
        out[kernel.name] = {
            "unit": kernel.what,
            "cycles": round(costs[slowest], 2),
            "instructions": round(len(used[slowest]) / units[slowest], 1),
            "loops": len(used),
        }
    return out


def per_token(
    kernels: dict[str, dict[str, float | str]], depth: int, *, quantized: bool
) -> dict[str, float]:
    """Milliseconds of reading and of computing one token; the slower of them is the bound."""

    def cost(name: str) -> float:
        return float(kernels[name]["cycles"])

    layer_tiles, head_tiles = LAYERS * LAYER_WEIGHTS / TILE, VOCAB * HIDDEN / TILE
    weight_bytes = layer_tiles * Q4_BYTES + head_tiles * Q8_BYTES
    coded = max(0, depth - HALVES) if quantized else 0
    numbers = LAYERS * 2 * KV
    cache_bytes = numbers * ((depth - coded) * 2 + coded * CODE_BITS / 8)
    per_query = cost("scores") + cost("softmax") + cost("weights to bytes")
    block = 2 * cost("codes, unpack") + cost("codes x queries") + cost("codes x weights")
    cycles = (
        layer_tiles * cost("gemv q4_1")
        + head_tiles * cost("gemv q8_0")
        + numbers * (depth - coded) / 16 * cost("attend fp16")
        + LAYERS * KV_HEADS * coded / BLOCK * (block + 3 * per_query)
    )
    reading = (weight_bytes + cache_bytes) / (GB_S * 1e6)
    computing = cycles / (GHZ * 1e6 * CORES)
    return {
        "depth": depth,
        "megabytes": round((weight_bytes + cache_bytes) / 1e6, 1),
        "reading_ms": round(reading, 2),
        "computing_ms": round(computing, 2),
        "overlapped_ms": round(max(reading, computing), 2),
        "in_turn_ms": round(reading + computing, 2),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help="print a table before the JSON")
    table = parser.parse_args().table
    names = ("llvm-mca-19", "llvm-mca")
    mca = next((found for name in names if (found := shutil.which(name))), None)
    if mca is None or shutil.which(COMPILER) is None:
        print("model_pi5: needs g++-aarch64-linux-gnu and llvm-19 (or llvm)", file=sys.stderr)
        return 3
    with tempfile.TemporaryDirectory() as folder:
        assembly = Path(folder) / "kernels.s"
        subprocess.run(
            [COMPILER, "-std=c++20", "-O3", "-DNDEBUG", "-fPIC", f"-I{ROOT / 'native' / 'src'}",
             "-S", "-o", str(assembly), str(ROOT / "native" / "src" / "kernels" / "neon_dot.cpp")],
            check=True,
        )  # fmt: skip
        kernels = model(assembly.read_text(encoding="utf-8"), mca)
    tokens = [per_token(kernels, depth, quantized=False) for depth in DEPTHS]
    quantized = [per_token(kernels, depth, quantized=True) for depth in DEPTHS[1:]]
    if table:
        for name, k in kernels.items():
            print(
                f"{name:16} {k['cycles']:7} cycles, {k['instructions']} instructions: {k['unit']}"
            )
        for cache, rows in (("half precision", tokens), ("3.5 bits", quantized)):
            for t in rows:
                print(
                    f"modelled, {cache}, depth {t['depth']:4}: {t['megabytes']} MB, "
                    f"reading {t['reading_ms']} ms, computing {t['computing_ms']} ms"
                )
    print(
        json.dumps(
            {
                "modelled": True,
                "mca": Path(mca).name,
                "ghz": GHZ,
                "cores": CORES,
                "gb_s": GB_S,
                "kernels": kernels,
                "tokens": tokens,
                "quantized": quantized,
            }
        )
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
