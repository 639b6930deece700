"""Compaction: of every key the last record stays, at its offset. Kafka's rules; docs/adr/0014-compaction.md says why.

`plan` decides what is worth cleaning, `cleaning.Cleaning` does it in steps on files of its own, `swap` puts the result
in place of the old segments. `keymap` is what a pass knows of keys. Nothing here touches a log that is in use, except
`swap.install`.
"""
