"""The pipeline of the demo as a file: orders checked, enriched, revenue per window to a topic and a lake table."""

from __future__ import annotations

from pathlib import Path

NAME = "shop"
REVENUE = "revenue"
DEAD = "orders.dead"
WINDOW_S = 10
LATE_S = 2
TABLE = "lake/revenue"

_FILE = f"""\
# Written by `tape demo --pipeline`. Change it and run it yourself, beside the demo:
#   tape pipeline plan shop.toml
[pipeline]
name = "{NAME}"
checkpoint = "./checkpoints"
trigger = "3 seconds"

[cluster]
bootstrap = "${{env:TAPELOG_BOOTSTRAP}}"

[sources.orders]
topic = "orders"
start = "earliest"
format = "json"
schema = "order BIGINT, customer STRING, item STRING, quantity INT, amount DOUBLE, country STRING"
corrupt = "dead-letter"
watermark = {{ column = "_timestamp", delay = "{LATE_S} seconds" }}

[sources.countries]
file = "countries.csv"
format = "csv"
schema = "country STRING, region STRING"
options = {{ header = true }}

[steps.valid]
from = "orders"
expect = [
    {{ rule = "order IS NOT NULL", otherwise = "dead-letter" }},
    {{ rule = "amount > 0", otherwise = "dead-letter" }},
    {{ rule = "quantity BETWEEN 1 AND 1000", otherwise = "dead-letter" }},
]

[steps.enriched]
sql = \"\"\"
    SELECT o.*, coalesce(c.region, 'elsewhere') AS region
    FROM valid o LEFT JOIN countries c ON o.country = c.country
\"\"\"

[steps.revenue]
from = "enriched"
window = {{ column = "_timestamp", size = "{WINDOW_S} seconds", by = ["region"] }}
aggregate = {{ orders = "count(*)", revenue = "round(sum(amount), 2)" }}

[sinks.{REVENUE}]
from = "revenue"
topic = "{REVENUE}"
key = "region"

[sinks.table]
from = "revenue"
lake = "{{table}}"
partition = "hour(window_end)"

[dead-letters]
topic = "{DEAD}"

[spark]  # for a small machine and a short run: Java that compiles less and starts sooner
"spark.driver.extraJavaOptions" = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""


def write(home: Path) -> Path:
    """Put the pipeline and what it joins with into a directory; the pipeline's file."""
    from tapelog.spark.pipeline.starter import COUNTRIES

    home.mkdir(parents=True, exist_ok=True)
    (home / "countries.csv").write_text(COUNTRIES)
    file = home / f"{NAME}.toml"
    file.write_text(_FILE.replace("{table}", table_url(home)))
    return file


def table_url(home: Path) -> str:
    """Where the lake table lies."""
    return (home / TABLE).resolve().as_uri()
