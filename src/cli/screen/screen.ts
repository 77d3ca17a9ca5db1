/**
 * The screen of a conversation: lines that are written once, and a small region below them that is redrawn.
 *
 * 1. A line of the history is written once, in order, and never touched again. The terminal scrolls and wraps it.
 * 2. The region is at the end of the output. A frame changes only rows of the region and below it.
 * 3. A frame is one write. There are at most 30 a second, and none while the terminal lags: the newest state wins. The frame after
 *    a key does not wait for this limit (decision 0105).
 * 4. Rows of the region are narrower than the terminal and are written with autowrap off, so that a character whose width the
 *    terminal measures differently cannot add a row.
 */
import type { StyleText } from "../terminal/text-style.js";
import { type Line, measureLine, paint, truncateLine } from "./line.js";

export type Region = {
  readonly rows: readonly Line[];
  /** The position of the cursor: its row, and the text before it in that row. Null: the cursor is hidden. */
  readonly cursor: { readonly row: number; readonly before: Line } | null;
  /** Called when the terminal has taken the frame: at once, or later if the terminal lags. */
  readonly onWritten?: () => void;
};

/** The part of a terminal's stream that the screen uses. */
export type ScreenOutput = {
  readonly columns: number;
  readonly rows: number;
  /** @returns false if the caller must wait for `onDrain` */
  readonly write: (text: string) => boolean;
  readonly onDrain: (listener: () => void) => void;
};

export type Screen = {
  /** Adds lines to the history. */
  readonly commit: (lines: readonly Line[]) => void;
  /** Sets the region from the next frame on. A function is called when the frame is drawn, and may add lines. */
  readonly show: (region: Region | (() => Region)) => void;
  /** Called after a key was handled: the next frame is drawn before anything else happens. */
  readonly answerKey: () => void;
  /** Draws all changes since the last frame at once. */
  readonly drawNow: () => void;
  /** Called when the size of the terminal has changed. */
  readonly resize: () => void;
  /** Writes all lines and removes the region. Nothing is drawn until `open`. */
  readonly close: () => void;
  readonly open: () => void;
  /** Changes the style of what is drawn from now on. The history is not changed. */
  readonly restyle: (style: StyleText) => void;
  /** Redraws the region, after something else has written to the terminal. */
  readonly redraw: () => void;
};

/** The minimum time between two frames; milliseconds. */
export const frameIntervalMs = 34;
/** How long the size must be stable before the region is redrawn; milliseconds. */
export const resizeDelayMs = 60;

/** Keys that arrive faster than this share a frame, such as a held key or scripted input; milliseconds. */
const keyFrameIntervalMs = 16;

const beginFrame = "\x1b[?2026h\x1b[?25l";
const endFrame = "\x1b[?2026l";

type DrawnRow = { readonly text: string; readonly width: number };

type ScreenState = {
  readonly output: ScreenOutput;
  style: StyleText;
  pending: Line[];
  region: () => Region;
  /** The rows of the region that are on the terminal. `cursor` is the cursor's position in them. */
  drawn: readonly DrawnRow[];
  cursor: { readonly row: number; readonly width: number };
  isBlocked: boolean;
  isOpen: boolean;
  isDirty: boolean;
  lastFrame: number;
  lastKey: number;
  timer: NodeJS.Timeout | null;
};

const createEmptyRegion = (): Region => ({ rows: [], cursor: null });

export function createScreen(output: ScreenOutput, style: StyleText): Screen {
  const state: ScreenState = {
    output,
    style,
    pending: [],
    region: createEmptyRegion,
    drawn: [],
    cursor: { row: 0, width: 0 },
    isBlocked: false,
    isOpen: true,
    isDirty: false,
    lastFrame: Number.NEGATIVE_INFINITY,
    lastKey: Number.NEGATIVE_INFINITY,
    timer: null,
  };
  return {
    commit(lines) {
      if (lines.length === 0) return;
      for (const line of lines) state.pending.push(line);
      schedule(state);
    },
    show(region) {
      state.region = typeof region === "function" ? region : () => region;
      schedule(state);
    },
    answerKey: () => answerKey(state),
    drawNow() {
      cancelTimer(state);
      if (!state.isBlocked) drawNow(state, state.region);
    },
    resize: () => eraseForResize(state),
    restyle(next) {
      state.style = next;
      schedule(state);
    },
    redraw() {
      eraseForResize(state);
      schedule(state);
    },
    close() {
      drawNow(state, createEmptyRegion);
      cancelTimer(state);
      state.isOpen = false;
    },
    open() {
      state.isOpen = true;
      schedule(state);
    },
  };
}

function cancelTimer(state: ScreenState): void {
  if (state.timer !== null) clearTimeout(state.timer);
  state.timer = null;
}

function schedule(state: ScreenState, wait = Math.max(0, state.lastFrame + frameIntervalMs - performance.now())): void {
  state.isDirty = true;
  if (state.timer !== null || state.isBlocked || !state.isOpen) return;
  state.timer = setTimeout(() => {
    state.timer = null;
    if (state.isDirty && !state.isBlocked) drawNow(state, state.region);
  }, wait);
}

