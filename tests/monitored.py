"""Several probed services under load, a Prometheus that scrapes them, and a dashboard's queries.

    python tests/monitored.py --seconds 120 dashboard.html

writes a page with the panels of `examples/monitoring/dashboard.json`, drawn from what a Prometheus
has answered: for a picture where there is no Grafana. Needs Debian's package `prometheus`.
"""

from __future__ import annotations

import argparse
import contextlib
import html
import json
import math
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from pathlib import Path

from probed import environment

MONITORING = Path(__file__).parent.parent / "examples" / "monitoring"
SERVICE = """
from gevent import monkey; monkey.patch_all()
import gevent, hashlib, json, sys
from gevent.monkey import get_original
from gevent.pywsgi import WSGIServer
from prometheus_client import make_wsgi_app
pause = get_original("time", "sleep")
metrics = make_wsgi_app()

def invoice():
    pause(0.25)

def sign():
    hashlib.pbkdf2_hmac("sha256", b"x" * 10, b"y", 300_000)

def export():
    json.dumps(list(range(700_000)))

PAGES = {"/invoice": invoice, "/sign": sign, "/export": export}

def shop(environ, start_response):
    if environ["PATH_INFO"] == "/metrics":
        return metrics(environ, start_response)
    PAGES.get(environ["PATH_INFO"], lambda: None)()
    start_response("200 OK", [])
    return [b"done"]

WSGIServer(("127.0.0.1", int(sys.argv[1])), shop, log=None).serve_forever()
"""
VARIABLES = {"$job": ".*", "$instance": ".*", "$__rate_interval": "20s", "$__range": "60s"}


def port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def get(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=20) as answer:
        return answer.read()


def until(condition, seconds: float = 240.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            if found := condition():
                return found
        time.sleep(0.2)
    raise AssertionError("it did not happen")


@contextlib.contextmanager
def running(folder: Path, services: int = 3):
    """Yield the address of a Prometheus that scrapes services under load."""
    program = folder / "shop.py"
    program.write_text(SERVICE)
    ports = [port() for _ in range(services)]
    settings = {"GBLOCK_PROBE_METRICS": "prometheus", "GBLOCK_PROBE_HEARTBEAT": 1}
    started = [
        subprocess.Popen(
            [sys.executable, program, str(each)], env=environment(folder / "records", **settings)
        )
        for each in ports
    ]
    own = port()
    targets = [f"127.0.0.1:{each}" for each in ports]
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(MONITORING / "alerts.yml")],
        "scrape_configs": [{"job_name": "shop", "static_configs": [{"targets": targets}]}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config))  # JSON is YAML
    started.append(
        subprocess.Popen(
            [
                "prometheus",
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{own}",
            ],
            stderr=subprocess.DEVNULL,
        )
    )
    stop = threading.Event()
    load = [threading.Thread(target=_load, args=(each, stop, n)) for n, each in enumerate(ports)]
    try:
        for each in ports:
            until(lambda each=each: get(f"http://127.0.0.1:{each}/"))
        until(lambda: get(f"http://127.0.0.1:{own}/-/ready"))
        for thread in load:
            thread.start()
        yield f"http://127.0.0.1:{own}"
    finally:
        stop.set()
        for thread in load:
            if thread.ident is not None:
                thread.join()
        for process in started:
            process.terminate()
            process.wait()


def _load(number: int, stop: threading.Event, order: int) -> None:
    pages = ["/", "/invoice", "/", "/sign", "/", "/", "/export"]
    for turn in range(10**9):
        if stop.wait(0.05 + 0.1 * order):
            return
        with contextlib.suppress(OSError):
            get(f"http://127.0.0.1:{number}{pages[turn % len(pages)]}")


def panels() -> list[dict]:
    return json.loads((MONITORING / "dashboard.json").read_text())["panels"]


def expression(panel: dict) -> str:
    text = panel["targets"][0]["expr"]
    for name, value in VARIABLES.items():
        text = text.replace(name, value)
    return text


def asked(address: str, path: str, **values) -> list[dict]:
    """Return the result of a query of Prometheus's API."""
    answer = json.loads(get(f"{address}/api/v1/{path}?{urllib.parse.urlencode(values)}"))
    assert "success" == answer["status"], answer
    return answer["data"]["result"]


