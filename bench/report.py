#!/usr/bin/env python3
"""Draws docs/plots/*.svg and rewrites the tables of docs/performance.md from bench/results/*.json.

    scripts/env bench/report.py

A table stands between the comments <!-- bench NAME --> and <!-- end -->; the text around them is written by hand."""
import json
import math
import pathlib
import re

import make_model
import svg

CHECKOUT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = CHECKOUT / "bench/results"
PAGE = CHECKOUT / "docs/performance.md"
PLOTS = CHECKOUT / "docs/plots"
BACKENDS = ["ours", "upstream", "Vulkan", "CUDA"]
FULL_CLOCK = 1980        # MHz, of an H200
DISPATCHES_A_LAYER = 10  # of one token, as GGML_WEBGPU_PROFILE counts them
DISPATCHES_AN_OP = 2     # the second prepares the activations, or merges parts
COPY, MATMUL = "CPY f32 f32 8192 8192", "MUL_MAT f16 8192 8192 8192"  # which say what the card can do


def parts(test):
    """Kind, tokens and depth of a test that llama-bench calls so."""
    kind, tokens, depth = re.fullmatch(r"(pp|tg)(\d+)(?: @ d(\d+))?", test).groups()
    return kind, int(tokens), int(depth or 0)


#
# what the hardware allows
#

class Limits:
    """The card's bandwidth and arithmetic, as the fastest backend reached them with a copy and a large product, and what
    a dispatch costs between two others on which it depends."""

    DISPATCH = 2e-6

    def __init__(self, ops):
        best = lambda op, what: max((r[what] / r["microseconds"] * 1e6 for r in ops if r["op"] == op and r["microseconds"]),
                                    default=None)
        self.bandwidth, self.arithmetic = best(COPY, "bytes"), best(MATMUL, "flops")
        if not (self.bandwidth and self.arithmetic):
            raise SystemExit("h200.json does not say what the card can do: bench/h200 run --resume --only roofs")

    def name(self, nbytes, flops, dispatches, seconds):
        """What limits, and how much of what it allows is reached."""
        limits = {"bandwidth": nbytes / self.bandwidth, "arithmetic": flops / self.arithmetic,
                  "latency": dispatches * self.DISPATCH}
        which = max(limits, key=limits.get)
        return f"{which}, {100 * limits[which] / seconds:.0f}%"


def needs(model, test):
    """Bytes, floating-point operations and dispatches of a llama-bench test with a model of make_model."""
    shape_name, type_name = model.split("-")
    shape = make_model.SHAPES[shape_name]
    kind, tokens, depth = parts(test)
    runs, at_once = (1, tokens) if kind == "pp" else (tokens, 1)
    nbytes = flops = 0
    for name, t, dims in make_model.tensors_of(shape, type_name, make_model.OUTPUT_TYPES.get(type_name, type_name)):
        is_output = name == "output.weight" or name == "token_embd.weight" and shape.tied
        if name == "token_embd.weight" and not shape.tied:
            continue
        used = min(1, shape.experts_used * at_once / shape.experts) if "_exps" in name else 1
        work = shape.experts_used / shape.experts if "_exps" in name else 1
        nbytes += make_model.tensor_size(t, dims) * used * runs
        # Only the last token of a prompt goes through the output layer.
        flops += 2 * math.prod(dims) * work * (runs if is_output else tokens)
    head = shape.embd // shape.heads
    context = depth + tokens / 2
    nbytes += runs * shape.layers * 2 * 2 * shape.kv_heads * head * context
    flops += tokens * shape.layers * 4 * shape.heads * head * context
    return nbytes, flops, runs * shape.layers * DISPATCHES_A_LAYER


def warm(row):
    return (row.get("clock_mhz") or FULL_CLOCK) > 0.85 * FULL_CLOCK  # less than that is no limit of power


#
# tables
#

def by_backend(rows, figure):
    """Figures as they are shown, with the clock of those that the card was not warm for."""
    of = {}
    for r in rows:
        if r.get(figure):
            of[r["backend"]] = number(r[figure]) + ("" if warm(r) else f" at {r['clock_mhz']} MHz")
    return of


def number(x):
    return f"{x:,.0f}" if x >= 100 else f"{x:.1f}"


def table(head, body):
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *body])


def speed_table(result, limits):
    lines = []
    models = list(dict.fromkeys(r["model"] for r in result["speed"]))
    rows = {(models.index(r["model"]), parts(r["test"])[2], r["test"]) for r in result["speed"]
            if parts(r["test"])[:2] in (("pp", 512), ("tg", 128))}  # the others are drawn
    for number_of_model, _, test in sorted(rows):
        model = models[number_of_model]
        rows = [r for r in result["speed"] if r["model"] == model and r["test"] == test]
        of = by_backend(rows, "tokens_per_second")
        ours = [parts(test)[1] / r["tokens_per_second"] for r in rows if r["backend"] == "ours"]
        limit = limits.name(*needs(model, test), ours[0]) if ours else "-"
        lines.append([f"{model.replace('-', ' ')} {test}", *(of.get(b, "-") for b in BACKENDS), limit])
    return table(["model, test", *BACKENDS, "ours is limited by"], lines)


