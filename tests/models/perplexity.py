"""The device predicts a text as its model does when nothing is rounded.

The measure is the CPU backend with the model's weights widened to f16. With the quantized weights themselves the CPU
backend rounds activations to 8 bits: on a text as short as a software GPU can take, that alone moves its perplexity by
0.5% from the exact one, and would hide or mimic an error of the device.
"""
import pathlib
import tempfile

from placement import check_nodes
from programs import check, llama_on, llama_on_cpu, model, once, run

TEXT = pathlib.Path(__file__).with_name("alice.txt")  # the opening of Alice's Adventures in Wonderland, 1865
CONTEXT = 128
OPTIONS = ["--file", TEXT, "--ctx-size", CONTEXT, "--batch-size", CONTEXT, "--chunks", 2]

# A token at a time the device rounds activations to 8 bits as well, and moves as far as the CPU backend does (by 0.53% for
# smollm2 and -0.66% for gemma on this text): hence the wider limit there.
#  model      tokens at once, largest change of the perplexity
CASES = [
  ("smollm2", CONTEXT, 0.005),  # as a prompt is read
  ("smollm2", 1,       0.01),   # as an answer is written: other kernels
  ("gemma",   CONTEXT, 0.005),
  ("gemma",   1,       0.01),
]
LARGEST_DIVERGENCE = 0.01  # mean of Kullback and Leibler's, over the text


@once
def compared(device, name, at_once):
    """What llama-perplexity prints of the device against the exact predictions."""
    with tempfile.TemporaryDirectory() as folder:
        widened, exact = pathlib.Path(folder, "widened.gguf"), pathlib.Path(folder, "exact")
        run("llama-quantize", "--allow-requantize", model(name), widened, "F16")
        llama_on_cpu("llama-perplexity", widened, *OPTIONS, "--save-all-logits", exact)
        widened.unlink()
        return llama_on(device, "llama-perplexity", model(name), *OPTIONS, "--ubatch-size", at_once,
                        "--kl-divergence", "--kl-divergence-base", exact)


def check_perplexity(output, largest_change):
    ratio = output.number(r"^Mean PPL\(Q\)/PPL\(base\) *: *(\S+)")
    check(abs(ratio - 1) <= largest_change, f"its perplexity is {ratio} times the exact one")
    return f"times {ratio}"


def check_divergence(output):
    divergence = output.number(r"^Mean +KLD: *(\S+)")
    check(divergence <= LARGEST_DIVERGENCE, f"the mean divergence is {divergence}")
    return f"{divergence}"


def tests(name, at_once, largest_change):
    many = f"{name}, {at_once} at once"
    return [
        (f"{many}: perplexity is the exact one, to {largest_change:.1%}",
         lambda on: check_perplexity(compared(on, name, at_once), largest_change)),
        (f"{many}: mean divergence is at most {LARGEST_DIVERGENCE}",
         lambda on: check_divergence(compared(on, name, at_once))),
        (f"{many}: every node is computed on the device",
         lambda on: check_nodes(on, compared(on, name, at_once).log)),
    ]


TESTS = [test for case in CASES for test in tests(*case)]
