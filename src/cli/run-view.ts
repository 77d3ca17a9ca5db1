/**
 * How a run is shown: as text for a person, or as JSON lines for a program.
 */
import type { RunResult, StreamItem } from "../index.js";
import { exitCodeOf, exitCodes } from "./exit.js";
import { shortId } from "./home.js";
import { createProgress } from "./progress.js";
import type { Redaction } from "./redaction.js";
import { createRenderer, type Piece } from "./render.js";
import type { Terminal } from "./terminal.js";

export type JsonView = {
  readonly see: (item: StreamItem) => void;
  /** Shows how it ended, as far as no item has told it. */
  readonly end: (result: RunResult) => void;
  /** Shows no more of what goes on. */
  readonly pause: () => void;
};

/** One item a line, as the library gives it; the last line tells the end: `final`, `suspended` or `interrupted`. */
export function createJsonView(terminal: Terminal): JsonView {
  let told = false;
  return {
    see(item) {
      told = item.type === "final" || item.type === "suspended";
      terminal.json(item);
    },
    end(result) {
      if (told) return;
      const { status, runId, sessionId } = result;
      if (status === "awaiting_human")
        terminal.json({ type: "suspended", runId, approvals: result.approvals, sessionId });
      else if (status === "interrupted") terminal.json({ type: "interrupted", result });
      else terminal.json({ type: "final", runId, result, sessionId });
    },
    pause() {},
  };
}

/** The same view, of what is redacted. */
export function redactedView(view: JsonView, redaction: Redaction): JsonView {
  const pass = redaction.stream();
  return {
    see(item) {
      for (const one of pass(item)) view.see(one);
    },
    end: (result) => view.end(redaction.value(result)),
    pause: view.pause,
  };
}

const refreshMs = 250;
/** Where nothing can be shown in place, silence is broken this often. */
const silenceMs = 30_000;

/** @param canAsk questions are put to the person where they come up */
export function createTextView(terminal: Terminal, canAsk: boolean): JsonView {
  const { paint, columns } = { paint: terminal.paint, columns: terminal.columns() };
  const renderer = createRenderer({ paint, columns, canAsk });
  const progress = createProgress();
  let ended = false;
  let quietSince = Date.now();
  let timer: NodeJS.Timeout | null = null;

  function write(pieces: readonly Piece[]): void {
    for (const { to, text } of pieces) terminal[to](text);
    if (pieces.length > 0) quietSince = Date.now();
  }

  function refresh(): void {
    if (!renderer.isAtLineStart()) return;
    const line = progress.line(Date.now());
    if (terminal.isLive) terminal.status(line === null ? null : paint("dim", line));
    else if (line !== null && Date.now() - quietSince >= silenceMs) write([{ to: "err", text: `${line}\n` }]);
  }

  return {
    see(item) {
      timer ??= setInterval(refresh, refreshMs);
      ended = item.type === "final";
      progress.see(item, Date.now());
      write(renderer.show(item));
    },
    end(result) {
      if (!ended) write(renderer.end(result, Date.now()));
      const hint = hintOf(result);
      if (hint !== null) terminal.err(`${paint("dim", hint)}\n`);
    },
    pause() {
      if (timer !== null) clearInterval(timer);
      timer = null;
      terminal.status(null);
    },
  };
}

/** What can be done next. */
function hintOf(result: RunResult): string | null {
  const id = shortId(result.sessionId);
  switch (exitCodeOf(result)) {
    case exitCodes.waiting:
      return `To answer: pawl resume ${id} on a terminal, or pawl approvals ${id}`;
    case exitCodes.interrupted:
      return `To carry on: pawl resume ${id}`;
    case exitCodes.limit:
      return `To go on: pawl run --session ${id} "go on"`;
    default:
      return null;
  }
}
