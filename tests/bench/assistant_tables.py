"""What the benchmarks of the assistant say, as tables of Markdown."""

from __future__ import annotations

from engine_tables import Result, rows


def latency(r: Result) -> str:
    stages = [
        f"{stage} | {v['p50']:.0f} | {v['p95']:.0f} | {v['p99']:.0f}"
        for stage, v in r["stages"].items()
    ]
    total = f"; ratio {r['ms']['p50'] / 1300:.2f}" if r["ms"] else ""
    return (
        f"{r['understood']} of {r['n']} commands were understood. Milliseconds; target for the "
        f"median total: 1,300{total}.\n\n" + rows("stage | p50 | p95 | p99", *stages)
    )


def wer(r: Result) -> str:
    lines = []
    if r["wer"] is not None:
        lines.append(
            f"word error rate ({r['n']} clips, {r['words']} words) | {share(r['wer'])} | ≤ 15 %"
        )
    if r["untexted"]:
        part = r["untexted_heard"] / r["untexted"]
        lines.append(f"clips that gave words ({r['untexted']}) | {share(part)} | ≥ 90 %")
    cpu = f"{r['cpu_per_second_of_sound']:.3f}"
    lines.append(f"processor seconds per second of sound | {cpu} | ")
    return rows("what | measured | target", *lines)


def wake(r: Result) -> str:
    lines = [
        f"{name} | {t['said']} | {t['missed']} | "
        f"{'' if t['noisy_missed'] is None else t['noisy_missed']} | {t['others']} | "
        f"{t['others_woke']} | {t['hours']:.2f} | {t['false']}"
        for name, t in r["words"].items()
    ]
    head = "wake word | said | missed | in noise | other phrases | woke | hours | false wakes"
    return rows(head, *lines)


def phrased(r: Result) -> str:
    keys = ("in_scope", "right", "wrong", "left", "talk", "talk_taken")
    lines = [" | ".join([str(s["set"]), *(str(s[key]) for key in keys)]) for s in r["rows"]]
    return rows("sentences | commands | right | wrong | left | talk | taken for commands", *lines)


def heads(r: Result) -> str:
    lines = [
        f"{x['set']} | {x['trained']} | {x['n']} | {share(x['accuracy'])} | "
        f"{share(x['oos_recall'])} | {share(x['oos_rejected_in_scope'])} | {share(x['slot_f1'])}"
        for x in r["rows"]
    ]
    head = (
        "set | trained on | tested on | intent | out of scope found | rejected in scope | slot F1"
    )
    return rows(head, *lines)


def grammar(r: Result) -> str:
    lines = [
        f"{kind}, {r[f'{kind}_n']} sentences | {r[f'{kind}_ms']['p50']} | "
        f"{r[f'{kind}_ms']['p95']} | {r[f'{kind}_cpu_ms']['p95']}"
        for kind in ("commands", "talk")
    ]
    loading = f"Loading takes {r['load_ms']} ms.\n\n"
    return loading + rows("sentences | p50 ms | p95 ms | p95 of processor time", *lines)


def facts(r: Result) -> str:
    cells = " | ".join(share(r[key]) for key in ("right", "not_sure", "invented"))
    return rows("questions | right | not sure | invented", f"{r['n']} | {cells}")


def kernels(r: Result) -> str:
    lines = [
        f"{x['bits']} | {x['quantize_m_per_s']} | {x['dequantize_m_per_s']} | "
        f"{x.get('matvec_g_per_s', '')} | {x.get('matvec_over_numpy_f32', '')}"
        for x in r["results"]
    ]
    head = (
        "bits | quantize, million/s | dequantize, million/s | matrix × vector, billion/s | "
        "times numpy's"
    )
    return f"`{r['build']}`, one thread.\n\n" + rows(head, *lines)


def values(r: Result) -> str:
    lines = [
        f"{model} | {v['n']} | {100 * v['accuracy']:.1f} %"
        for model, v in r["models"].items()
        if v["n"]
    ]
    return rows(
        "specification | rows | right", *lines, f"all | {r['n']} | {100 * r['accuracy']:.1f} %"
    )


def pi5(r: Result) -> str:
    kernels = [
        f"{name} | {k['unit']} | {k['instructions']:.0f} | {k['cycles']:.0f}"
        for name, k in r["kernels"].items()
    ]
    codes = {t["depth"]: t for t in r["quantized"]}
    tokens = [
        f"{t['depth']} | {modelled(t)} | {modelled(codes.get(t['depth']))}" for t in r["tokens"]
    ]
    head = (
        "depth | FP16 cache: MB read | modelled ms/token | 3.5-bit cache: MB read | "
        "modelled ms/token"
    )
    return (
        f"Modelled at {r['ghz']} GHz, {r['cores']} cores, {r['gb_s']:.0f} GB/s; the range is from "
        "reading and computing overlapped to one after the other.\n\n"
        + rows("kernel | unit of work | instructions | cycles", *kernels)
        + "\n\n"
        + rows(head, *tokens)
    )


def share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def understood(r: Result) -> str:
    """A row of ``assistant bench``."""
    frames = share(r.get("frame_accuracy"))
    ms = r["ms"]
    return rows(
        "rows | right | with all slots | p50 ms | p95 ms",
        f"{r['n']} | {share(r['accuracy'])} | {frames} | {ms['p50']} | {ms['p95']}",
    )


def modelled(token: Result | None) -> str:
    if token is None:
        return " | "
    return f"{token['megabytes']} | {token['overlapped_ms']:.1f} to {token['in_turn_ms']:.1f}"
