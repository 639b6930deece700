"""bench.spark: what is read and by whom, that topics hold exactly what is said, and the page made of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import admin
from bench.load import Figures
from bench.spark import connector, tell
from bench.spark.fill import fill
from bench.spark.measure import Results, Stage, key, minutes
from bench.spark.scenes import BROKERS, FRESH, MODES, OURS, PARTITIONS, SCENES, STOCK, TUNED, Scene, select
from bench.spark.session import job_of
from tapelog.testing import Broker

SMALL = Scene("small", "small", 8_000, 100, "lz4", 2.0, 1000)


def samples(*seconds: float) -> list[Figures]:
    cpu = {"broker_cpu_s": 0.5, "spark_cpu_s": 3.0}
    return [{"seconds": s, "rows_s": 1e6 / s, **cpu, "rep": float(rep)} for rep, s in enumerate(seconds)]


def results(**seconds: tuple[float, ...]) -> Results:
    named = {"stock": STOCK, "tuned": TUNED, "ours": OURS}
    return {"1k-1m-none": {key("kafka", "batch", named[name]): samples(*took) for name, took in seconds.items()}}


def test_every_size_of_the_issue_is_read_with_both_codecs() -> None:
    plain = {(scene.records, scene.size, scene.codec) for scene in SCENES if not scene.avro}
    sizes = ((1_000_000, 1024), (4_000_000, 1024), (5_000_000, 100), (20_000_000, 100))
    assert plain == {(*size, codec) for size in sizes for codec in ("none", "lz4")}
    assert all(scene.records % (PARTITIONS * scene.per_batch) == 0 for scene in SCENES)


def test_scenes_are_chosen_by_how_their_names_begin() -> None:
    assert [scene.name for scene in select(["1k-1m", "avro"])] == ["1k-1m-none", "1k-1m-lz4", "avro-2m"]
    assert select([]) == list(SCENES)
    with pytest.raises(ValueError, match="no scene begins with 2k"):
        select(["2k"])


def test_a_topic_holds_exactly_what_the_scene_says() -> None:
    with Broker() as broker:
        port = int(broker.bootstrap.rpartition(":")[2])
        fill(port, "t", SMALL, lambda share: None)
        with admin.Admin(port) as connection:
            ends, _ = connection.latest("t", list(range(PARTITIONS)))
    assert ends == dict.fromkeys(range(PARTITIONS), 2000)


def test_sources_differ_in_format_and_tuning_only() -> None:
    stock, tuned, ours = (job_of("h:1", "t", SMALL, source, "batch") for source in SMALL.sources)
    assert (stock["format"], tuned["format"], ours["format"]) == ("kafka", "kafka", "tapelog")
    assert stock["options"] == ours["options"]
    assert tuned["options"].items() > stock["options"].items()


def test_ratios_pair_what_ran_in_the_same_round_and_promises_are_judged() -> None:
    page = tell.table(results(stock=(2.0, 4.0), tuned=(1.5, 3.0), ours=(1.0, 1.0)))
    assert "3.00× (2.00–4.00)" in page and "2.25× (1.50–3.00)" in page and "≥ 2× met" in page
    page = tell.table(results(stock=(2.0,), tuned=(0.8,), ours=(1.1,)))
    assert "≥ 2× MISSED" in page and "SLOWER than tuned" in page


def test_what_could_not_be_read_is_a_dash_and_no_ratio() -> None:
    line = tell.table(results(ours=(1.0,))).splitlines()[-1]
    assert line.count("–") >= 4 and "MISSED" not in line


def test_runs_add_their_scenes_to_one_file_with_a_chart(tmp_path: Path) -> None:
    about = {"pyspark": "4.3.0", "connector": "4.2.0", "commit": "abc", "compiled": True}
    first = {**about, "results": results(stock=(2.0,), tuned=(1.5,), ours=(1.0,))}
    second = {**about, "results": {"100b-5m-none": first["results"]["1k-1m-none"]}}  # type: ignore[index]
    tell.write(tmp_path / "x.json", tell.merged(first, second))
    assert set(json.loads((tmp_path / "x.json").read_text())["results"]) == {"1k-1m-none", "100b-5m-none"}
    assert (tmp_path / "x.svg").read_text().count("2.00×") >= 2


def test_modes_of_one_scene_that_were_measured_in_several_runs_stand_side_by_side() -> None:
    warm, fresh = results(stock=(2.0,)), results(stock=(4.0,))
    fresh = {"1k-1m-none": {key("kafka", f"{FRESH}batch", STOCK): fresh["1k-1m-none"][key("kafka", "batch", STOCK)]}}
    found = tell.merged({"results": warm}, {"results": fresh})["results"]["1k-1m-none"]
    assert {name: [one["seconds"] for one in figures] for name, figures in found.items()} == {
        key("kafka", "batch", STOCK): [2.0],
        key("kafka", "fresh-batch", STOCK): [4.0],
    }


def test_the_plan_of_the_short_scenes_fits_into_a_quarter_of_an_hour_when_warm_and_three_quarters_in_all() -> None:
    short = [scene for scene in SCENES if not scene.long and not scene.avro]
    warm = [mode for mode in MODES if not mode.startswith(FRESH)]
    assert 3 < minutes(short, warm, len(BROKERS), 3, 2) < 15
    assert 15 < minutes(short, MODES, len(BROKERS), 3, 2) < 45


class Noting:
    """A session that only notes what it is told to read."""

    def __init__(self, told: list[tuple[str, str]]) -> None:
        self.told = told

    def read(self, side: object, topic: str, scene: Scene, source: str, mode: str) -> Figures:
        self.told.append((topic, mode))
        return samples(1.0)[0] | {"others_cpu_s": 0.0}

    def close(self) -> None:
        self.told.append(("closed", ""))


def test_a_fresh_read_has_a_session_of_its_own_that_has_read_next_to_nothing(tmp_path: Path) -> None:
    told: list[tuple[str, str]] = []
    stage = Stage(tmp_path, lambda: Noting(told), ["tapelog"], interpreted=True, tell=lambda line: None)  # type: ignore[arg-type, return-value]
    stage._read(SMALL, "tapelog", f"{FRESH}availableNow", OURS)
    assert told == [("bench-first", "availableNow"), ("bench-small", "availableNow"), ("closed", "")]


def test_a_connector_that_was_fetched_is_not_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connector, "FOLDER", tmp_path)
    monkeypatch.setattr(connector.shutil, "which", lambda name: pytest.fail("Maven was called"))
    there = tmp_path / "4.3.0"
    there.mkdir()
    jars = ["spark-sql-kafka-0-10_2.13-4.2.0", "spark-token-provider-kafka-0-10_2.13-4.0.0", "kafka-clients-3.9.1"]
    for name in [*jars, "commons-pool2-2.12.1"]:
        (there / f"{name}.jar").touch()
    (there / "no-spark-avro").touch()
    found = connector.find("4.3.0", lambda line: None, avro=True)
    assert (found.version, found.avro, len(found.jars)) == ("4.2.0", "", 4)
