"""The rules that exactly-once rests on: how each is taken out of the code, and which tests see that.

`make rules` takes each out in a copy of the tree and runs its tests: they must fail. So none of them passes by luck.
"""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Rule:
    name: str
    edits: tuple[tuple[str, str, str], ...]  # (file, what stands there, what stands there without the rule)
    test: str  # pytest id; it must fail


ONCE = "tests/integration/test_worker_exactly_once.py"
VIEWS = "tests/contract/test_views.py"
SHIPPER = "tests/unit/shipper/test_faults.py"

RULES = (
    Rule(
        "The checkpoint holds only what the broker has acknowledged",
        (("producers/shipper/checkpoint.py", "    position = tail.acked\n", "    position = tail.sent\n"),),
        "tests/unit/shipper/test_identity_rules.py::test_b03_a_save_while_the_broker_is_away_keeps_the_position_that_was_acknowledged",
    ),
    Rule(
        "A file is the same only while the bytes before its offset are",
        (
            (
                "producers/shipper/identity.py",
                "return not position.offset or digest(read(start, position.offset - start)) == position.before",
                "return True",
            ),
            ("producers/shipper/tail.py", " != self.sent.before:", " is None:"),
        ),
        "tests/unit/shipper/test_identity_rules.py::test_b06_starts_that_say_the_same_for_4_kib_and_longer_are_told_apart",
    ),
    Rule(
        "What stood at a file's place while no shipper lived is looked for",
        (("producers/shipper/finder.py", "                self.admit_newcomers(place, since, now)\n", "                pass\n"),),
        "tests/unit/shipper/test_follow.py::test_b07_renames_while_no_shipper_lives",
    ),
    Rule(
        "One shipper owns a file",
        (
            (
                "producers/shipper/locks.py",
                "        if self._held[inode] == 0 and not self._set(inode, fcntl.F_WRLCK):\n            return False\n",
                "",
            ),
        ),
        f"{SHIPPER}::test_two_shippers_one_file",
    ),
    Rule(
        "Rows are inserted before the byte range that shows them",
        (
            (
                "stream_jobs/batch.py",
                "        token = self._token()\n        waiting = {\n",
                "        token = self._token()\n"
                "        for entry in self.entries.values():\n"
                '            _append(self.tables["file_ranges"], _range_row(entry, 0))\n'
                '        sink.insert("file_ranges", self.tables["file_ranges"], f"early:{token}")\n'
                "        waiting = {\n",
            ),
        ),
        f"{ONCE}::test_a_kill_between_inserts_and_ledger_shows_nothing_before_and_all_once_after[before-points]",
    ),
    Rule(
        "A view shows a point only where a range covers its line",
        (
            (
                "schemas/clickhouse/0002_views.sql",
                "if(f.ranges[1].1 <= p.offset AND p.offset < f.ranges[1].2, f.ranges[1].3, 0)",
                "p.revision",
            ),
        ),
        f"{ONCE}::test_a_kill_between_inserts_and_ledger_shows_nothing_before_and_all_once_after[after-points]",
    ),
    Rule(
        "Of several extractions that cover a line the newest counts, and no other",
        (
            (
                "schemas/clickhouse/0002_views.sql",
                "    arrayMax(r -> if(r.1 <= p.offset AND p.offset < r.2, r.3, 0), f.ranges));\n",
                "    if(arrayExists(r -> r.1 <= p.offset AND p.offset < r.2, f.ranges), p.revision, 0));\n",
            ),
        ),
        f"{VIEWS}::test_a_point_that_the_newer_extraction_does_not_find_is_gone",
    ),
    Rule(
        "The revision is in the key of points",
        (
            (
                "schemas/clickhouse/0001_tables.sql",
                "ORDER BY (task_id, name, file_id, offset, place, revision)",
                "ORDER BY (task_id, name, file_id, offset, place)",
            ),
        ),
        f"{VIEWS}::test_half_of_a_replay_is_never_seen",
    ),
    Rule(
        "Views fold repeats of one key",
        (("schemas/clickhouse/0002_views.sql", "FROM {database}.points AS p FINAL\n", "FROM {database}.points AS p\n"),),
        f"{VIEWS}::test_a_redelivery_is_seen_once",
    ),
    Rule(
        "A range's end is the furthest that anybody wrote",
        (
            (
                "schemas/clickhouse/0001_tables.sql",
                "    end         SimpleAggregateFunction(max, UInt64),\n",
                "    end         SimpleAggregateFunction(anyLast, UInt64),\n",
            ),
        ),
        f"{VIEWS}::test_a_late_smaller_end_changes_nothing",
    ),
    Rule(
        "Bytes that a range covers are not stored again",
        (
            (
                "stream_jobs/ledger.py",
                "            return self._place_new(delta)\n        return self._place_over(delta, evidence)\n",
                "            return self._place_new(delta)\n        return Placement(store=(delta,))\n",
            ),
        ),
        f"{ONCE}::test_what_is_delivered_again_is_dropped_by_the_same_worker_and_by_the_next",
    ),
    Rule(
        "… and are dropped only where they are equal",
        (
            (
                "stream_jobs/ledger.py",
                "        marks = self._marks(delta, evidence)\n        if whole and marks",
                "        marks = self._marks(delta, evidence)\n"
                "        if whole:\n            return Placement(dropped=same)\n"
                "        if whole and marks",
            ),
        ),
        f"{ONCE}::test_a_file_rewritten_after_a_lost_checkpoint_is_another_file_from_the_difference_on[4]",
    ),
    Rule(
        "What was extracted behind a gap has a revision of its own",
        (("stream_jobs/ledger.py", "COLD = 1\n", "COLD = 0\n"),),
        f"{ONCE}::test_a_cold_extraction_that_was_cut_off_is_never_shown_as_the_warm_one",
    ),
    Rule(
        "… and is extracted again when the gap has closed",
        (
            (
                "stream_jobs/ledger.py",
                "                if before is not None and not before.cold:\n",
                "                if before is not None and before.cold is None:\n",
            ),
        ),
        f"{ONCE}::test_in_any_order_a_header_reaches_all_rows_below_it[0]",
    ),
    Rule(
        "An insert's token tells everything that makes its rows",
        (
            (
                "stream_jobs/batch.py",
                "(entry.file.task, entry.file.file_id, entry.start, entry.end, crc, entry.run.revision, entry.arrived)",
                "(entry.file.task, entry.start, entry.end, entry.run.revision)",
            ),
        ),
        f"{ONCE}::test_the_same_token_is_never_given_to_other_rows",
    ),
    Rule(
        "A batch is acknowledged after it is stored",
        (
            (
                "stream_jobs/app.py",
                "                await asyncio.to_thread(self._work, messages, files)\n",
                "                for event in events:\n"
                "                    await stream.ack(event)\n"
                "                await asyncio.to_thread(self._work, messages, files)\n",
            ),
        ),
        "tests/integration/test_worker_process.py::test_killed_again_and_again_nothing_is_lost_and_nothing_doubled",
    ),
    Rule(
        "Files that began in one millisecond are in the order of their messages",
        (
            (
                "schemas/clickhouse/0004_proof.sql",
                "ORDER BY first_arrived, first_offset, file_id)",
                "ORDER BY first_arrived, file_id)",
            ),
        ),
        f"{ONCE}::test_rotations_that_arrive_together_are_attempts_in_their_order",
    ),
)
