"""Every architecture that llama.cpp knows computes on the device what it does on the CPU: its test-llama-archs makes a small
model of random weights of each, also of those that mix experts, and compares the logits.

Its log, read line by line since it is some 100 MB, tells where each node was computed (see placement.py).
"""
import dataclasses
import os
import re
import subprocess

import stock
from programs import SECONDS, check, once

SEED = 1
FEWEST_MODELS = 130
SHOWN = 10

LOG_PREFIX = re.compile(r"\d+\.\d\d\.\d{3}\.\d{3} [A-Z] ?")
MODEL = re.compile(r"\| *(\S+)\| *(.*?)\| *(\w+)\|")
VERDICT = re.compile(r"\x1b\[1;3\dm(OK|FAIL|SKIP)\x1b\[0m(?: \((\S+)\))?")
VERDICTS = 3  # logits, saved and loaded, batch of tokens and embeddings
SPLIT = re.compile(r"## SPLIT #(\d+): (\S+) #")
NODE = re.compile(r"node #\s*\d+ \(\s*(.+?)\):\s+(.*?) \(.{5}\)")
REFUSED_WEIGHT = re.compile(r"tensor '(.*?)' .*cannot be used with preferred buffer type (\S+),")

# llama.cpp keeps its input layer on the CPU: look-ups in tables of tokens and positions, here mixed with embeddings.
INPUT_OPS = {"GET_ROWS", "DUP", "SET_ROWS"}
INPUT_NODES = {("gemma3n", "inp_scaled")}
HOST_NODES = {("bitnet", "result_output")}           # its output layer is the table of tokens itself
HOST_CONFIGURATIONS = {"Host experts", "MoE cache"}  # the program puts weights on the CPU, to see whether that works


@dataclasses.dataclass
class Results:
    errors: dict = dataclasses.field(default_factory=dict)  # by model, of its logits
    failed: list = dataclasses.field(default_factory=list)
    elsewhere: set = dataclasses.field(default_factory=set)
    refused: set = dataclasses.field(default_factory=set)
    devices_nodes: int = 0


class Reader:
    """Follows the log: models, of each some graphs, of each the nodes by backend."""

    def __init__(self, device):
        self.device = device
        self.results = Results()
        self.architecture, self.configuration, self.name = "", "", ""
        self.backend, self.host_nodes, self.uses_device = "", [], False

    def read(self, line):
        line = LOG_PREFIX.sub("", line)
        if model := MODEL.match(line):
            self.end_graph()
            self.architecture, self.configuration = model[1], model[2]
            self.name = f"{model[1]} {model[3]}" + (f", {model[2]}" if model[2] in HOST_CONFIGURATIONS else "")
        if len(verdicts := VERDICT.findall(line)) == VERDICTS:
            self.end_model(verdicts)
        elif split := SPLIT.match(line):
            if split[1] == "0":
                self.end_graph()
            self.backend = split[2]
        elif node := NODE.match(line):
            self.add_node(*node.groups())
        elif (refused := REFUSED_WEIGHT.search(line)) and refused[2] == self.device.name and not self.is_host_configuration():
            self.results.refused.add(f"{self.name}: {refused[1]}")

    def is_host_configuration(self):
        return self.configuration in HOST_CONFIGURATIONS

    def add_node(self, op, name):
        if self.backend == self.device.name:
            self.uses_device = True
            self.results.devices_nodes += 1
        elif op not in INPUT_OPS and (self.architecture, name) not in INPUT_NODES | HOST_NODES:
            self.host_nodes.append(f"{self.name}: {op} {name}")

    def end_graph(self):
        # Graphs without a node on the device are those of the CPU's results.
        if self.uses_device and not self.is_host_configuration():
            self.results.elsewhere.update(self.host_nodes)
        self.host_nodes, self.uses_device = [], False

    def end_model(self, verdicts):
        self.end_graph()
        words = [word for word, _ in verdicts]
        if "FAIL" in words:
            self.results.failed.append(f"{self.name} ({', '.join(filter(None, (error for _, error in verdicts)))})")
        if words[0] == "OK":
            self.results.errors[self.name] = float(verdicts[0][1])


@once
def results(device):
    command = ["timeout", str(SECONDS), stock.program("test-llama-archs"), "-b", device.name, "-s", str(SEED), "-v", "5"]
    environment = os.environ | {"GGML_BACKEND_PATH": str(device.plugin), "GGML_WEBGPU_ADAPTER": device.adapter,
                                "GGML_SCHED_DEBUG": "2", "OMP_WAIT_POLICY": "passive"}
    reader = Reader(device)
    with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          encoding="utf-8", errors="replace") as process:
        for line in process.stdout:
            reader.read(line)
    check(process.returncode in (0, 1), f"test-llama-archs ended with status {process.returncode}, in {reader.name}")
    return reader.results


def list_some(things):
    things = sorted(things)
    return "\n".join(things[:SHOWN] + ([f"and {len(things) - SHOWN} more"] if len(things) > SHOWN else []))


def check_results(device):
    found = results(device)
    check(not found.failed, f"{len(found.failed)} fail:\n{list_some(found.failed)}")
    check(len(found.errors) >= FEWEST_MODELS, f"only {len(found.errors)} models were computed")
    worst = max(found.errors, key=found.errors.get)
    return f"{len(found.errors)} models, the largest error {found.errors[worst]:.1e} of {worst}"


def check_placement(device):
    found = results(device)
    check(found.devices_nodes > 0, f"the log shows no node on {device.name}")
    check(not found.elsewhere, f"{len(found.elsewhere)} are not:\n{list_some(found.elsewhere)}")
    return f"{found.devices_nodes} nodes"


def check_weights(device):
    refused = results(device).refused
    check(not refused, f"{len(refused)} are refused:\n{list_some(refused)}")


TESTS = [
    ("every architecture has the CPU's logits",       check_results),
    ("every node of a layer is on the device",        check_placement),
    ("every weight can lie in the device's memory",   check_weights),
]
