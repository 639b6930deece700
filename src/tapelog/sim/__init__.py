"""Simulated clock, chance and disk: the product's machines run on them from one seed, in virtual time, with faults."""
