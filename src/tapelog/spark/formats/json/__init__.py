"""JSON: schemas as DDL, as Spark writes them, or as JSON Schema; decoding by Arrow, one by one where that fails."""
