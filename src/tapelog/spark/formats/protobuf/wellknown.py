"""The files that come with Protobuf, and may be imported without being there: google/protobuf/*.proto."""

from __future__ import annotations

from typing import Final

_WRAPPERS: Final = ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")


def _file(body: str) -> str:
    return f'syntax = "proto3"; package google.protobuf; {body}'


WELL_KNOWN: Final = {
    "google/protobuf/timestamp.proto": _file("message Timestamp { int64 seconds = 1; int32 nanos = 2; }"),
    "google/protobuf/duration.proto": _file("message Duration { int64 seconds = 1; int32 nanos = 2; }"),
    "google/protobuf/any.proto": _file("message Any { string type_url = 1; bytes value = 2; }"),
    "google/protobuf/empty.proto": _file("message Empty {}"),
    "google/protobuf/field_mask.proto": _file("message FieldMask { repeated string paths = 1; }"),
    "google/protobuf/wrappers.proto": _file(
        " ".join(f"message {name}Value {{ {name.lower()} value = 1; }}" for name in _WRAPPERS)
    ),
    "google/protobuf/struct.proto": _file(
        "message Struct { map<string, Value> fields = 1; } "
        "message Value { oneof kind { NullValue null_value = 1; double number_value = 2; string string_value = 3; "
        "bool bool_value = 4; Struct struct_value = 5; ListValue list_value = 6; } } "
        "message ListValue { repeated Value values = 1; } enum NullValue { NULL_VALUE = 0; }"
    ),
    "google/protobuf/descriptor.proto": _file(""),
}
"""By the name under which they are imported. Of descriptor.proto, which options need, nothing."""
