"""What `tape pipeline init` writes: a pipeline that runs against `tape demo`, and the file it joins with."""

from __future__ import annotations

from typing import Final

COUNTRIES: Final = """\
country,region
DE,Europe
FR,Europe
SE,Europe
IN,Asia
JP,Asia
BR,Americas
US,Americas
KE,Africa
"""

_TOML: Final = """\
# Orders of a shop: check, enrich, revenue per window; bad orders to dead letters.
#   tape pipeline plan {file}     shows what would run
#   tape demo --data ./demo-data       in another terminal: a broker with orders
#   tape pipeline run {file}      runs it, until Ctrl-C

[pipeline]
name = "{name}"
checkpoint = "./{name}-data/checkpoints" # any file system that Spark can write
trigger = "5 seconds" # "once" reads what is there now, and ends

[cluster] # for every topic below: options of format("tapelog"), those with `kafka.` included
bootstrap = "${{env:TAPELOG_BOOTSTRAP:-{bootstrap}}}"

[sources.orders]
topic = "{topic}"
start = "earliest"
format = "json"
schema = "order BIGINT, customer STRING, item STRING, quantity INT, amount DOUBLE, country STRING"
corrupt = "dead-letter"
watermark = {{ column = "_timestamp", delay = "5 seconds" }}

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
]

[steps.enriched]
sql = \"\"\"
    SELECT o.*, coalesce(c.region, 'elsewhere') AS region
    FROM valid o LEFT JOIN countries c ON o.country = c.country
\"\"\"

[steps.revenue]
from = "enriched"
window = {{ column = "_timestamp", size = "10 seconds", by = ["region"] }}
aggregate = {{ orders = "count(*)", revenue = "round(sum(amount), 2)" }}

[sinks.screen]
from = "revenue"
console = true

[sinks.revenue]
from = "revenue"
topic = "{name}-revenue"
key = "region"
partitions = 3 # made if it is missing

[dead-letters]
topic = "{topic}.dead"
"""

_YAML: Final = """\
# Orders of a shop: check, enrich, revenue per window; bad orders to dead letters.
#   tape pipeline plan {file}     shows what would run
#   tape demo --data ./demo-data       in another terminal: a broker with orders
#   tape pipeline run {file}      runs it, until Ctrl-C

pipeline:
  name: {name}
  checkpoint: ./{name}-data/checkpoints # any file system that Spark can write
  trigger: 5 seconds # once: reads what is there now, and ends

cluster: # for every topic below: options of format("tapelog"), those with `kafka.` included
  bootstrap: ${{env:TAPELOG_BOOTSTRAP:-{bootstrap}}}

sources:
  orders:
    topic: {topic}
    start: earliest
    format: json
    schema: order BIGINT, customer STRING, item STRING, quantity INT, amount DOUBLE, country STRING
    corrupt: dead-letter
    watermark: {{ column: _timestamp, delay: 5 seconds }}
  countries:
    file: countries.csv
    format: csv
    schema: country STRING, region STRING
    options: {{ header: true }}

steps:
  valid:
    from: orders
    expect:
      - {{ rule: order IS NOT NULL, otherwise: dead-letter }}
      - {{ rule: amount > 0, otherwise: dead-letter }}
  enriched:
    sql: |
      SELECT o.*, coalesce(c.region, 'elsewhere') AS region
      FROM valid o LEFT JOIN countries c ON o.country = c.country
  revenue:
    from: enriched
    window: {{ column: _timestamp, size: 10 seconds, by: [region] }}
    aggregate: {{ orders: count(*), revenue: "round(sum(amount), 2)" }}

sinks:
  screen:
    from: revenue
    console: true
  revenue:
    from: revenue
    topic: {name}-revenue
    key: region
    partitions: 3 # made if it is missing

dead-letters:
  topic: {topic}.dead
"""


def starter(file: str, name: str, *, bootstrap: str, topic: str) -> dict[str, str]:
    """Files to write, by their names: the pipeline in the language of its ending, and what it joins with."""
    text = _YAML if file.lower().endswith((".yaml", ".yml")) else _TOML
    return {file: text.format(file=file, name=name, bootstrap=bootstrap, topic=topic), "countries.csv": COUNTRIES}
