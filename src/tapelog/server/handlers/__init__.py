"""One file per API, or per family of APIs that only pass a request on. `server/routes.py` is their table."""
