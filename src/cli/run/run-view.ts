/**
 * Shows a run: as text for a person, or as lines of JSON for a program.
 */
import type { RunResult, StreamItem } from "../../index.js";
import { exitCodeOf, exitCodes } from "../exit.js";
import { shortId } from "../files/session-store.js";
import { createRenderer, type Piece } from "../render/renderer.js";
import type { Redaction } from "../terminal/redaction.js";
import type { Terminal } from "../terminal/terminal.js";
import { sanitize } from "../terminal/text.js";
import { createProgress } from "./progress.js";

export type RunView = {
  readonly show: (item: StreamItem) => void;
  /** Shows how the run ended, unless the last item has shown it already. */
  readonly end: (result: RunResult) => void;
  /** Writes a line for the person. It is held while a line of the model's text is open. */
  readonly note: (line: string) => void;
  /** Stops the line of progress. */
  readonly pause: () => void;
};

/** One item per line, as the library emits it. The last line is `final`, `suspended` or `interrupted`. */
export function createJsonRunView(terminal: Terminal): RunView {
  let hasShownEnd = false;
  return {
    show(item) {
      hasShownEnd = item.type === "final" || item.type === "suspended";
      terminal.json(item);
    },
    end(result) {
      if (hasShownEnd) return;
      const { status, runId, sessionId } = result;
      if (status === "awaiting_human")
        terminal.json({ type: "suspended", runId, approvals: result.approvals, sessionId });
      else if (status === "waiting")
        terminal.json({ type: "suspended", runId, approvals: [], waits: result.waits, sessionId });
      else if (status === "interrupted") terminal.json({ type: "interrupted", result });
      else terminal.json({ type: "final", runId, result, sessionId });
    },
    note: (line) => terminal.err(`${line}\n`),
    pause() {},
  };
}

/** Redacts what it passes on to another view. */
export function redactRunView(view: RunView, redaction: Redaction): RunView {
  const redact = redaction.stream();
  return {
    show(item) {
      for (const redacted of redact(item)) view.show(redacted);
    },
    end: (result) => view.end(redaction.value(result)),
    note: view.note,
    pause: view.pause,
  };
}

const refreshMs = 250;
/**
 * If standard error is not a terminal, a line of progress is printed after this much silence. The first one comes early:
 * a slow model on this machine may send nothing for minutes.
 */
const progressDelayMs = { first: 10_000, next: 30_000 } as const;

export type TextRunViewOptions = {
  /** Whether the person is asked about calls, so that the view need not announce them. */
  readonly canAsk: boolean;
  /** Whether the session can be continued after this process. */
  readonly isStored: boolean;
  /** Whether the answer must match a schema. Then a reader other than a person gets nothing else. */
  readonly wantsData: boolean;
};

export function createTextRunView(terminal: Terminal, { canAsk, isStored, wantsData }: TextRunViewOptions): RunView {
  const { style, columns } = { style: terminal.style, columns: terminal.columns() };
  // If standard output is not a terminal, its reader gets only the answer.
  const text = terminal.isOutLive ? "live" : wantsData ? "data" : "answer";
  const renderer = createRenderer({ style, columns, canAsk, text });
  const progress = createProgress({ showsText: text === "live" });
  let hasShownEnd = false;
  let lastOutputAt = Date.now();
  let hasShownWait = false;
  let heldNotes: readonly Piece[] = [];
  let timer: NodeJS.Timeout | null = null;

  function write(pieces: readonly Piece[]): void {
    for (const { to, text } of pieces) terminal[to](text);
    if (pieces.length > 0) [lastOutputAt, hasShownWait] = [Date.now(), false];
  }

  function writeHeldNotes(): void {
    const notes = heldNotes;
    heldNotes = [];
    write(notes);
  }

  function refresh(): void {
    if (!renderer.isAtLineStart()) return;
    const line = progress.line(Date.now());
    if (terminal.isLive) terminal.status(line === null ? null : style("dim", line));
    else if (
      line !== null &&
      Date.now() - lastOutputAt >= (hasShownWait ? progressDelayMs.next : progressDelayMs.first)
    ) {
      write([{ to: "err", text: `${line}\n` }]);
      hasShownWait = true;
    }
  }

  return {
    show(item) {
      timer ??= setInterval(refresh, refreshMs);
      hasShownEnd = item.type === "final";
      progress.update(item, Date.now());
      write(renderer.show(item));
      if (renderer.isAtLineStart()) writeHeldNotes();
      // The question about a call comes in the same turn of the event loop as the call.
      if (item.type === "tool_call") setImmediate(() => write(renderer.flush()));
    },
    end(result) {
      if (!hasShownEnd) write(renderer.end(result, Date.now()));
      const hint = isStored ? formatHint(result) : null;
      if (hint !== null) terminal.hint(`${style("dim", hint)}\n`);
    },
    note(line) {
      heldNotes = [...heldNotes, { to: "err", text: `${line}\n` }];
      if (renderer.isAtLineStart()) writeHeldNotes();
    },
    pause() {
      write(renderer.flush());
      writeHeldNotes();
      if (timer !== null) clearInterval(timer);
      timer = null;
      terminal.status(null);
    },
  };
}

/** What the person can do next; null if nothing is left to do. */
function formatHint(result: RunResult): string | null {
  const id = sanitize(shortId(result.sessionId));
  switch (exitCodeOf(result)) {
    case exitCodes.waiting:
      return `To answer: pawl resume ${id} on a terminal, or pawl approvals ${id}`;
    case exitCodes.interrupted:
      return `To continue: pawl resume ${id}`;
    case exitCodes.failed:
      return result.status === "failed" && result.reason === "model_error"
        ? `To continue: pawl run --session ${id} "Go on"`
        : null;
    case exitCodes.limit:
    case exitCodes.aborted:
      return `To continue: pawl run --session ${id} "Go on"`;
    default:
      return null;
  }
}
