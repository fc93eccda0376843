"""A real JupyterHub with its proxy, on the loopback address: learners log in, run lessons, save; parts get killed.

For `test_hub.py` and `measure.py`. As on TLJH and on Kubernetes, hub and proxy are two programs, and each learner's
server is one more. All run as one user here, each in a home folder of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[3]
CONFIG = ROOT / "docs" / "hub" / "littlest.py"
WAIT = 300  # seconds, the longest: a machine that does other work as well is slow, not wrong
PASSWORD = "for a test on the loopback address"


def proxy_program() -> str | None:
    """The proxy: in the folder that `nox -s hub` made for npm, or on the path."""
    folder = Path(os.environ.get("FLUXLITE_HUB_PROXY", ""), "node_modules", ".bin")
    return shutil.which("configurable-http-proxy", path=f"{folder}{os.pathsep}{os.environ['PATH']}")


def missing() -> str:
    """What a hub needs and isn't here, and how to get it; empty if all is."""
    gone = [name for name in ("jupyterhub", "requests", "websocket") if find_spec(name) is None]
    gone += [] if proxy_program() else ["configurable-http-proxy"]
    return f"{', '.join(gone)} not installed: nox -s hub brings it" if gone else ""


def wait_until(condition: Callable[[], Any], complaint: Callable[[], str] | str, seconds: float = WAIT) -> Any:
    """What `condition` returns once that's true."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, complaint() if callable(complaint) else complaint
        time.sleep(0.1)
    return found


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as opened:
        sockets = [opened.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def alive(process: int) -> bool:
    """Whether a process is running. One that ended, and whose parent hasn't asked yet, isn't."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Hub:
    """A hub in `folder`: its database, its logs, and a home folder for each learner."""

    def __init__(self, folder: Path, teacher: str = "teacher", every: int = 20) -> None:
        self.folder, self.teacher, self.every = folder, teacher, every
        self.homes, self.hand_ins = folder / "homes", folder / "hand-ins"
        self.public, self.proxy_api, self.hub_port = free_ports(3)
        self.secret, self.service = secrets.token_hex(16), secrets.token_hex(16)
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.sessions: list[Session] = []
        self.servers: set[int] = set()  # all that were started, whatever the hub knows of them later
        self.address = f"http://127.0.0.1:{self.public}"
        for each in (self.homes, self.hand_ins):
            each.mkdir(parents=True)
        (folder / "jupyterhub_config.py").write_text(self._config(), encoding="utf-8")

    def _config(self) -> str:
        """TLJH's own settings in short, then the file that a teacher puts beside them, with the paths of this test."""
        ours = CONFIG.read_text(encoding="utf-8")
        assert ours.count('"/srv/hand-ins') == 1, "docs/hub/littlest.py names another folder for hand-ins"
        (self.folder / "littlest.py").write_text(ours.replace('"/srv/hand-ins', f'"{self.hand_ins}'), encoding="utf-8")
        return f"""
c = get_config()
c.JupyterHub.bind_url = {self.address!r}
c.JupyterHub.hub_bind_url = "http://127.0.0.1:{self.hub_port}"
c.JupyterHub.cleanup_servers = False
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {str(self.homes / "{username}")!r}
c.Spawner.start_timeout = c.Spawner.http_timeout = {WAIT}
c.ConfigurableHTTPProxy.should_start = False
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{self.proxy_api}"
c.ConfigurableHTTPProxy.auth_token = {self.secret!r}
# How often it compares the proxy's routes with its own. The chart for Kubernetes says 60.
c.JupyterHub.last_activity_interval = {self.every}
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = {PASSWORD!r}
c.Authenticator.allow_all = True
c.Authenticator.admin_users = {{{self.teacher!r}}}
c.JupyterHub.services = [{{"name": "test", "api_token": {self.service!r}}}]
scopes = ["admin:users", "admin:servers", "tokens"]
c.JupyterHub.load_roles = [{{"name": "test", "services": ["test"], "scopes": scopes}}]
load_subconfig({str(self.folder / "littlest.py")!r})
# Here `fluxlite` may not be on the path; and here all may run as root.
import os, sys
c.Spawner.cmd = [sys.executable, "-P", "-m", *c.Spawner.cmd]
if os.geteuid() == 0:
    c.Spawner.args = ["--allow-root"]
"""

    # -- its parts ----------------------------------------------------------------------------------------------------

    def start_proxy(self) -> None:
        command = [proxy_program() or "", "--ip=127.0.0.1", f"--port={self.public}", "--api-ip=127.0.0.1"]
        command += [f"--api-port={self.proxy_api}", f"--default-target=http://127.0.0.1:{self.hub_port}"]
        command += [f"--error-target=http://127.0.0.1:{self.hub_port}/hub/error"]
        self._start("proxy", command, {"CONFIGPROXY_AUTH_TOKEN": self.secret})

    def start_hub(self) -> None:
        self._start("hub", [sys.executable, "-m", "jupyterhub", "-f", str(self.folder / "jupyterhub_config.py")], {})
        wait_until(self.is_up, lambda: f"the hub doesn't answer:\n{self.log('hub')}")

    def _start(self, name: str, command: list[str], more: dict[str, str]) -> None:
        left_out = ("FLUXLITE_PROGRESS", "FLUXLITE_PROJECT", "JUPYTERHUB_API_TOKEN", "CONFIGPROXY_AUTH_TOKEN")
        environment = {name: value for name, value in os.environ.items() if name not in left_out}
        environment |= {"PYTHONPATH": str(ROOT), **more}
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )

    def kill(self, name: str) -> None:
        """As by `kill -9`, or for want of memory: it gets no chance to tidy up."""
        self.running[name].kill()
        self.running[name].wait()

    def is_up(self) -> bool:
        assert self.running["hub"].poll() is None, f"the hub ended:\n{self.log('hub')}"
        try:
            with urllib.request.urlopen(f"{self.address}/hub/api/", timeout=10) as answer:
                return answer.status == 200
        except OSError:
            return False

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")[-6000:]

    def end(self) -> None:
        """End hub, proxy and every learner's server. Their process numbers are the hub's own."""
        for session in self.sessions:
            session.close()
        for one in self.running.values():
            one.kill()
            one.wait()
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in filter(alive, self.servers):  # each leads a group, with its kernels
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process, number)
            with contextlib.suppress(AssertionError):
                wait_until(lambda: not any(map(alive, self.servers)), "", seconds=30)

    # -- what an administrator may ask --------------------------------------------------------------------------------

    def api(self, method: str, path: str, body: Any = None) -> Any:
        import requests

        headers = {"Authorization": f"token {self.service}"}
        answer = requests.request(method, f"{self.address}/hub/api/{path}", headers=headers, json=body, timeout=WAIT)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}\n{self.log('hub')}"
        return answer.json() if answer.content else None

    def server(self, name: str) -> int | None:
        """The process of a learner's server, from what the hub keeps about it."""
        known = self.api("GET", f"users/{quote(name)}?include_stopped_servers=1")["servers"].get("")
        return ((known or {}).get("state") or {}).get("pid")

    def token(self, name: str) -> str:
        return str(self.api("POST", f"users/{quote(name)}/tokens", {"note": "test"})["token"])

    def spawn(self, name: str) -> None:
        """Start a learner's server, and wait until it answers."""
        self.api("POST", f"users/{quote(name)}/server")
        wait_until(
            lambda: self.api("GET", f"users/{quote(name)}")["servers"].get("", {}).get("ready"),
            lambda: f"{name}'s server doesn't start:\n{self.log('hub')}",
        )
        process = self.server(name)
        assert process
        self.servers.add(process)

    def log_in(self, name: str) -> None:
        """Log in by the page's form, as in a browser."""
        import requests

        with requests.Session() as session:
            session.get(f"{self.address}/hub/login", timeout=WAIT).raise_for_status()
            form = {"username": name, "password": PASSWORD, "_xsrf": session.cookies.get("_xsrf", path="/hub/")}
            answer = session.post(f"{self.address}/hub/login?next=/hub/home", data=form, timeout=WAIT)
            assert answer.ok and answer.url.endswith("/hub/home"), f"{name} can't log in: {answer.url}"


