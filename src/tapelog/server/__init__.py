"""Requests and answers: frames, order on a connection, the routes table, and one handler file per API."""
