"""One partition's log on disk, in Kafka's file formats: append, read, flush, recovery, retention.

`log.Log` is the partition's log, `manager.LogDirectory` a data directory full of them, `config.LogConfig` what
they obey. The node core calls them; nothing here knows time, chance or files except through `base.ports`.
"""
