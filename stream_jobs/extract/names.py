"""What a name says: a counter of steps or epochs, a metric, or something that is no metric.

All decisions look at the name in its plain form (lower case, blanks, dots and dashes as ``_``), never at the value.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from stream_jobs.extract import lexicon, numbers


def plain(name: str) -> str:
    """`Train Loss` → `train_loss`, `L.r.` → `l_r`."""
    return lexicon.PLAIN.sub("_", name.strip().lower()).strip("_")


@lru_cache(4096)
def step_rank(name: str) -> int | None:
    """How good a step this counter is (0 the best); None if it is none. The last words decide: `completed step` is one."""
    key = plain(name)
    if "/" in key:
        key = key.rsplit("/", 1)[1]
        return lexicon.STEP_RANK.get(key) if key in lexicon.NESTED_STEPS else None
    rank = lexicon.STEP_RANK.get(key)
    if rank is not None:
        return rank
    words = key.split("_")
    rest = "_".join(words[1:])
    if words[0] in lexicon.SPLITS and rest in lexicon.STEP_RANK:  # valid_num_updates; eval_steps is how many, or how often
        return lexicon.STEP_RANK[rest] if rest != "steps" else None
    if words[0] in ("num", "number", "max", "total", "warmup", "save", "per", "n", "min", "remaining", "skipped", "each"):
        return None
    if len(words) > 1 and " ".join(words[-2:]) in ("global step", "global steps"):
        return 0
    if " " in name or key.startswith("_"):
        return lexicon.STEP_RANK.get(words[-1]) if words[-1] not in ("it", "ts", "up", "gen", "round", "tree") else None
    return None


@lru_cache(4096)
def is_epoch(name: str) -> bool:
    key = plain(name)
    if key in lexicon.EPOCHS:
        return True
    words = key.split("_")
    return (
        words[-1] == "epoch" and " " in name and words[0] not in ("num", "number", "max", "total", "per", "each", "best", "every")
    )


@lru_cache(4096)
def is_of_epoch(name: str) -> bool:
    """`Training acc over epoch`: what a fraction behind it is measured over, no counter."""
    words = plain(name).split("_")
    return words[-1] == "epoch" and len(words) > 2 and words[-2] in ("over", "per", "of", "in", "for", "this")


@lru_cache(4096)
def is_metric(name: str) -> bool:
    """A name that is a metric's wherever it stands."""
    if is_never(name) or is_hyper(name) or is_count(name):
        return False
    key = plain(name)
    if lexicon.SPEED.search(name) or lexicon.METRIC_TAIL.search(key) or numbers.is_pace(name):
        return True
    words = lexicon.WORDS.findall(key)
    joined = {a + b for a, b in pairwise(words)}
    return any(word in lexicon.METRIC_WORDS for word in words) or any(word in lexicon.METRIC_WORDS for word in joined)


@lru_cache(4096)
def is_split_only(name: str) -> bool:
    """`train`, `val set`: nothing but the split makes it a metric, so a whole number may well be the size of that set."""
    words = set(lexicon.WORDS.findall(plain(name)))
    if not words & lexicon.SPLITS or lexicon.SPEED.search(name) or lexicon.METRIC_TAIL.search(plain(name)):
        return False
    return not (words - lexicon.SPLITS) & lexicon.METRIC_WORDS


def is_switch(name: str) -> bool:
    """`USE_CUDA`: of a build or of the environment, where its value is a whole number."""
    return lexicon.SWITCH.fullmatch(name) is not None


@lru_cache(4096)
def is_learning_rate(name: str) -> bool:
    """A metric in training, a setting before it; `cur_lr` tells what is."""
    if plain(name).startswith("cur"):
        return False
    return plain(name).endswith(("lr", "learning_rate")) or plain(name) == "l_r"


def ends_as_metric(name: str) -> bool:
    return lexicon.METRIC_TAIL.search(plain(name)) is not None and is_metric(name)


@lru_cache(4096)
def is_never(name: str) -> bool:
    """A name that is no metric's, whatever stands beside it."""
    key = plain(name)
    if lexicon.SPEED.search(name):
        return False
    path, _, last = key.rpartition("/")
    summed = last == "total" and any(lexicon.METRIC_TAIL.search(part) for part in path.split("/"))  # loss/train/total
    if (
        (last in lexicon.NEVER and not summed)
        or key in lexicon.NEVER
        or lexicon.SOURCE_FILE.search(name)
        or lexicon.HOST.search(name)
    ):
        return True
    words = lexicon.WORDS.findall(key)
    return not lexicon.REPEATS.isdisjoint(words) or (
        not lexicon.NEVER_WORDS.isdisjoint(words) and not lexicon.METRIC_TAIL.search(key)
    )


@lru_cache(4096)
def is_count(name: str) -> bool:
    """How many of something there are: `num examples`, `total params`. In free text no metric."""
    last = plain(name).rsplit("/", 1)[-1]
    return bool(lexicon.NEVER_HEAD.match(last)) and not lexicon.SPEED.search(name) and not lexicon.METRIC_TAIL.search(last)


@lru_cache(4096)
def is_hyper(name: str) -> bool:
    """A setting of the training: no metric unless the line says which step it belongs to."""
    key = plain(name)
    return bool(lexicon.HYPER.search(key)) and not lexicon.MEASURED.match(key)


def column_step(name: str) -> int | None:
    return 0 if plain(name) in lexicon.TABLE_STEPS else step_rank(name)


def column_epoch(name: str) -> bool:
    return plain(name) in lexicon.TABLE_EPOCHS or is_epoch(name)
