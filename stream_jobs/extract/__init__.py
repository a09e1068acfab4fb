"""Extraction: pure functions from lines to points and events. No broker, no store, no clock."""

from __future__ import annotations

from stream_jobs.extract.bars import progress_of
from stream_jobs.extract.engine import EXTRACTOR_VERSION, extract
from stream_jobs.extract.options import Options
from stream_jobs.extract.rows import Events, Points
from stream_jobs.extract.state import State

__all__ = ["EXTRACTOR_VERSION", "Events", "Options", "Points", "State", "extract", "progress_of"]
