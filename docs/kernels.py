"""Kernels that do not import again what nearly every notebook imports.

Half of the time that a small notebook takes is imports. On Linux a process that has
made them forks each kernel, whose globals, folder and process group are as if it were
new. What looks for IPython while it is imported, as pyplot and widgets do, is left to
the kernel, and so is the package.
"""

import gc
import json
import os
import signal
import sys
from asyncio import sleep
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import EntryPoint
from subprocess import PIPE, Popen
from unittest.mock import patch

from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

COMMON = """ipykernel.kernelapp pandas scipy.stats sklearn.datasets sklearn.linear_model
sklearn.model_selection matplotlib.backends.backend_agg"""


@contextmanager
def forked():
    """As long as this lasts, kernels are forked."""
    known = KernelProvisionerFactory.instance().provisioners
    entry = EntryPoint("local-provisioner", f"{__name__}:Forked", "")
    pipes = dict(stdin=PIPE, stdout=PIPE, text=True)
    with Popen([sys.executable, __file__], **pipes) as Forked.warm:
        with patch.dict(known, {entry.name: entry}):
            yield


class Forked(LocalProvisioner):
    """A kernel that is the child of another process: its number is all there is."""

    async def launch_kernel(self, cmd, cwd, **_):
        print(json.dumps([cmd, cwd]), file=self.warm.stdin, flush=True)
        self.process = self.pid = self.pgid = int(self.warm.stdout.readline())
        return self.connection_info

    async def poll(self):
        return None if os.path.exists(f"/proc/{self.pid}") else 1

    async def wait(self):
        while await self.poll() is None:
            await sleep(0.02)
        self.process = None

    async def send_signal(self, signum):
        with suppress(ProcessLookupError):
            os.killpg(self.pgid, signum)


def serve():
    """Fork a kernel for each line of stdin; no kernel outlives this process."""
    os.environ["JPY_PARENT_PID"] = str(os.getpid())
    for name in COMMON.split():
        import_module(name)
    gc.freeze()  # or the collector of each kernel would have all pages copied
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # what has ended is gone at once
    while line := sys.stdin.readline():
        if os.fork() == 0:
            return become(*json.loads(line))


def become(command, folder):
    """What ``command`` would start: the kernel."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.chdir(folder)
    print(os.getpid(), flush=True)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # the pipes are not for the notebook
    os.dup2(2, 1)
    sys.argv = command[2:]
    sys.modules["ipykernel.kernelapp"].launch_new_instance()


if __name__ == "__main__":
    del sys.path[0]  # docs/ is no notebook's
    serve()