def drawn(address: str, seconds: float) -> str:
    """Return a page of the dashboard's panels, from the answers of a Prometheus."""
    end = time.time()
    parts = []
    for panel in panels():
        query = expression(panel)
        if panel["type"] == "timeseries":
            step = max(1, round(seconds / 120))
            found = asked(
                address, "query_range", query=query, start=end - seconds, end=end, step=step
            )
            body = _lines(found, panel, end - seconds, end)
        else:
            body = _table(asked(address, "query", query=query), panel)
        place = panel["gridPos"]
        style = (
            f"grid-column: {place['x'] + 1} / span {place['w']};"
            f"grid-row: {place['y'] + 1} / span {place['h']}"
        )
        parts.append(f'<section style="{style}"><h2>{panel["title"]}</h2>{body}</section>')
    return _PAGE + "".join(parts) + "</main>"


_COLOURS = ("#3b7ddd", "#e0752d", "#2f9e62", "#b54fc4", "#c9a227", "#d1384f", "#118a8a", "#7d8794")
_PAGE = """<!DOCTYPE html><meta charset="utf-8"><title>gblock</title><style>
body { margin: 0; background: #f4f5f7; font: 12px/1.4 "DejaVu Sans", sans-serif; color: #24292e; }
h1 { font-size: 15px; margin: 12px 14px 0; }
main { display: grid; grid-template-columns: repeat(24, 1fr); grid-auto-rows: 28px; gap: 8px; padding: 12px; }
section { background: #fff; border: 1px solid #dfe3e9; border-radius: 4px; padding: 8px 12px; overflow: hidden; }
h2 { font-size: 13px; margin: 0 0 6px; }
svg { width: 100%; max-height: 55%; overflow: visible; }
svg text { font-size: 10px; fill: #6b7684; }
ul { list-style: none; margin: 6px 0 0; padding: 0; } li i { display: inline-block; width: 12px; height: 3px; margin-right: 6px; vertical-align: middle; }
table { width: 100%; border-collapse: collapse; } td { padding: 3px 4px; border-bottom: 1px solid #eceff3; }
td:last-child { text-align: right; font-variant-numeric: tabular-nums; }
</style><h1>gblock: what blocks the gevent hub</h1><main>"""


def _shown(value: float, unit: str) -> str:
    if unit == "percentunit":
        return f"{100 * value:.1f} %"
    return f"{1000 * value:.0f} ms" if unit == "s" and value < 1 else f"{value:.3g}"


def _name(metric: dict, panel: dict) -> str:
    text = panel["targets"][0]["legendFormat"]
    for key, value in metric.items():
        text = text.replace("{{" + key + "}}", value)
    return html.escape(text)


def _lines(found: list[dict], panel: dict, start: float, end: float) -> str:
    unit = panel["fieldConfig"]["defaults"]["unit"]
    found.sort(key=lambda each: -max(float(value) for _, value in each["values"]))
    found = found[: len(_COLOURS)]
    values = [float(value) for each in found for _, value in each["values"]]
    most = max([value for value in values if math.isfinite(value)], default=1) or 1
    marks, names = [], []
    right = 38 * panel["gridPos"]["w"]
    for part in (0, 0.5, 1):
        y = 100 - 100 * part
        marks.append(f'<line x1="60" x2="{right}" y1="{y}" y2="{y}" stroke="#e6e9ee"/>')
        marks.append(
            f'<text x="54" y="{y + 3}" text-anchor="end">{_shown(most * part, unit)}</text>'
        )
    for colour, each in zip(_COLOURS, found, strict=False):
        points = " ".join(
            f"{60 + (right - 60) * (moment - start) / (end - start):.1f},{100 - 100 * float(value) / most:.1f}"
            for moment, value in each["values"]
            if math.isfinite(float(value))
        )
        marks.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        )
        names.append(f'<li><i style="background: {colour}"></i>{_name(each["metric"], panel)}</li>')
    return (
        f'<svg viewBox="0 -6 {right + 10} 112">{"".join(marks)}</svg><ul>{"".join(names[:5])}</ul>'
    )


def _table(found: list[dict], panel: dict) -> str:
    unit = panel["fieldConfig"]["defaults"]["unit"]
    rows = [
        f"<tr><td>{_name(each['metric'], panel)}</td><td>{_shown(float(each['value'][1]), unit)}</td>"
        for each in found
    ]
    return f"<table>{''.join(rows)}</table>"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("page", help="the file to write")
    parser.add_argument("--seconds", type=float, default=120)
    options = parser.parse_args()
    assert shutil.which("prometheus"), "prometheus is not installed"
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as address:
        time.sleep(options.seconds)
        Path(options.page).write_text(drawn(address, options.seconds), encoding="utf-8")


if __name__ == "__main__":
    main()
