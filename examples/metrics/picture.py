"""Draws docs/book/pictures/dashboard.svg: starts the server, calls it for half a minute, reads `/metrics` every second as Prometheus does, and draws the
panels of grafana.json. Run it from the root of the repository after `cargo build -p metrics`."""

import http.client
import json
import os
import random
import re
import subprocess
import threading
import time

SECONDS = 30
WIDTH, HEIGHT, LEFT, TOP = 440, 190, 56, 34
COLOURS = ["#0366d6", "#22863a", "#b31d28", "#b08800", "#6f42c1", "#1b7c83"]


def call(port, method, name, arguments):
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"name": name, "arguments": arguments, "_meta": meta}}
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28",
               "mcp-method": method, "mcp-name": name}
    connection = http.client.HTTPConnection("localhost", port)
    connection.request("POST", "/mcp", json.dumps(body), headers)
    connection.getresponse().read()


def traffic(port, until):
    while time.time() < until:
        kind = random.random()
        if kind < 0.55:
            call(port, "tools/call", "price", {"article": "tea"})
        elif kind < 0.85:
            call(port, "tools/call", "order", {"article": "cake"})
        elif kind < 0.95:
            call(port, "tools/call", "price", {"article": "gold"})
        else:
            call(port, "attack", "", {})
        # Busier in the middle.
        left = (until - time.time()) / SECONDS
        time.sleep(0.01 + 0.1 * abs(left - 0.5))


def read(port):
    connection = http.client.HTTPConnection("localhost", port)
    connection.request("GET", "/metrics")
    page = connection.getresponse().read().decode()
    found = re.findall(r'^(mcp_\w+?)(?:\{(.*?)\})? (\S+)$', page, re.M)
    return {(name, labels or ""): float(value) for name, labels, value in found}


def label(labels, key):
    found = re.search(rf'\b{key}="([^"]*)"', labels)
    return found.group(1) if found else ""


def rates(samples, name, group):
    """Per second, by group, smoothed over five seconds."""
    series = {}
    for index in range(5, len(samples)):
        (now, new), (then, old) = samples[index], samples[index - 5]
        for (metric, labels), value in new.items():
            key = group(labels)
            if metric == name and key is not None:
                row = series.setdefault(key, [0.0] * len(samples))
                row[index] += (value - old.get((metric, labels), 0)) / (now - then)
    return {key: row[5:] for key, row in sorted(series.items())}


def quantile(samples, share):
    row = []
    for index in range(5, len(samples)):
        counts = {}
        for (metric, labels), value in samples[index][1].items():
            if metric.endswith("_bucket") and label(labels, "method") == "tools/call":
                bound = float(label(labels, "le").replace("+Inf", "inf"))
                counts[bound] = counts.get(bound, 0) + value - samples[index - 5][1].get((metric, labels), 0)
        total, below, before = max(counts.values(), default=0), 0.0, 0.0
        for bound in sorted(counts):
            if total and counts[bound] >= share * total:
                inside = counts[bound] - before
                top = bound if bound != float("inf") else below
                row.append(1000 * (below + (top - below) * ((share * total - before) / inside if inside else 1)))
                break
            below, before = bound, counts[bound]
        else:
            row.append(0.0)
    return row


def panel(title, unit, series, x, y):
    top = max((max(row) for row in series.values()), default=0) or 1
    parts = [f'<g transform="translate({x},{y})"><rect width="{WIDTH}" height="{HEIGHT + 60}" rx="4" fill="#fff" stroke="#d1d5da"/>',
             f'<text x="12" y="20" font-weight="bold">{title}</text>']
    across, down = WIDTH - LEFT - 16, HEIGHT - TOP - 10
    for step in range(5):
        height = TOP + down - down * step / 4
        parts.append(f'<path d="M{LEFT} {height:.0f}h{across}" stroke="#eaecef"/>'
                     f'<text x="{LEFT - 6}" y="{height + 4:.0f}" text-anchor="end" fill="#6a737d">{top * step / 4:.3g} {unit}</text>')
    for index, (name, row) in enumerate(series.items()):
        colour = COLOURS[index % len(COLOURS)]
        points = " ".join(f"{LEFT + across * i / max(1, len(row) - 1):.1f},{TOP + down - down * value / top:.1f}" for i, value in enumerate(row))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        column, line = index % 3, index // 3
        parts.append(f'<g transform="translate({12 + column * 142},{HEIGHT + 18 + line * 18})"><rect y="-8" width="10" height="3" fill="{colour}"/>'
                     f'<text x="14">{name}</text></g>')
    return "".join(parts) + "</g>"


def main():
    binary = os.environ.get("CARGO_TARGET_DIR", "target") + "/debug/metrics"
    server = subprocess.Popen([binary, "127.0.0.1:0"], stderr=subprocess.PIPE, text=True)
    try:
        port = int(server.stderr.readline().rsplit(":", 1)[1])
        until = time.time() + SECONDS
        for _ in range(4):
            threading.Thread(target=traffic, args=(port, until)).start()
        samples = []
        while time.time() < until:
            samples.append((time.time(), read(port)))
            time.sleep(1)
    finally:
        server.kill()
    count = "mcp_request_duration_seconds_count"
    failed = {"error", "tool_error", "timed_out", "panicked", "shutdown"}
    by_target = lambda labels: f'{label(labels, "method")} {label(labels, "target")}'.strip()
    whole = rates(samples, count, lambda labels: label(labels, "target") or None)
    wrong = rates(samples, count, lambda labels: label(labels, "target") if label(labels, "outcome") in failed else None)
    percent = {name: [100 * a / b if b else 0 for a, b in zip(row, whole[name])] for name, row in wrong.items()}
    both = {**{"received": rates(samples, "mcp_received_bytes_total", lambda _: "")[""]}, "sent": rates(samples, "mcp_sent_bytes_total", lambda _: "")[""]}
    panels = [
        ("Requests per second, by target", "/s", rates(samples, count, by_target)),
        ("Requests per second, by outcome", "/s", rates(samples, count, lambda labels: label(labels, "outcome"))),
        ("Duration of tool calls", "ms", {"half": quantile(samples, 0.5), "95 %": quantile(samples, 0.95), "99 %": quantile(samples, 0.99)}),
        ("Failed requests", "%", percent),
        ("Kilobytes per second", "kB/s", {name: [value / 1000 for value in row] for name, row in both.items()}),
        ("Refused, cancelled and abandoned", "/s",
         rates(samples, count, lambda labels: label(labels, "outcome") if label(labels, "outcome") in {"refused", "cancelled", "client_gone"} else None)),
    ]
    width, height = 2 * WIDTH + 36, 3 * (HEIGHT + 72) + 12
    with open("docs/book/pictures/dashboard.svg", "w") as file:
        file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11" fill="#24292e">'
                   f'<rect width="{width}" height="{height}" fill="#f6f8fa"/>')
        for index, (title, unit, series) in enumerate(panels):
            file.write(panel(title, unit, series, 12 + (index % 2) * (WIDTH + 12), 12 + (index // 2) * (HEIGHT + 72)))
        file.write("</svg>\n")


main()
