/**
 * What a worker does, a line for each thing: as text with the session in front, or as JSON.
 */
import type { Observer, PublicEvent, WorkerReport } from "../index.js";
import { shortId } from "./home.js";
import { createRenderer, type Piece, type Renderer } from "./render.js";
import type { Terminal } from "./terminal.js";
import { oneLine, visible } from "./text.js";

export type WorkerView = {
  /** What happens in the sessions that are carried on. */
  readonly observer: Observer;
  /** @param text why a session was refused */
  readonly report: (report: WorkerReport, text: string) => void;
};

/** The events of the sessions as the library gives them, and lines of type `taken`, `left` and `refused`. */
export function createJsonWorkerView(terminal: Terminal): WorkerView {
  return {
    observer: { onEvent: terminal.json },
    report(report, text) {
      if (report.type !== "refused") return terminal.json(report);
      const { type, sessionId, error } = report;
      const code = error instanceof Error && "code" in error ? { code: error.code } : {};
      terminal.json({ type, sessionId, ...code, message: text });
    },
  };
}

const namesAtMost = 10_000;

export function createTextWorkerView(terminal: Terminal): WorkerView {
  const { paintOut: paint, redaction } = terminal;
  const pages = new Map<string, Renderer>();

  function pageOf(sessionId: string): Renderer {
    let page = pages.get(sessionId);
    // What is longer than a terminal is wide is wrapped by it; a log keeps it whole.
    page ??= createRenderer({
      paint,
      columns: Math.max(40, terminal.columns() - shortId(sessionId).length - 2),
      showInput: true,
    });
    if (pages.size < namesAtMost) pages.set(sessionId, page);
    return page;
  }

  function write(sessionId: string, pieces: readonly Piece[]): void {
    const text = pieces.map((piece) => piece.text).join("");
    if (text !== "")
      terminal.out(`${text.replace(/\n$/, "").replace(/^/gm, `${paint("dim", visible(shortId(sessionId)))}  `)}\n`);
  }

  const line = (sessionId: string, text: string) => write(sessionId, [{ to: "out", text }]);
  const onEvent = (event: PublicEvent) => write(event.sessionId, pageOf(event.sessionId).show(redaction.value(event)));

  function report(report: WorkerReport, text: string): void {
    const { sessionId } = report;
    switch (report.type) {
      case "taken":
        line(sessionId, paint("dim", "taken up"));
        break;
      case "left": {
        const result = redaction.value(report.result);
        const isOver = result.status !== "awaiting_human" && result.status !== "interrupted";
        if (!isOver) write(sessionId, pageOf(sessionId).end(result, Date.now()));
        if (result.status === "awaiting_human")
          line(sessionId, paint("yellow", `to answer: pawl approvals ${visible(shortId(sessionId))}`));
        pages.delete(sessionId);
        break;
      }
      case "refused":
        line(sessionId, `${paint("red", "refused")}: ${oneLine(redaction.text(text))}`);
        break;
    }
  }

  return { observer: { name: "worker", onEvent }, report };
}
