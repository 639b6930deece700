"""Cold reads from an S3 server through the broker, against the server's own speed. See `__main__`."""
