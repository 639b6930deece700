"""Avro: schemas, their resolution, and a columnar decoder and encoder."""
