"""Runs a plan on Spark. The only room of pipelines that imports PySpark; nothing is decided here."""
