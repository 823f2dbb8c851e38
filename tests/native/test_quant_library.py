"""The quantization kernels that people compile alone: the documented lines, codes, errors, ARM."""

from __future__ import annotations

import ctypes
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from kvquant.quantizer import dequantize, quantize

ROOT = Path(__file__).parents[2]
HEADING = "## The quantization kernels alone"
SOURCE = ROOT / "native" / "quant_kernel.cpp"
NULL, BITS, SIZE, GROUP, EXPONENT = -1, -2, -3, -4, -5
CROSS = "aarch64-linux-gnu-g++"
# (columns, group): the model's rows, short last groups, odd tails, groups off the fast way.
SHAPES = [(64, 64), (576, 64), (192, 64), (1536, 128), (16, 64), (17, 64), (100, 64), (1100, 64),
          (33, 32), (250, 96), (31, 7), (1, 1)]  # fmt: skip

Array = NDArray[Any]


def section() -> dict[str, list[str]]:
    """Code blocks of the README's section by language."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    part = text.split(HEADING + "\n", 1)[1].split("\n## ", 1)[0]
    blocks: dict[str, list[str]] = {}
    for language, block in re.findall(r"```(\w+)\n(.*?)```", part, re.DOTALL):
        blocks.setdefault(language, []).append(block)
    return blocks


def build_line(arm: bool) -> list[str]:
    """The README's command, word by word."""
    lines = [line for block in section()["sh"] for line in block.splitlines()]
    (line,) = [line for line in lines if ("armv8" in line) == arm]
    return line.split()