/** Keys of the same chunk share a frame. A microtask is used, because a timer would let all other work of this turn run first. */
function answerKey(state: ScreenState): void {
  const now = performance.now();
  if (now - state.lastKey < keyFrameIntervalMs) return;
  state.lastKey = now;
  queueMicrotask(() => {
    if (!state.isDirty || state.isBlocked || !state.isOpen) return;
    cancelTimer(state);
    drawNow(state, state.region);
  });
}

function drawNow(state: ScreenState, region: () => Region): void {
  if (!state.isOpen) return;
  const nextRegion = region();
  cancelTimer(state);
  state.isDirty = false;
  state.lastFrame = performance.now();
  const text = renderFrame(state, nextRegion);
  if (text === "" || state.output.write(text)) {
    nextRegion.onWritten?.();
    return;
  }
  state.isBlocked = true;
  state.output.onDrain(() => {
    state.isBlocked = false;
    nextRegion.onWritten?.();
    if (state.isDirty) schedule(state);
  });
}

/** The output that updates the terminal to the pending lines and this region. */
function renderFrame(state: ScreenState, region: Region): string {
  const { output, style, pending, drawn } = state;
  const maxColumns = Math.max(1, output.columns - 1);
  const rows = region.rows.map((line) => drawLine(truncateLine(line, maxColumns), style));
  const isSame = rows.length === drawn.length && rows.every(({ text }, at) => text === drawn[at]?.text);
  const before = region.cursor === null ? [] : truncateLine(region.cursor.before, maxColumns);
  const cursor = { row: region.cursor?.row ?? Math.max(0, rows.length - 1), width: measureLine(before) };
  const isMoved = cursor.row !== state.cursor.row || cursor.width !== state.cursor.width;
  if (pending.length === 0 && isSame && !isMoved) return "";
  let text = `${beginFrame}${moveToTop(state.cursor.row)}`;
  if (pending.length > 0) {
    text += `${eraseRows(drawn.length)}${pending.map((line) => `${paint(line, style)}\r\n`).join("")}`;
    state.pending = [];
    text += renderRows(rows, []);
  } else text += renderRows(rows, drawn);
  text += renderCursor(rows.length, cursor.row, paint(before, style), region.cursor !== null);
  state.drawn = rows;
  state.cursor = cursor;
  return `${text}${endFrame}`;
}

function drawLine(line: Line, style: StyleText): DrawnRow {
  return { text: paint(line, style), width: measureLine(line) };
}

function moveToTop(row: number): string {
  return row > 0 ? `\r\x1b[${row}A` : "\r";
}

/**
 * Erases this many rows, starting at the cursor's row. Erasing the whole screen at once would make some terminals move its
 * content to their history. The cursor is saved, because the last rows may be missing if the terminal's height has shrunk.
 */
function eraseRows(count: number): string {
  if (count === 0) return "";
  return `\x1b7${Array.from({ length: count }, () => "\x1b[2K").join("\x1b[B")}\x1b8`;
}

/** Writes the rows that differ from those on the terminal, from the top of the region. The cursor ends in the last row. */
function renderRows(rows: readonly DrawnRow[], drawn: readonly DrawnRow[]): string {
  if (rows.length === 0) return eraseRows(drawn.length);
  const changed = rows.map(({ text }, at) => {
    const isLast = at === rows.length - 1;
    const hasFewerRows = isLast && drawn.length > rows.length;
    if (text === drawn[at]?.text) return hasFewerRows ? `${text}\x1b[J` : "";
    return `${text}${hasFewerRows ? "\x1b[J" : "\x1b[K"}`;
  });
  return `\x1b[?7l${changed.join("\r\n")}\x1b[?7h`;
}

/** Moves from the last row to the cursor. The text before it is written again, so that the terminal determines the column. */
function renderCursor(count: number, row: number, before: string, isShown: boolean): string {
  const rowsUp = count - 1 - row;
  const movement = `${rowsUp > 0 ? `\x1b[${rowsUp}A` : ""}\r\x1b[?7l${before}\x1b[?7h`;
  return isShown ? `${movement}\x1b[?25h` : movement;
}

/**
 * Removes the region at once. A terminal that has become narrower has wrapped its rows, so the region may take more rows than
 * were drawn.
 */
function eraseForResize(state: ScreenState): void {
  if (!state.isOpen || state.isBlocked) return;
  const { output, drawn, cursor } = state;
  const columns = Math.max(1, output.columns);
  const heights = drawn.map(({ width }) => Math.max(1, Math.ceil(width / columns)));
  const sumHeights = (count: number) => heights.slice(0, count).reduce((sum, height) => sum + height, 0);
  const rowsUp = sumHeights(cursor.row) + Math.floor(cursor.width / columns);
  const all = Math.min(sumHeights(drawn.length), output.rows);
  if (drawn.length > 0) output.write(`${beginFrame}${moveToTop(rowsUp)}${eraseRows(all)}\x1b[J\x1b[?25h${endFrame}`);
  state.drawn = [];
  state.cursor = { row: 0, width: 0 };
  cancelTimer(state);
  schedule(state, resizeDelayMs);
}
