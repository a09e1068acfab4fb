"""tqdm: bars with values, in a file and on a terminal."""

from __future__ import annotations

import sys

from tqdm import tqdm as bar

from tests.frameworks.recording import recorded
from tests.frameworks.training import training


def main() -> None:
    for name, terminal in (("loop_tqdm_file", False), ("loop_tqdm_terminal", True)):
        with recorded(name, "tqdm", terminal=terminal) as recording:
            rows = list(training(7 + terminal, 3, 20))
            for epoch in range(1, 4):
                with bar(
                    rows[20 * epoch - 20 : 20 * epoch], desc=f"Epoch {epoch}/3", mininterval=0, miniters=5, leave=True
                ) as shown:
                    for _, step, loss, accuracy, _ in shown:
                        shown.set_postfix({"loss": f"{loss:.4f}", "acc": accuracy, "step": step}, refresh=False)
                bar.write(f"[valid] epoch={epoch} loss={loss:.6f} acc={accuracy:.3f}", file=sys.stderr)
                recording.point("loss", loss, epoch=epoch, form=".6f")
                recording.point("acc", accuracy, epoch=epoch, form=".3f")
                recording.point("loss", loss, step=step, epoch=epoch, form=".4f")
                recording.point("acc", accuracy, step=step, epoch=epoch, form=".3g")


if __name__ == "__main__":
    main()
