"""Declared pipelines: a TOML or YAML file becomes streaming queries (ADR 0019).

pipeline = load("shop.toml")        # DocumentError: at most three lines, each with its line in the file
plan = make_plan(pipeline)          # graph, order, queries: no Spark
tapelog.spark.pipeline.run          # the only room here that imports PySpark
"""

from tapelog.spark.pipeline.load import load, loads
from tapelog.spark.pipeline.plan import Plan, Query, make_plan
from tapelog.spark.pipeline.problems import DocumentError, Problem

__all__ = ["DocumentError", "Plan", "Problem", "Query", "load", "loads", "make_plan"]
