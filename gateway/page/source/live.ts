// The live stream of a task, shared by the parts of the page. The browser itself comes back where it was.
//
// It is open while somebody sees the page. Browsers give a host six connections for all tabs together (HTTP/1.1), and keep
// a page that was left, its stream too, for "back": six streams that nobody sees, and no request of any page gets through.

import { address, type News, type Task, type TaskEvent } from "./api";

export interface State {
  task: Task;
  pipeline: TaskEvent[];
}

export interface Listener {
  news?: (news: News) => void;
  state?: (state: State) => void;
  problem?: (problem: string) => void;
}

export class Live {
  private source: EventSource | null = null;
  private listeners = new Set<Listener>();
  private again = 0;
  private place = ""; // from now on

  /** Settles when the stream has its place: what is read after that and what it brings leave nothing out. */
  readonly opened: Promise<void>;
  private ready: () => void = () => undefined;

  constructor(private task: string) {
    this.opened = new Promise((ready) => (this.ready = ready));
    document.addEventListener("visibilitychange", this.heed);
    this.open();
  }

  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  close(): void {
    document.removeEventListener("visibilitychange", this.heed);
    this.leave();
    this.listeners.clear();
  }

  private leave(): void {
    clearTimeout(this.again);
    this.source?.close();
    this.source = null;
  }

  /** Open while the page is seen; a page that opens unseen waits for its place first. */
  private readonly heed = (): void => {
    if (document.hidden && this.place) this.leave();
    else if (!this.source) this.open();
  };

  private open(): void {
    const source = new EventSource(address(`tasks/${this.task}/live`, { after: this.place }));
    this.source = source;
    source.addEventListener("open", () => {
      this.ready();
      this.tell("problem", "");
    });
    source.addEventListener("place", (event) => {
      this.place = event.lastEventId;
      this.heed();
    });
    source.addEventListener("new", (event) => {
      this.place = event.lastEventId;
      this.tell("news", JSON.parse(event.data) as News);
    });
    source.addEventListener("state", (event) => this.tell("state", JSON.parse(event.data) as State));
    source.addEventListener("problem", (event) => this.tell("problem", (JSON.parse(event.data) as { detail: string }).detail));
    source.addEventListener("error", () => {
      this.tell("problem", "The live stream is interrupted; it goes on by itself.");
      if (source.readyState !== EventSource.CLOSED) return; // the browser tries again
      this.leave(); // refused: by a gateway that starts, or has too many streams
      this.again = window.setTimeout(this.heed, 2000);
    });
  }

  private tell<K extends keyof Listener>(kind: K, what: Parameters<NonNullable<Listener[K]>>[0]): void {
    for (const listener of [...this.listeners]) (listener[kind] as ((what: unknown) => void) | undefined)?.(what);
  }
}
