"""PrettyTable, tabulate and pandas: a loop's results as tables."""

from __future__ import annotations

import pandas
from prettytable import PrettyTable
from tabulate import tabulate

from tests.frameworks.recording import recorded
from tests.frameworks.training import training


def main() -> None:
    with recorded("loop_tables", "prettytable") as recording:
        rows = [row for row in training(9, 3, 5)]
        pretty = PrettyTable(["Epoch", "Train Loss", "Accuracy"])
        for epoch, step, loss, accuracy, _ in rows:
            if step % 5 == 0:
                pretty.add_row([epoch, f"{loss:.4f}", f"{accuracy:.4f}"])
                recording.point("Train Loss", loss, epoch=epoch, form=".4f")
                recording.point("Accuracy", accuracy, epoch=epoch, form=".4f")
        print(pretty)
        for style in ("grid", "simple", "github", "fancy_grid", "plain"):
            print()
            cells = [[step, loss, accuracy] for _, step, loss, accuracy, _ in rows[::3]]
            print(tabulate(cells, ["step", "val_loss", "val_acc"], tablefmt=style, floatfmt=".5f"))
            for step, loss, accuracy in cells:
                recording.point("val_loss", loss, step=step, form=".5f")
                recording.point("val_acc", accuracy, step=step, form=".5f")
        print()
        frame = pandas.DataFrame([row[1:4] for row in rows[-4:]], columns=["step", "loss", "accuracy"])
        print(frame.to_string(index=False, float_format="%.6f"))
        for _, step, loss, accuracy, _ in rows[-4:]:
            recording.point("loss", loss, step=step, form=".6f")
            recording.point("accuracy", accuracy, step=step, form=".6f")


if __name__ == "__main__":
    main()
