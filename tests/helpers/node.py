"""JavaScript of ours, run by node."""

import atexit
import json
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

import rvamp_nb

EXPLORER = Path(rvamp_nb.__file__).parent / "course" / "widgets.js"
# one process answers all that is asked, a line for a line; it ends with its input
ANSWERS = """
import { createInterface } from "node:readline";

const AsyncFunction = (async () => {}).constructor;
for await (const line of createInterface({ input: process.stdin })) {
    const { module, expression, values } = JSON.parse(line);
    let answer;
    try {
        const js = await import(module);
        const body = `"use strict"; return (${expression});`;
        const ask = new AsyncFunction("js", ...Object.keys(values), body);
        answer = { value: await ask(js, ...Object.values(values)) };
    } catch (problem) {
        answer = { problem: problem.stack };
    }
    process.stdout.write(`${JSON.stringify(answer)}\\n`);
}
"""


@cache
def started():
    """Return the process that answers, or None without node."""
    if not shutil.which("node"):
        return None
    command = ["node", "--input-type=module", "--eval", ANSWERS]
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process = subprocess.Popen(command, text=True, encoding="utf-8", **pipes)
    atexit.register(process.communicate)
    return process


def in_node(expression, module=EXPLORER, **values):
    """The value of a JavaScript expression that may use the module's functions and
    the given values.
    """
    process = started()
    if process is None:
        pytest.skip("needs node: apt-get install nodejs")
    asked = dict(module=module.as_uri(), expression=expression, values=values)
    process.stdin.write(f"{json.dumps(asked)}\n")
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    assert "problem" not in answer, answer["problem"]
    return answer["value"]
