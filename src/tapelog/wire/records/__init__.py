"""The records that coordinators and the metadata quorum write, one module each: generated, but for framing."""
