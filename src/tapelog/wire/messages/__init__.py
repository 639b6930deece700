"""The messages of the protocol, one module each: generated, never edited."""
