"""The alert rules and the dashboard to paste, with a real Prometheus."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess

import monitored
import pytest

from gblock import metrics

needs_prometheus = pytest.mark.skipif(
    not shutil.which("prometheus") or not shutil.which("promtool"),
    reason="the package prometheus is not installed",
)


@needs_prometheus
@pytest.mark.parametrize("command", ["check rules alerts.yml", "test rules alerts_test.yml"])
def test_promtool_accepts_the_alert_rules(command):
    done = subprocess.run(
        ["promtool", *command.split()],
        cwd=monitored.MONITORING,
        capture_output=True,
        text=True,
    )

    assert 0 == done.returncode, done.stdout + done.stderr


def test_each_alert_rule_has_a_test():
    rules = (monitored.MONITORING / "alerts.yml").read_text()
    tests = (monitored.MONITORING / "alerts_test.yml").read_text()

    for name in re.findall(r"alert: (\w+)", rules):
        assert f"alertname: {name}\n        exp_alerts" in tests


def test_rules_and_queries_name_only_metrics_that_exist():
    import prometheus_client

    registry = prometheus_client.CollectorRegistry()
    metrics.Prometheus(registry)
    known = {family.name for family in registry.collect()} | {"gblock_hub_lag_seconds"}
    texts = [(monitored.MONITORING / "alerts.yml").read_text()]
    texts += [panel["targets"][0]["expr"] for panel in monitored.panels()]
    named = {name for text in texts for name in re.findall(r"gblock_\w+", text)}

    assert named
    for name in named:
        assert re.sub(r"_(total|bucket|count|sum)$", "", name) in known


@needs_prometheus
@pytest.mark.live
def test_each_query_of_the_dashboard_answers_for_services_under_load(tmp_path):
    with monitored.running(tmp_path) as address:

        def answered():
            for panel in monitored.panels():
                found = monitored.asked(address, "query", query=monitored.expression(panel))
                values = [float(each["value"][1]) for each in found]
                if not [value for value in values if math.isfinite(value)]:
                    return None
            return True

        monitored.until(answered)
        (table,) = [panel for panel in monitored.panels() if panel["type"] == "table"]
        found = monitored.asked(address, "query", query=monitored.expression(table))
        sites = {each["metric"]["site"] for each in found}
        ratio = monitored.asked(address, "query", query="gblock_hub_busy_ratio")
        rules = json.loads(monitored.get(f"{address}/api/v1/rules"))["data"]["groups"][0]["rules"]
        page = monitored.drawn(address, 30)

    assert any(site.startswith("shop.invoice") for site in sites)
    assert 3 == len(ratio)
    assert all(rule["health"] in ("ok", "unknown") for rule in rules)
    assert "shop.invoice" in page
