"""A model is trained on the device as on the CPU, by ggml-opt (train_text.cpp). llama.cpp's llama-finetune does the same with
larger models; Debian does not ship it."""
import pathlib
import re

from placement import check_nodes
from programs import check, once, run

TEXT = pathlib.Path(__file__).resolve().parents[1] / "models/alice.txt"
EPOCHS = 8
LOWERED_TO = 0.7         # the loss after the last epoch, in units of the first's
LARGEST_CHANGE = 0.0005  # of a loss, from the CPU's


def program(device):
    return device.plugin.with_name("train_text")


@once
def trained(device):
    return device.run(program(device), TEXT, device.name, EPOCHS, GGML_SCHED_DEBUG=2)


@once
def trained_on_cpu(device):
    return run(program(device), TEXT, "CPU", EPOCHS)


def losses(output):
    found = [float(loss) for loss in re.findall(r"^epoch \d+: loss (\S+)", output.text, re.MULTILINE)]
    check(len(found) == EPOCHS, f"{len(found)} losses of {EPOCHS} epochs")
    return found


def check_lower(device):
    first, *_, last = losses(trained(device))
    check(last <= LOWERED_TO * first, f"the loss goes from {first} to {last}")
    return f"{first:.3f} to {last:.3f}"


def check_same(device):
    pairs = list(zip(losses(trained(device)), losses(trained_on_cpu(device))))
    change = max(abs(mine / exact - 1) for mine, exact in pairs)
    check(change <= LARGEST_CHANGE, f"a loss differs by {change:.2%}: {pairs}")
    return f"to {change:.1e}"


def check_placement(device):
    check_nodes(device, trained(device).log)


TESTS = [
    ("training lowers the loss",                       check_lower),
    ("the losses are the CPU's",                       check_same),
    ("every node of the training is on the device",    check_placement),
]
