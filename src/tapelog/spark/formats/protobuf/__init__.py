"""Protobuf: .proto files read as they are, and a columnar decoder and encoder. No protoc, no generated classes."""
