"""rich: a terminal with a live bar, lines above it and a table."""

from __future__ import annotations

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tests.frameworks.recording import recorded
from tests.frameworks.training import training


def main() -> None:
    with recorded("loop_rich", "rich", terminal=True) as recording:
        console = Console(force_terminal=True, width=100)
        table = Table(title="digits")
        for name in ("epoch", "loss", "accuracy", "lr"):
            table.add_column(name, justify="right")
        with Progress(console=console, transient=False) as progress:
            bar = progress.add_task("training", total=24)
            for epoch, step, loss, accuracy, rate in training(6, 4):
                progress.advance(bar)
                if step % 6 == 0:
                    progress.console.print(f"[bold]epoch {epoch}[/bold]: loss={loss:.5f} accuracy={accuracy:.4f}")
                    recording.point("loss", loss, epoch=epoch, form=".5f")
                    recording.point("accuracy", accuracy, epoch=epoch, form=".4f")
                    table.add_row(str(epoch), f"{loss:.3f}", f"{accuracy:.1%}", f"{rate:.1e}")
                    recording.point("loss", loss, epoch=epoch, form=".3f")
                    recording.point("accuracy", accuracy * 100, epoch=epoch, form=".1f")
                    recording.point("lr", rate, epoch=epoch, form=".1e")
        console.print(table)


if __name__ == "__main__":
    main()
