"""Gradients that the device computes are those of differences: the "grad" mode of ggml's test-backend-ops.

It computes a graph for every element, which for all of the suite takes half an hour. So of the ops that ggml can derive these are
the quick ones, and a case each of POOL_2D, IM2COL, RMS_NORM, ROPE and SOFT_MAX; none of MUL_MAT, whose training tests/programs/opt.py and
train.py check. Left out, as they fail on the CPU backend too: CPY and SCALE, whose sums, though rounded once, are too coarse in f32 for
the differences, and EXPM1, whose gradients overflow. The program ends itself where ggml cannot derive an op. A run of all of it,
of MUL_MAT and ROPE for four minutes, failed nowhere else but in MUL_MAT, where a case is so near the limit now and then, on the CPU too.
"""
import os
import re
import subprocess

import stock
from programs import SECONDS, check, once

OPS = ["ABS", "ACC", "ADD", "CONT", "COS", "CROSS_ENTROPY_LOSS", "DIAG_MASK_INF", "DUP", "GET_ROWS", "LOG", "MEAN", "MUL_MAT_HADAMARD",
       "NEG", "RELU", "REPEAT", "SGN", "SILU", "SIN", "SOFTPLUS", "SQR", "SQRT", "STEP", "SUM", "SUM_ROWS", "SWIGLU"]
CASES = ["IM2COL(type_input=f32,type_kernel=f32,dst_type=f32,ne_input=[20,2,2,1],ne_kernel=[3,2,2,1],s0=1,s1=0,p0=3,p1=0,d0=1,d1=0,is_2D=0)",
         "POOL_2D(pool_type=avg,type_input=f32,ne_input=[10,10,3,1],k0=1,k1=1,s0=1,s1=1,p0=0,p1=1)",
         "RMS_NORM(type=f32,ne=[33,5,4,3],v=0,eps=0.000000,inplace=0)",
         "ROPE(type=f32,ne_a=[64,1,2,1],n_dims=64,mode=2,n_ctx=512,fs=1.000000,ef=0.000000,af=1.000000,ff=0,v=0,inplace=0,n_offs=0)",
         "SOFT_MAX(type=f32,ne=[15,15,1,1],mask=0,sinks=0,m_prec=f32,nr23=[1,1],scale=1.000000,max_bias=0.000000,inplace=0)"]
FEWEST_CASES = 100
RUNS = 2  # a case fails if it fails in each: the data are random, and some errors are near the limit

CASE = re.compile(r"  ([A-Z_0-9]+)\((.*)\): (.*)")
COLOUR = re.compile(r"\x1b\[\d*(?:;\d+)?m")


def run_cases(device, cases):
    """Of each case that has a gradient, how it failed, or ""."""
    command = ["timeout", str(SECONDS), stock.program("test-backend-ops"), "grad", "-b", device.name, "-o", ",".join(cases)]
    environment = os.environ | {"GGML_BACKEND_PATH": str(device.plugin), "GGML_WEBGPU_ADAPTER": device.adapter}
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace")
    check(done.returncode in (0, 1), f"test-backend-ops grad ended with status {done.returncode}")
    outcomes, case = {}, None
    for line in COLOUR.sub("", done.stdout).splitlines():
        if not (found := CASE.match(line)):
            continue
        op, parameters, outcome = found.groups()
        # The second line of a case is its sum's, if it has more than one value.
        if case and case[1] == parameters and op in (case[0], "SUM"):
            if outcome == "OK":
                outcomes[case] = ""
            elif "FAIL" in outcome:
                outcomes[case] = outcomes.get(case) or outcome
        else:
            case = (op, parameters)
    return outcomes


@once
def outcomes(device):
    found = run_cases(device, OPS + CASES)
    for _ in range(RUNS - 1):
        if failed := [f"{op}({parameters})" for (op, parameters), outcome in found.items() if outcome]:
            found |= run_cases(device, failed)
    return found


def check_gradients(device):
    found = outcomes(device)
    failed = [f"{op}({parameters}): {outcome}" for (op, parameters), outcome in found.items() if outcome]
    check(not failed, "\n".join(failed))
    check(len(found) >= FEWEST_CASES, f"only {len(found)} cases have a gradient")
    return f"{len(found)} cases"


TESTS = [("gradients are those of differences", check_gradients)]
