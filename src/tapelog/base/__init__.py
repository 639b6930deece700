"""The ground floor: ports to the outside world, timers, ids, configuration. Imports nothing above itself."""
