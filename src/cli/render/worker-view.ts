/**
 * Shows a worker's activity, as lines of text that begin with the session's id or as lines of JSON.
 */
import type { Observer, PublicEvent, WorkerReport } from "../../index.js";
import { shortId } from "../files/session-store.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize, toOneLine, truncate, widthOf } from "../terminal/text.js";
import { createRenderer, type Piece, type Renderer } from "./renderer.js";

export type WorkerView = {
  /** Receives the events of the sessions that the worker drives. */
  readonly observer: Observer;
  /** @param text the reason why a session was refused, or the store's error */
  readonly report: (report: WorkerReport, text: string) => void;
};

/** Prints the events of the sessions as the library emits them, and the worker's reports. */
export function createJsonWorkerView(terminal: Terminal): WorkerView {
  return {
    observer: { onEvent: terminal.json },
    report(report, text) {
      if (!("error" in report)) return terminal.json(report);
      const { error, ...rest } = report;
      const code = error instanceof Error && "code" in error ? { code: error.code } : {};
      terminal.json({ ...rest, ...code, message: text });
    },
  };
}

/** Columns of the id before each line. An id that a program chose may be long. */
const maxPrefix = 40;

function formatPrefix(sessionId: string): string {
  return truncate(toOneLine(shortId(sessionId)), maxPrefix);
}

/** Beyond this many sessions at once, a session gets a new renderer for each event. */
const maxRenderers = 10_000;

/** @param storeOption what a command needs in order to read the worker's store; empty if it reads that store anyway */
export function createTextWorkerView(terminal: Terminal, storeOption = ""): WorkerView {
  const { styleOut: style, redaction } = terminal;
  const renderers = new Map<string, Renderer>();

  function getRenderer(sessionId: string): Renderer {
    let renderer = renderers.get(sessionId);
    renderer ??= createRenderer({
      style,
      columns: Math.max(40, terminal.columns() - widthOf(formatPrefix(sessionId)) - 2),
      showInput: true,
    });
    if (renderers.size < maxRenderers) renderers.set(sessionId, renderer);
    return renderer;
  }

  function write(sessionId: string, pieces: readonly Piece[]): void {
    const text = pieces.map((piece) => piece.text).join("");
    if (text !== "")
      terminal.out(`${text.replace(/\n$/, "").replace(/^/gm, () => `${style("dim", formatPrefix(sessionId))}  `)}\n`);
  }

  const writeLine = (sessionId: string, text: string) => write(sessionId, [{ to: "out", text }]);
  const onEvent = (event: PublicEvent) =>
    write(event.sessionId, getRenderer(event.sessionId).show(redaction.value(event)));

  function report(report: WorkerReport, text: string): void {
    switch (report.type) {
      case "taken":
        writeLine(report.sessionId, style("dim", "taken up"));
        break;
      case "left": {
        const { sessionId } = report;
        const result = redaction.value(report.result);
        const { status } = result;
        const isOver = status !== "awaiting_human" && status !== "waiting" && status !== "interrupted";
        if (!isOver) write(sessionId, getRenderer(sessionId).end(result, Date.now()));
        if (result.status === "awaiting_human")
          writeLine(
            sessionId,
            style("yellow", `to answer: pawl approvals ${sanitize(shortId(sessionId))}${storeOption}`),
          );
        renderers.delete(sessionId);
        break;
      }
      case "refused":
        writeLine(report.sessionId, `${style("red", "refused")}: ${toOneLine(redaction.text(text))}`);
        break;
      case "scores_failed":
        if (report.sessionId === undefined)
          terminal.err(`${style("red", "Sessions could not be judged")}: ${toOneLine(redaction.text(text))}\n`);
        else writeLine(report.sessionId, `${style("red", "could not be judged")}: ${toOneLine(redaction.text(text))}`);
        break;
      case "fired": {
        const slot = new Date(report.slot).toISOString();
        // Only the id of a delayed message contains a colon.
        const text = report.scheduleId.includes(":")
          ? `a delayed message was posted for ${slot}`
          : `posted by the schedule ${report.scheduleId} for ${slot}`;
        writeLine(report.sessionId, style("dim", text));
        break;
      }
      case "schedule_failed": {
        const again = `Trying again in ${report.retryInMs / 1_000} s.`;
        const what = style("red", `The schedule ${sanitize(report.scheduleId)} failed`);
        terminal.err(`${what}: ${toOneLine(redaction.text(text))} ${again}\n`);
        break;
      }
      case "notice_failed": {
        const { retryInMs, destination } = report;
        const again =
          retryInMs === null
            ? `Not tried again: pawl notices retry ${report.notice}`
            : `Trying again in ${Math.round(retryInMs / 1_000)} s.`;
        const what = style("red", `not notified: ${sanitize(destination)}`);
        const line = `${what}: ${toOneLine(redaction.text(text))} ${again}`;
        if (report.sessionId === null) terminal.err(`${line}\n`);
        else writeLine(report.sessionId, line);
        break;
      }
      case "store_failed": {
        const again = `Asking again in ${report.retryInMs / 1_000} s.`;
        terminal.err(`${style("red", "The store failed")}: ${toOneLine(redaction.text(text))} ${again}\n`);
        break;
      }
    }
  }

  return { observer: { name: "worker", onEvent }, report };
}