@contextlib.contextmanager
def a_hub(folder: Path) -> Iterator[Hub]:
    """A hub that is up, and gone afterwards."""
    hub = Hub(folder)
    try:
        hub.start_proxy()
        hub.start_hub()
        yield hub
    finally:
        hub.end()


# -- a learner --------------------------------------------------------------------------------------------------------


class Learner:
    """A learner's server, asked through the proxy as a browser asks it."""

    def __init__(self, hub: Hub, name: str) -> None:
        self.hub, self.name = hub, name
        self.token = hub.token(name)
        self.address = hub.address + "/user/" + quote(name, safe="@")  # with its @, as the hub redirects to it
        self.course = hub.homes / name / "my-course"

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        import requests

        address, headers = f"{self.address}/api/{path}", {"Authorization": f"token {self.token}"}
        # Where the proxy has no route, the hub answers with a redirect, and again, each time more slowly.
        answer = requests.request(method, address, headers=headers, json=body, timeout=WAIT, allow_redirects=False)
        assert answer.status_code < 300, f"{self.name}: {method} {path}: {answer.status_code} {answer.text[:300]}"
        return answer.json() if answer.content else None

    def open(self, file: str) -> Session:
        """Open a notebook: its content, and a kernel."""
        content = self.ask("GET", f"contents/{file}")["content"]
        wanted = {"path": file, "name": file, "type": "notebook", "kernel": {"name": "python3"}}
        return Session(self, file, content, self.ask("POST", "sessions", wanted)["kernel"]["id"])

    def answers(self) -> bool:
        try:
            return bool(self.ask("GET", "status"))
        except (AssertionError, OSError):  # requests' own errors are OSErrors
            return False


