/**
 * A terminal in memory: a screen writes to it, and the emulator of xterm says what a person would see.
 */
import headless from "@xterm/headless";
import type { ScreenOutput } from "../../src/cli/screen/screen.js";

type Operation =
  | { readonly type: "write"; readonly text: string }
  | { readonly type: "size"; readonly columns: number; readonly rows: number };

/** Takes down what a screen does, to be played to a terminal later: the screen has timers, and the emulator has some, too. */
export function createRecordedOutput(columns: number, rows: number) {
  const operations: Operation[] = [{ type: "size", columns, rows }];
  let size = { columns, rows };
  let isBusy = false;
  let drainListeners: (() => void)[] = [];
  const output: ScreenOutput = {
    get columns() {
      return size.columns;
    },
    get rows() {
      return size.rows;
    },
    write(text) {
      operations.push({ type: "write", text });
      return !isBusy;
    },
    onDrain: (listener) => drainListeners.push(listener),
  };
  return {
    output,
    operations,
    resize(nextColumns: number, nextRows: number) {
      size = { columns: nextColumns, rows: nextRows };
      operations.push({ type: "size", ...size });
    },
    /** From now on, the terminal is behind; or it has caught up. */
    setBusy(busy: boolean) {
      isBusy = busy;
      if (busy) return;
      const listeners = drainListeners;
      drainListeners = [];
      for (const listener of listeners) listener();
    },
    text: () => operations.map((operation) => (operation.type === "write" ? operation.text : "")).join(""),
  };
}

export type ScreenContent = {
  /** All lines, from the beginning of the history on. A line that the terminal wrapped is one. */
  readonly lines: readonly string[];
  readonly cursor: { readonly row: number; readonly column: number };
};

export async function playBack(operations: readonly Operation[]): Promise<ScreenContent> {
  const terminal = new headless.Terminal({ allowProposedApi: true, scrollback: 100_000 });
  for (const operation of operations) {
    if (operation.type === "size") terminal.resize(operation.columns, operation.rows);
    else await new Promise<void>((done) => terminal.write(operation.text, done));
  }
  const content = readTerminal(terminal);
  terminal.dispose();
  return content;
}

export function readTerminal(terminal: headless.Terminal): ScreenContent {
  const buffer = terminal.buffer.active;
  const lines: string[] = [];
  for (let at = 0; at < buffer.length; at++) {
    const row = buffer.getLine(at);
    const isContinued = buffer.getLine(at + 1)?.isWrapped === true;
    const text = row?.translateToString(!isContinued) ?? "";
    if (row?.isWrapped === true) lines[lines.length - 1] += text;
    else lines.push(text);
  }
  while (lines.at(-1) === "") lines.pop();
  return { lines, cursor: { row: buffer.baseY + buffer.cursorY, column: buffer.cursorX } };
}
