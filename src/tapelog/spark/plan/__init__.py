"""Plans for Spark: options, offsets and limits into ranges, as frozen values. No Spark, no sockets, no clock.

    options = read_options(given, streaming=False)      # OptionError: at most three lines
    plan = plan_batch(options, view)                     # Plan(ranges, warnings)

`view` is a cluster as far as planning asks it (`View`). A stream: `initial`, then `advance` and `plan_stream` for each
trigger. Everything that is pickled to executors is here or in `tapelog.client.settings`.
"""

from tapelog.spark.plan.batch import plan_batch
from tapelog.spark.plan.errors import CheckpointError, DataLossError, MissingTopicError, OptionError, PlanError
from tapelog.spark.plan.filters import Filter, exact, narrow
from tapelog.spark.plan.loss import next_available
from tapelog.spark.plan.offsets import offsets_from_checkpoint, offsets_to_json, offsets_to_value
from tapelog.spark.plan.options import (
    COLUMNS,
    ReadOptions,
    columns_asked,
    formats_asked,
    read_options,
    shown_columns,
)
from tapelog.spark.plan.rate import Pace
from tapelog.spark.plan.stream import Step, advance, initial, may_differ_again, plan_stream
from tapelog.spark.plan.tasks import Task
from tapelog.spark.plan.values import Offsets, Plan, Range, TopicPartition, Weights
from tapelog.spark.plan.view import Isolation, View

__all__ = [
    "COLUMNS",
    "CheckpointError",
    "DataLossError",
    "Filter",
    "Isolation",
    "MissingTopicError",
    "Offsets",
    "OptionError",
    "Pace",
    "Plan",
    "PlanError",
    "Range",
    "ReadOptions",
    "Step",
    "Task",
    "TopicPartition",
    "View",
    "Weights",
    "advance",
    "columns_asked",
    "exact",
    "formats_asked",
    "initial",
    "may_differ_again",
    "narrow",
    "next_available",
    "offsets_from_checkpoint",
    "offsets_to_json",
    "offsets_to_value",
    "plan_batch",
    "plan_stream",
    "read_options",
    "shown_columns",
]
