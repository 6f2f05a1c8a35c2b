"""JavaScript of ours, run by node."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

import rvamp_nb

EXPLORER = Path(rvamp_nb.__file__).parent / "course" / "widgets.js"


def in_node(expression, module=EXPLORER, **values):
    """The value of a JavaScript expression that may use the module's functions and
    the given values.
    """
    if not shutil.which("node"):
        pytest.skip("needs node: apt-get install nodejs")
    names = ", ".join(values) or "nothing"
    script = (
        f"import * as js from {json.dumps(module.as_uri())}; const {{{names}}} ="
        f" {json.dumps(values)};process.stdout.write(JSON.stringify({expression}))"
    )
    done = subprocess.run(
        ["node", "--input-type=module"], input=script, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
