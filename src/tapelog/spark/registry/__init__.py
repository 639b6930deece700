"""A schema registry that speaks Confluent's interface: asked over HTTP, its answers kept."""