def op_table(result, limits, prefix):
    lines = []
    for op in dict.fromkeys(r["op"] for r in result["ops"] if r["op"].startswith(prefix)):
        rows = [r for r in result["ops"] if r["op"] == op]
        ours = next((r for r in rows if r["backend"] == "ours" and r["microseconds"]), None)
        of = by_backend(rows, "microseconds")
        limit = limits.name(ours["bytes"], ours["flops"], DISPATCHES_AN_OP, ours["microseconds"] / 1e6) if ours else "-"
        lines.append([op, *(of.get(b, "-") for b in BACKENDS), limit])
    return table(["case", *BACKENDS, "ours is limited by"], lines)


def lavapipe_table(result):
    lines = []
    for kind, name, figure in (("speed", "test", "tokens_per_second"), ("load", "test", "seconds"), ("ops", "op", "microseconds")):
        unit = {"speed": "tokens/s", "load": "s", "ops": "us"}[kind]
        for what in dict.fromkeys(r[name] for r in result[kind]):
            rows = [r for r in result[kind] if r[name] == what and r.get(figure)]
            of = {b: next((r[figure] for r in rows if r["backend"] == b), None) for b in ("ours", "upstream", "CPU")}
            faster = "-"
            if of["ours"] and of["upstream"]:
                faster = f"{of['ours'] / of['upstream'] if kind == 'speed' else of['upstream'] / of['ours']:.2f}"
            show = lambda x: "-" if x is None else f"{x:.2f}" if x < 10 else number(x)
            lines.append([f"{what}, {unit}", *(show(of[b]) for b in ("ours", "upstream", "CPU")), faster])
    busy = f"Measured on {result['cores']} cores that others used too (load {result['load_at_start']}): only the ratios say something.\n\n"
    return (busy if result["load_at_start"] > 0.5 else "") + table(["", "ours", "upstream", "CPU", "ours is faster than upstream"], lines)


#
# plots
#

def roofline(result, limits):
    """Each type's products by number of columns: from the memory roof to the arithmetic one."""
    curves = []
    for type_name, dash in (("f16", ""), ("q4_K", "6 4")):
        for backend in BACKENDS:
            points = [(r["flops"] / r["bytes"], r["flops"] / r["microseconds"] / 1e6) for r in result["ops"]
                      if r["backend"] == backend and r["op"].startswith(f"MUL_MAT {type_name} 4096 ") and r["microseconds"] and warm(r)]
            curves.append(svg.Curve(f"{backend} {type_name}", sorted(points), svg.COLOURS[backend], dash))
    knee = limits.arithmetic / limits.bandwidth
    roof = [(1, limits.bandwidth / 1e12), (knee, limits.arithmetic / 1e12), (2000, limits.arithmetic / 1e12)]
    roofs = [svg.Curve(f"{limits.bandwidth / 1e12:.2f} TB/s, {limits.arithmetic / 1e12:.0f} TFLOP/s", roof, "#888888", marks=False)]
    return svg.chart("Products with 4096 x 14336 weights", "floating-point operations a byte", "TFLOP/s", roofs + curves)


def by_depth(result):
    curves = []
    for backend in BACKENDS:
        points = [(parts(r["test"])[2], r["tokens_per_second"]) for r in result["speed"]
                  if r["backend"] == backend and r["model"] == "8b-q4_k" and parts(r["test"])[:2] == ("tg", 128)]
        curves.append(svg.Curve(backend, sorted(points), svg.COLOURS[backend]))
    return svg.chart("8B q4_K, one token at a time", "tokens in the cache", "tokens/s", curves, log=False)


def by_batch(result):
    curves = []
    for backend in BACKENDS:
        points = []
        for r in result["speed"]:
            kind, tokens, depth = parts(r["test"])
            if r["backend"] == backend and r["model"] == "8b-q4_k" and depth == 0 and tokens <= 512:
                points.append((tokens if kind == "pp" else 1, r["tokens_per_second"]))
        curves.append(svg.Curve(backend, sorted(points), svg.COLOURS[backend]))
    return svg.chart("8B q4_K, several tokens at once", "tokens at once", "tokens/s", curves)


def main():
    page = PAGE.read_text()
    tables = {}
    if (RESULTS / "h200.json").exists():
        result = json.loads((RESULTS / "h200.json").read_text())
        limits = Limits(result["ops"])
        tables.update({
            "speed": speed_table(result, limits),
            "products": op_table(result, limits, "MUL_MAT "),
            "other-ops": "\n".join(op_table(result, limits, prefix) for prefix in ("FLASH_ATTN_EXT",)),
        })
        PLOTS.mkdir(exist_ok=True)
        (PLOTS / "roofline.svg").write_text(roofline(result, limits))
        (PLOTS / "depth.svg").write_text(by_depth(result))
        (PLOTS / "batch.svg").write_text(by_batch(result))
    if (RESULTS / "lavapipe.json").exists():
        tables["lavapipe"] = lavapipe_table(json.loads((RESULTS / "lavapipe.json").read_text()))
    for name, text in tables.items():
        page, found = re.subn(rf"(<!-- bench {name} -->\n).*?(<!-- end -->)",
                              lambda m: f"{m[1]}{text}\n{m[2]}", page, flags=re.DOTALL)
        if not found:
            print(f"{PAGE.name} has no place for the table {name}")
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
