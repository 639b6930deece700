"""`python -m bench`: measure Tapelog and Apache Kafka in one run, print the table, write JSON and a chart."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench import build, chart, procs, report, runner
from bench.fleet import SIDES, Fleet
from bench.runner import Results
from bench.scenarios import SCENARIOS, Scenario, select
from bench.sides import Missing, Tapelog

RESULTS = Path(__file__).parent / "results"
KAFKA_WARM_S, QUICK_WARM_S = 40.0, 25.0
TAPELOG_WARM_S = 6.0
TOUCH_MB_MAX = 12_000


def options() -> argparse.ArgumentParser:
    """The command line."""
    names = ", ".join(s.name for s in SCENARIOS)
    p = argparse.ArgumentParser(prog="python -m bench", description=__doc__, epilog=f"Scenarios: {names}.")
    p.add_argument("--quick", action="store_true", help="shorter runs, two repetitions")
    p.add_argument("--only", default="", metavar="A,B", help="only scenarios whose names begin so")
    p.add_argument("--reps", type=int, default=0, help="repetitions per scenario and side (default 5, quick 2)")
    p.add_argument("--sides", default="tapelog,kafka", help=f"which of {', '.join(SIDES)}")
    p.add_argument(
        "--json", default="", metavar="FILE", help=f"where to write the figures (default {RESULTS.name}/latest.json)"
    )
    p.add_argument(
        "--warm", type=float, default=0.0, help="seconds Kafka is warmed (default 40, quick 25, never less than 25)"
    )
    p.add_argument("--produce-version", type=int, default=9, help="version of the raw Produce requests, 3 to 12")
    p.add_argument(
        "--nice", type=int, default=0, help="priority of everything here, e.g. -19 on a machine shared with others"
    )
    p.add_argument("--no-pin", action="store_true", help="let the scheduler choose the cores")
    p.add_argument("--check", action="store_true", help="exit with status 1 when a promise is missed")
    p.add_argument("--list", action="store_true", help="name the scenarios and stop")
    return p


def tell(text: str) -> None:
    """Progress."""
    print(text, file=sys.stderr, flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the bench; exit status 2 for bad usage, 1 for a missed promise when `--check` asks for it, else 0."""
    args = options().parse_args(argv)
    sides = [s for s in args.sides.split(",") if s]
    try:
        scenarios = select([n for n in args.only.split(",") if n])
    except ValueError as problem:
        tell(str(problem))
        return 2
    if args.list:
        print(
            "\n".join(
                f"{s.name:<24}{s.title}{'  ' + ', '.join(map(str, s.targets)) if s.targets else ''}" for s in scenarios
            )
        )
        return 0
    if unknown := [s for s in sides if s not in SIDES]:
        tell(f"unknown side {unknown[0]!r}; there are: {', '.join(SIDES)}")
        return 2
    if args.quick:
        scenarios = tuple(s.shortened() for s in scenarios)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return measure(args, scenarios, sides)


def measure(args: argparse.Namespace, scenarios: Sequence[Scenario], sides: list[str]) -> int:
    """Prepare the machine and the servers, run, report."""
    reps = args.reps or (2 if args.quick else 5)
    warm_s = max(25.0, args.warm or (QUICK_WARM_S if args.quick else KAFKA_WARM_S))
    if args.nice:
        procs.prioritise(args.nice)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tapelog-bench-") as folder:
        fleet = Fleet(Path(folder) / "run", produce_version=args.produce_version, pin=not args.no_pin)
        try:
            build.rawload()
            prepare(fleet, scenarios, sides, warm_s)
            results = runner.run(fleet, scenarios, sides, reps, tell)
        except (Missing, build.BuildError) as problem:
            tell(str(problem))
            return 2
        finally:
            fleet.close()
    settings: dict[str, object] = {
        "reps": reps,
        "quick": args.quick,
        "kafka_warm_s": warm_s,
        "produce_version": args.produce_version,
        "pinned": not args.no_pin,
        "compiled": Tapelog.compiled(),
    }
    tell(f"done in {time.monotonic() - begin:.0f} s")
    return publish(args, scenarios, results, settings)


def prepare(fleet: Fleet, scenarios: Sequence[Scenario], sides: list[str], warm_s: float) -> None:
    """Touch memory, start and warm every side that a load will meet."""
    touch = min(procs.available_mb() // 2, TOUCH_MB_MAX)
    tell(f"touching {touch:,} MB of memory, so that page cache costs the same for whoever runs first")
    procs.touch_memory(touch)
    if any(s.kind == "start" for s in scenarios):
        for side in dict.fromkeys(s for s in (*sides, "interpreted") if s != "kafka" and "tapelog" in sides):
            first = fleet.make(side, label="-first")  # whoever starts a new checkout first also compiles its byte code
            first.start()
            first.stop()
    if all(s.kind in ("start", "idle") for s in scenarios):
        return
    for side in list(sides):
        seconds = warm_s if side == "kafka" else TAPELOG_WARM_S
        tell(f"starting {side} and warming it for {seconds:.0f} s")
        try:
            server = fleet.get(side)
        except Missing as problem:
            tell(f"without {side}: {problem}")
            sides.remove(side)
            continue
        fleet.warm(server, seconds)
    if not sides:
        raise Missing("nothing to measure")


def publish(
    args: argparse.Namespace, scenarios: Sequence[Scenario], results: Results, settings: dict[str, object]
) -> int:
    """Print the tables; write JSON, the tables and the chart."""
    judged = [v for s in scenarios for v in report.verdicts(s, results.get(s.name, {}))]
    missed = [v for v in judged if not v.met]
    parts = [
        report.table(scenarios, results),
        report.latency_table(scenarios, results),
        report.storm_table(scenarios, results),
        report.clients_table(scenarios, results),
        report.others_table(scenarios, results),
    ]
    end = f"{len(judged) - len(missed)} of {len(judged)} promises met" + (": missed " if missed else "")
    end += ", ".join(f"{v.scenario} {v.figure} ({v.value.median:.2f}, promised {v.promise})" for v in missed)
    noisy = report.noise(results)
    if noisy:
        end += f"\nOther processes were busy during: {', '.join(noisy)}. Trust ratios and CPU per request, not rates."
    text = "\n\n".join(p for p in [*parts, end] if p)
    print(text)
    target = Path(args.json) if args.json else RESULTS / "latest.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(report.document(scenarios, results, settings))
    target.with_suffix(".md").write_text(text + "\n")
    rows = chart.bars(scenarios, results)
    if rows:
        about = report.machine()
        how = "compiled" if settings["compiled"] else "interpreted"
        subtitle = f"one core each, {settings['reps']} interleaved repetitions, median and range; {how}; {about['cpu']}"
        target.with_suffix(".svg").write_text(
            chart.svg("Tapelog compared with Apache Kafka (right of 1× is better)", subtitle, rows)
        )
    tell(f"written: {target.with_suffix('.json')}, .md{' and .svg' if rows else ''}")
    return 1 if missed and args.check else 0


if __name__ == "__main__":
    sys.exit(main())
