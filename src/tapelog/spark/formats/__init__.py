"""Keys and values as columns: JSON, Avro, Protobuf and text, decoded when reading and encoded when writing.

    chosen = choose(formats, topics)            # driver, once: the schema that the column has (choosing)
    rows = decoded(options, piece, batches)      # executor: Arrow batches in, Arrow batches out (decoding)

Each format has a folder with its schemas and what turns bytes into columns and back.
"""