class Session:
    """An open notebook and its kernel, over the kernel's websocket."""

    def __init__(self, learner: Learner, file: str, content: dict[str, Any], kernel: str) -> None:
        self.learner, self.file, self.content, self.kernel = learner, file, content, kernel
        self.socket: Any = None
        self.connect()
        learner.hub.sessions.append(self)

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()

    def connect(self) -> None:
        from websocket import create_connection

        address = f"{self.learner.address}/api/kernels/{self.kernel}/channels"
        headers = {"Authorization": f"token {self.learner.token}"}
        self.close()
        self.socket = create_connection(address.replace("http", "ws", 1), header=headers, timeout=WAIT)

    def run(self, source: str) -> list[dict[str, Any]]:
        """Run one cell; its outputs."""
        header = {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "username": self.learner.name,
                  "session": uuid.uuid4().hex, "version": "5.3"}  # fmt: skip
        wanted = {"code": source, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False,
                  "stop_on_error": True}  # fmt: skip
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": wanted, "channel": "shell"}
        self.socket.send(json.dumps(message))
        outputs, still = [], {"reply", "idle"}
        while still:
            answer = json.loads(self.socket.recv())
            if answer["parent_header"].get("msg_id") != header["msg_id"]:
                continue
            kind, said = answer["msg_type"], answer["content"]
            if kind == "execute_reply":
                still.discard("reply")
            elif kind == "status" and said["execution_state"] == "idle":
                still.discard("idle")
            elif kind in ("stream", "display_data", "execute_result", "error"):
                outputs.append(_output(kind, said))
        return outputs

    def printed(self, source: str) -> str:
        """Run one cell that raises nothing; what it prints."""
        outputs = self.run(source)
        assert not any(one["output_type"] == "error" for one in outputs), outputs
        return "".join(one["text"] for one in outputs if one["output_type"] == "stream")

    def run_all(self, after_each: Callable[[], None] = lambda: None) -> list[str]:
        """Run every cell and keep its outputs in the notebook; the errors, if there are any."""
        errors = []
        for number, cell in enumerate(cell for cell in self.content["cells"] if cell["cell_type"] == "code"):
            cell["outputs"], cell["execution_count"] = self.run("".join(cell["source"])), number + 1
            errors += [one["evalue"] for one in cell["outputs"] if one["output_type"] == "error"]
            after_each()
        return errors

    def save(self) -> None:
        body = {"type": "notebook", "format": "json", "content": self.content}
        self.learner.ask("PUT", f"contents/{self.file}", body)


class Terminal:
    """A terminal in a learner's or the teacher's JupyterLab, over its websocket."""

    def __init__(self, learner: Learner) -> None:
        from websocket import create_connection

        name = learner.ask("POST", "terminals")["name"]
        address = f"{learner.address}/terminals/websocket/{name}".replace("http", "ws", 1)
        self.socket = create_connection(address, header={"Authorization": f"token {learner.token}"}, timeout=WAIT)
        self.shown = ""

    def type(self, text: str) -> None:
        """Type a text; what was shown before is forgotten."""
        self.shown = ""
        self.socket.send(json.dumps(["stdin", text]))

    def until(self, pattern: str) -> re.Match[str]:
        """Read on until a pattern is there."""
        while not (found := re.search(pattern, self.shown)):
            kind, *said = json.loads(self.socket.recv())
            assert kind != "disconnect", self.shown
            if kind == "stdout":
                self.shown += said[0]
        return found

    def close(self) -> None:
        self.socket.close()


class TeachersWall:
    """The wall in a terminal of the teacher's JupyterLab, as docs/hub/README.md says; port 0 is any free one."""

    def __init__(self, hub: Hub) -> None:
        self.terminal = Terminal(Learner(hub, hub.teacher))
        wall = f"{sys.executable} -P -m fluxlite wall {hub.hand_ins} --no-browser --port 0 --lesson 04"
        self.terminal.type(f"sh -c 'echo process=$$; exec {wall}'\r")
        self.process = int(self.terminal.until(r"process=(\d+)")[1])
        said = self.terminal.until(r"(?s)http://127\.0\.0\.1:(\d+)/\?token=(\w+).*Guesses are read from ")
        self.port, self.token = int(said[1]), said[2]
        self.link = f"http://127.0.0.1:{self.port}/?token={self.token}"
        assert 'join("hub")' in said[0]

    def end(self) -> None:
        self.terminal.type("\x03")
        self.terminal.until("all that it heard is forgotten")
        self.terminal.close()


def _output(kind: str, said: dict[str, Any]) -> dict[str, Any]:
    """A message of the kernel as a notebook keeps it."""
    kept = {"stream": ("name", "text"), "error": ("ename", "evalue", "traceback")}.get(kind, ("data", "metadata"))
    more = {"execution_count": said["execution_count"]} if kind == "execute_result" else {}
    return {"output_type": kind, **{name: said[name] for name in kept}, **more}
