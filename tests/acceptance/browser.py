"""A headless browser, and the local site that serves its pages and receives their reports."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BROWSER_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Long enough for a busy machine: a page that takes longer hangs.
PATIENCE_S = 120

# A capturing listener also receives errors of modules that cannot be loaded: those events do not bubble.
PAGE = """<!doctype html>
<meta charset="utf-8">
<title>forum-ledger</title>
<body>
<script>
const fail = (what) => fetch("/failed", { method: "POST", body: String(what) });
addEventListener("error", (event) => fail(event.message ?? "cannot load a module"), true);
addEventListener("unhandledrejection", (event) => fail(event.reason?.stack ?? event.reason));
</script>
<script type="module">
%s
</script>
"""


class PageFailed(AssertionError):
    """A page threw an error, could not be loaded, or did not respond."""


class Site(ThreadingHTTPServer):
    """Serves a folder. A page that polls or reports gets the next request of the test as the answer."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder = folder
        self.requests: Queue[bytes | None] = Queue()
        self.reports: Queue[bytes | PageFailed] = Queue()

    def handle_error(self, request: Any, client_address: Any) -> None:
        # Ignore lost connections: every test ends by killing a busy browser.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def ask(self, request: dict[str, Any]) -> bytes:
        """Send a request to the page and return its answer."""
        self.requests.put(json.dumps(request).encode())
        return self.next_report()

    def next_report(self) -> bytes:
        try:
            report = self.reports.get(timeout=PATIENCE_S)
        except Empty:
            raise PageFailed(f"the page reported nothing for {PATIENCE_S} s") from None
        if isinstance(report, PageFailed):
            raise report
        return report


class _Handler(SimpleHTTPRequestHandler):
    server: Site
    protocol_version = "HTTP/1.1"
    # Head and body are two writes. With Nagle's algorithm, the second waits until the first is acknowledged.
    disable_nagle_algorithm = True

    def __init__(self, request: Any, client_address: Any, server: Site) -> None:
        # The system's MIME table may differ, and browsers refuse modules with a different type.
        self.extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript"}
        super().__init__(request, client_address, server, directory=str(server.folder))

    def do_POST(self) -> None:
        body = self._body()
        if self.path == "/failed":
            self.server.reports.put(PageFailed(body.decode()))
            self._answer()
            return
        if self.path == "/report":
            self.server.reports.put(body)
        self._answer(self.server.requests.get())

    def do_PUT(self) -> None:
        Path(self.translate_path(self.path)).write_bytes(self._body())
        self._answer()

    def list_directory(self, path: str | os.PathLike[str]) -> None:
        """Answer with the paths of all files in a directory tree."""
        top = Path(path)
        names = sorted(file.relative_to(top).as_posix() for file in top.rglob("*") if file.is_file())
        self._answer(json.dumps(names).encode())

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers["Content-Length"]))

    def _answer(self, body: bytes | None = None) -> None:
        self.send_response(HTTPStatus.NO_CONTENT if body is None else HTTPStatus.OK)
        if body is not None:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: Any) -> None:
        """Keep requests out of the test output."""


def find_browser() -> str | None:
    return next(filter(None, map(shutil.which, BROWSER_NAMES)), None)


@contextmanager
def serve_site(folder: Path) -> Iterator[Site]:
    """Create a folder with links to the checkout's code and schemas, and serve it."""
    folder.mkdir()
    for name in ("conformance/js", "schemas/v1"):
        (folder / name).parent.mkdir()
        (folder / name).symlink_to(ROOT / name)
    with Site(folder) as site:
        thread = Thread(target=site.serve_forever)
        thread.start()
        try:
            yield site
        finally:
            site.requests.put(None)
            site.shutdown()
            thread.join()


@contextmanager
def open_page(site: Site, browser: str, module: str) -> Iterator[None]:
    """Open a page that runs a module, in a browser that is killed at the end."""
    (site.folder / "page.html").write_text(PAGE % module, encoding="utf-8")
    profile = site.folder.with_name(f"{site.folder.name}-profile")
    # The sandbox does not work as root, and containers have little shared memory in /dev/shm.
    options = ["--headless", "--no-sandbox", "--disable-dev-shm-usage", "--no-proxy-server", "--no-first-run"]
    with profile.with_suffix(".log").open("wb") as log:
        process = subprocess.Popen(
            [browser, *options, f"--user-data-dir={profile}", f"{site.address}/page.html"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield
    finally:
        # Kill the whole group: the installed command may be a script, and the browser consists of several processes.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