def build(folder: Path, command: list[str]) -> Path:
    """Runs a documented command with the library put into ``folder``."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    out = folder / "libquant.so"
    words = [str(out) if word == "libquant.so" else word for word in command]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "the documented command prints warnings"
    return out


@dataclass
class Quantized:
    codes: Array
    scales: Array
    zeros: Array
    exponent: int


class Library:
    """The C functions with arrays as arguments."""

    def __init__(self, path: Path) -> None:
        self._lib = ctypes.CDLL(str(path))
        self._lib.kvq_row_bytes.restype = self._lib.kvq_groups.restype = ctypes.c_int64
        self._lib.kvq_error_text.restype = ctypes.c_char_p

    def __call__(self, name: str, *args: Any) -> int:
        result: int = getattr(self._lib, "kvq_" + name)(*(self._argument(a) for a in args))
        return result

    def text(self, code: int) -> str:
        return str(self._lib.kvq_error_text(code).decode())

    @staticmethod
    def _argument(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            assert value.flags.c_contiguous
            return ctypes.c_void_p(value.ctypes.data)
        # On 64-bit ABIs an int argument takes the low half of what is passed.
        return ctypes.c_int64(value) if isinstance(value, int) else value

    def quantize(self, x: Array, bits: int, group: int, exponent: int | None = None) -> Quantized:
        rows, cols = x.shape
        if exponent is None:
            chosen = ctypes.c_int(99)
            code = self("choose_exponent", x, rows, cols, bits, group, ctypes.byref(chosen))
            assert code == 0
            exponent = chosen.value
        groups = self("groups", cols, group)
        out = Quantized(
            np.full((rows, self("row_bytes", cols, bits)), 0xAA, np.uint8),
            np.zeros((rows, groups), np.uint8),
            np.zeros((rows, groups), np.uint8),
            exponent,
        )
        code = self("quantize", x, rows, cols, bits, group, exponent, out.codes, out.scales,
                    out.zeros)  # fmt: skip
        assert code == 0
        return out

    def dequantize(self, q: Quantized, shape: tuple[int, int], bits: int, group: int) -> Array:
        x = np.full(shape, np.nan, np.float32)
        code = self("dequantize", q.codes, q.scales, q.zeros, *shape, bits, group, q.exponent, x)
        assert code == 0
        return x

    def matvec(
        self, q: Quantized, shape: tuple[int, int], bits: int, group: int, x: Array
    ) -> Array:
        y = np.full(shape[0], np.nan, np.float32)
        code = self("matvec", q.codes, q.scales, *shape, bits, group, q.exponent, x, y)
        assert code == 0
        return y


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    arm = platform.machine() == "aarch64"
    return Library(build(tmp_path_factory.mktemp("quant"), build_line(arm)))


def unpack(q: Quantized, cols: int, bits: int) -> Array:
    """(rows, cols) codes, read bit by bit as the header comment says."""
    stream = np.unpackbits(q.codes, axis=1, bitorder="little")[:, : cols * bits]
    weights = 1 << np.arange(bits)
    return np.asarray(stream.reshape(len(q.codes), cols, bits) @ weights)


def scales_of(codes: Array, exponent: int) -> Array:
    e, m = codes.astype(np.int64) >> 4, codes & 15
    return np.ldexp(1.0 + m / 16.0, exponent + e)


def spread(per_group: Array, cols: int, group: int) -> Array:
    return np.repeat(per_group, group, axis=1)[:, :cols]


def numbers(rows: int, cols: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    size = 10.0 ** rng.uniform(-3, 2, (rows, 1))
    return (rng.standard_normal((rows, cols)) * size).astype(np.float32)


def test_example_of_the_readme_runs(tmp_path: Path, library: Library) -> None:
    build(tmp_path, build_line(platform.machine() == "aarch64"))
    (example,) = section()["python"]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    match = re.fullmatch(
        r"4\.125 bits a weight, error (0\.\d+) of a standard deviation\n", done.stdout
    )
    assert match, done.stdout
    assert 0.08 < float(match[1]) < 0.11


@pytest.mark.parametrize(("cols", "group"), SHAPES)
@pytest.mark.parametrize("bits", [2, 3, 4])
def test_codes_are_the_nearest_of_a_good_scale(
    library: Library, bits: int, cols: int, group: int
) -> None:
    x = numbers(9, cols, cols + bits)
    q = library.quantize(x, bits, group)
    top = (1 << bits) - 1
    s = spread(scales_of(q.scales, q.exponent), cols, group)
    codes = unpack(q, cols, bits)
    expected = np.clip(np.rint((x / s.astype(np.float32) + np.float32(top)) * 0.5), 0, top)
    np.testing.assert_array_equal(codes, expected)
    np.testing.assert_array_equal(
        library.dequantize(q, x.shape, bits, group), (s * (2 * codes - top)).astype(np.float32)
    )


@pytest.mark.parametrize("bits", [2, 3, 4])
def test_no_other_scale_is_much_better(library: Library, bits: int) -> None:
    x = numbers(400, 64, bits)
    q = library.quantize(x, bits, 64)
    top = (1 << bits) - 1
    errors = np.stack([
        (((np.clip(np.rint((x / s + top) / 2), 0, top) * 2 - top) * s - x) ** 2).sum(-1)
        for s in scales_of(np.arange(256), q.exponent)
    ])  # fmt: skip
    chosen = errors[q.scales[:, 0], np.arange(len(x))]
    assert (chosen / errors.min(0)).mean() < 1.01


@pytest.mark.parametrize("bits", [2, 3, 4, 8, 16])
@pytest.mark.parametrize(("cols", "group"), SHAPES)
def test_same_codes_as_the_reference(library: Library, bits: int, cols: int, group: int) -> None:
    x = numbers(40, cols, cols * bits)
    x[3] = 0.0
    x[4] = -1.5
    x[5, 0] = 3e38
    x[6] = np.round(x[6], 1)
    expected = quantize(x, bits, group)
    q = library.quantize(x, bits, group)
    np.testing.assert_array_equal(q.codes, expected.codes)
    if bits != 16:
        assert q.exponent == expected.exponent
        np.testing.assert_array_equal(q.scales, expected.scales)
    if bits == 8:
        np.testing.assert_array_equal(q.zeros, expected.zeros)
    np.testing.assert_array_equal(library.dequantize(q, x.shape, bits, group), dequantize(expected))


@pytest.mark.parametrize(("cols", "group"), SHAPES)
def test_eight_bits_reach_both_ends(library: Library, cols: int, group: int) -> None:
    x = numbers(9, cols, cols) + np.float32(3)
    q = library.quantize(x, 8, group)
    s = spread(scales_of(q.scales, q.exponent), cols, group)
    back = library.dequantize(q, x.shape, 8, group)
    # Half a step, and where the zero point was rounded another half at the ends.
    assert np.all(np.abs(back - x) <= 1.01 * s)
    assert np.median(np.abs(back - x) / s) < 0.3
    low = spread(np.stack([np.minimum(x[:, a : a + group].min(1), 0)
                           for a in range(0, cols, group)], 1), cols, group)  # fmt: skip
    high = spread(np.stack([np.maximum(x[:, a : a + group].max(1), 0)
                            for a in range(0, cols, group)], 1), cols, group)  # fmt: skip
    assert np.all(255 * s >= high.astype(np.float64) - low)
    small = spread(q.scales, cols, group) == 0
    assert np.all(small | (255 * s * (16 / 17) < (high - low) * 1.000001))


def test_sixteen_bits_are_halves(library: Library) -> None:
    rng = np.random.default_rng(4)
    x = rng.integers(0, 2**32, (8, 999), np.uint32).view(np.float32)
    q = library.quantize(x, 16, 64)
    tame = np.clip(np.nan_to_num(x, nan=0, posinf=65504, neginf=-65504), -65504, 65504)
    np.testing.assert_array_equal(q.codes.view(np.float16), tame.astype(np.float16))
    back = library.dequantize(q, x.shape, 16, 64)
    np.testing.assert_array_equal(back, tame.astype(np.float16).astype(np.float32))


@pytest.mark.parametrize("bits", [2, 3, 4, 8, 16])
def test_odd_values_have_a_meaning(library: Library, bits: int) -> None:
    x = np.zeros((8, 64), np.float32)
    x[1] = np.nan
    x[2, :3] = np.inf, -np.inf, np.nan
    x[3] = 1e-42
    x[4] = -7.25
    x[5] = 3e38
    x[6, ::2] = -0.0
    q = library.quantize(x, bits, 64, exponent=-1)
    back = library.dequantize(q, x.shape, bits, 64)
    assert np.isfinite(back).all()
    np.testing.assert_array_equal(back[0], back[1])
    np.testing.assert_array_equal(q.scales[:2], 0)
    assert back[2, 0] > 0 > back[2, 1] or bits == 16
    # Scales are looked for where a Gaussian vector has its best one.
    most = {2: 0.3, 3: 0.1}.get(bits, 0.05)
    assert np.abs(back[4] / -7.25 - 1).max() < most
    assert np.abs(back[5] / 65504 - 1).max() < most


def test_codes_do_not_depend_on_the_neighbours(library: Library) -> None:
    x = numbers(7, 200, 3)
    whole = library.quantize(x, 3, 64, exponent=-8)
    for r in range(7):
        row = library.quantize(x[r : r + 1].copy(), 3, 64, exponent=-8)
        np.testing.assert_array_equal(row.codes[0], whole.codes[r])
        np.testing.assert_array_equal(row.scales[0], whole.scales[r])


@pytest.mark.parametrize(("cols", "group"), [*SHAPES, (5000, 64), (4096, 4096), (2300, 65536)])
@pytest.mark.parametrize("bits", [2, 4])
def test_matrix_times_vector(library: Library, bits: int, cols: int, group: int) -> None:
    w = numbers(19, cols, cols)
    x = numbers(1, cols, 5)[0]
    q = library.quantize(w, bits, group)
    y = library.matvec(q, w.shape, bits, group, x)
    back = library.dequantize(q, w.shape, bits, group).astype(np.float64)
    size = np.abs(back) @ np.abs(x.astype(np.float64))
    assert np.all(np.abs(y - back @ x) <= 1e-6 * size + 1e-30)


def test_wrong_calls_answer_with_their_code_and_write_nothing(library: Library) -> None:
    x = np.ones((2, 64), np.float32)
    out = np.full(4096, 7, np.uint8)
    y = np.full(64, 7, np.float32)
    big = 2**62

    def quantize(*sizes: int, exponent: int = -11, x: Any = x, codes: Any = out,
                 scales: Any = out, zeros: Any = out) -> int:  # fmt: skip
        rows, cols, bits, group = sizes
        return library("quantize", x, rows, cols, bits, group, exponent, codes, scales, zeros)

    def matvec(*sizes: int, exponent: int = -11, x: Any = x, y: Any = y) -> int:
        rows, cols, bits, group = sizes
        return library("matvec", out, out, rows, cols, bits, group, exponent, x, y)

    for bits in (-1, 0, 1, 5, 6, 7, 9, 15, 17, 32, 2**31 - 1):
        assert quantize(2, 64, bits, 64) == BITS
        assert matvec(2, 64, bits, 64) == BITS
        assert library("row_bytes", 64, bits) == BITS
    for bits in (3, 8, 16):
        assert matvec(2, 64, bits, 64) == BITS
    for rows, cols in ((-1, 64), (2, -1), (big, 64), (2, big), (big, big), (2**40, 2**40),
                       (-(2**63), 1), (2**63 - 1, 2**63 - 1), (1, 2**63 - 1)):  # fmt: skip
        for bits in (2, 3, 4, 8, 16):
            assert quantize(rows, cols, bits, 64) == SIZE
        assert matvec(rows, cols, 4, 64) == SIZE
    assert library("row_bytes", big, 4) == SIZE
    assert library("groups", -1, 64) == SIZE
    for group in (0, -64, 65537, 2**62):
        assert quantize(2, 64, 4, group) == GROUP
        assert library("groups", 64, group) == GROUP
    for exponent in (-101, 101, -(2**31), 2**31 - 1):
        assert quantize(2, 64, 4, 64, exponent=exponent) == EXPONENT
        assert matvec(2, 64, 4, 64, exponent=exponent) == EXPONENT
    assert quantize(2, 64, 4, 64, x=None) == NULL
    assert quantize(2, 64, 4, 64, codes=None) == NULL
    assert quantize(2, 64, 4, 64, scales=None) == NULL
    assert quantize(2, 64, 8, 64, zeros=None) == NULL
    assert library("dequantize", out, None, None, 2, 64, 4, 64, -11, y) == NULL
    assert library("choose_exponent", None, 2, 64, 4, 64, None) == NULL
    assert matvec(2, 64, 4, 64, x=None) == NULL
    assert matvec(2, 64, 4, 64, y=None) == NULL
    assert (out == 7).all()
    assert (y == 7).all()
    # What is not needed may be missing, and nothing is nothing.
    assert library("quantize", x, 2, 64, 16, 64, 0, np.empty(256, np.uint8), None, None) == 0
    assert library("quantize", None, 0, 64, 4, 64, 0, None, None, None) == 0
    assert matvec(2, 0, 4, 64, x=None) == 0
    np.testing.assert_array_equal(y[:3], [0, 0, 7])


def test_every_error_has_its_sentence(library: Library) -> None:
    texts = [library.text(code) for code in (0, NULL, BITS, SIZE, GROUP, EXPONENT, -6)]
    assert len(set(texts)) == len(texts)
    assert texts[0] == library.text(5) == "no error"
    assert library("version") == 1


@pytest.mark.parametrize("bits", [2, 3, 4, 8])
def test_zeros_alone_stay_next_to_zero(library: Library, bits: int) -> None:
    x = np.zeros((3, 64), np.float32)
    q = library.quantize(x, bits, 64)
    assert q.exponent == quantize(x, bits).exponent
    assert np.abs(library.dequantize(q, x.shape, bits, 64)).max() < 1e-28


def test_nothing_is_written_behind_the_arrays(library: Library) -> None:
    for bits in (2, 3, 4, 8, 16):
        for cols in (1, 15, 16, 17, 31, 33, 65):
            x = numbers(1, cols, cols)
            n = library("row_bytes", cols, bits)
            assert n == -(-cols * bits // 8)
            codes = np.full(n + 64, 9, np.uint8)
            scales, zeros = np.full(66, 9, np.uint8), np.full(66, 9, np.uint8)
            assert library("quantize", x, 1, cols, bits, 64, -8, codes, scales, zeros) == 0
            groups = library("groups", cols, 64)
            assert (codes[n:] == 9).all()
            assert (scales[groups:] == 9).all()
            assert (zeros[groups:] == 9).all()


def test_the_source_allocates_and_throws_nothing() -> None:
    text = re.sub(r"//.*", "", SOURCE.read_text(encoding="utf-8"))
    assert not re.findall(r"\b(new|malloc|throw|try|std::vector|std::string)\b", text)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="has other instruction sets")
@pytest.mark.parametrize("march", ["x86-64", "haswell"])
def test_other_instruction_sets_give_the_same_codes(
    tmp_path: Path, library: Library, march: str
) -> None:
    if march == "haswell" and "avx2" not in Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        pytest.skip("this processor has no AVX2")
    command = [word.replace("=native", f"={march}") for word in build_line(arm=False)]
    other = Library(build(tmp_path, command))
    for bits in (2, 3, 4, 8, 16):
        w, x = numbers(30, 333, bits), numbers(1, 333, 8)[0]
        q, mine = other.quantize(w, bits, 64), library.quantize(w, bits, 64)
        np.testing.assert_array_equal(q.codes, mine.codes)
        np.testing.assert_array_equal(q.scales, mine.scales)
        np.testing.assert_array_equal(q.zeros, mine.zeros)
        back = other.dequantize(q, w.shape, bits, 64)
        np.testing.assert_array_equal(back, library.dequantize(q, w.shape, bits, 64))
        if bits in (2, 4):
            y = other.matvec(q, w.shape, bits, 64, x)
            assert np.all(np.abs(y - back @ x) <= 2e-6 * (np.abs(back) @ np.abs(x)))


@pytest.mark.parametrize("cpu", ["cortex-a72", "cortex-a76"])
def test_documented_arm_line_gives_the_same_codes(
    tmp_path: Path, library: Library, cpu: str
) -> None:
    for tool in (CROSS, "aarch64-linux-gnu-gcc", "qemu-aarch64"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    command = build_line(arm=True)
    assert command[0] == "g++"
    build(tmp_path, [CROSS, *command[1:]])
    program = tmp_path / "program"
    subprocess.run(
        ["aarch64-linux-gnu-gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1",
         "-o", str(program), str(ROOT / "tests" / "native" / "quant_library.c"),
         "-L", str(tmp_path), "-lquant", "-Wl,-rpath," + str(tmp_path)],
        check=True,
    )  # fmt: skip
    for bits in (2, 3, 4, 8, 16):
        for cols, group in ((576, 64), (192, 64), (37, 16), (130, 64)):
            w, x = numbers(5, cols, bits + cols), numbers(1, cols, 8)[0]
            (tmp_path / "in").write_bytes(w.tobytes() + x.tobytes())
            done = subprocess.run(
                ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-cpu", cpu, str(program),
                 str(tmp_path / "in"), str(tmp_path / "out"),
                 "5", str(cols), str(bits), str(group)],
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            q = library.quantize(w, bits, group)
            parts = [q.codes, q.scales, q.zeros]
            data = (tmp_path / "out").read_bytes()
            assert int.from_bytes(data[:4], "little", signed=True) == q.exponent
            at = 4
            for part in parts:
                got = np.frombuffer(data, np.uint8, part.size, at).reshape(part.shape)
                np.testing.assert_array_equal(got, part)
                at += part.size
            floats = np.frombuffer(data[at:], np.float32)
            back = library.dequantize(q, w.shape, bits, group)
            np.testing.assert_array_equal(floats[: w.size].reshape(w.shape), back)
            if bits in (2, 4):
                y = library.matvec(q, w.shape, bits, group, x)
                size = np.abs(back) @ np.abs(x)
                assert np.all(np.abs(floats[w.size :] - y) <= 2e-6 * size)
