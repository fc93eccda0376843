"""A notebook's kernel, with its ■: a real one, in a process of its own."""

import time
from collections.abc import Callable
from queue import Empty


class Kernel:
    """Runs a notebook's cells one by one."""

    def __init__(self, environment: dict[str, str], folder: str | None = None):
        from jupyter_client.manager import start_new_kernel

        self.manager, self.client = start_new_kernel(kernel_name="python3", env=environment, cwd=folder)

    def run(self, code: str, pressed: Callable[[str], bool] | None = None, limit: float = 300) -> str:
        """All that the cell showed. ■ is pressed once, when `pressed` of what it showed until then is true."""
        cell, shown, end = self.client.execute(code), "", time.monotonic() + limit
        while time.monotonic() < end:
            if pressed and pressed(shown):
                pressed = self.manager.interrupt_kernel()
            try:
                message = self.client.get_iopub_msg(timeout=0.1)
            except Empty:
                continue
            content = message["content"]
            if message["parent_header"].get("msg_id") != cell:
                continue
            if content.get("execution_state") == "idle":
                return shown
            data = content.get("data", {}).get("text/plain", "")
            shown += "".join(content.get(key, "") for key in ("text", "ename", "evalue")) + str(data)
        raise AssertionError(f"it hangs: {shown}")

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
