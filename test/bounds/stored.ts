/**
 * Cases for what reads exports and rows of databases: both may have been written by a stranger.
 *
 * Each text stands at every place where a writer may put one. The checksums are right, so that the readers get as far as they do with a
 * row that was written with care.
 */

import { createMemoryStore } from "../../src/index.js";
import * as checksum from "../../src/stores/shared/checksum.js";
import * as rows from "../../src/stores/shared/rows.js";
import * as validate from "../../src/stores/shared/validate.js";
import * as verifyRows from "../../src/stores/shared/verify-rows.js";
import * as importing from "../../src/stores/transfer/import.js";
import * as lines from "../../src/stores/transfer/lines.js";
import * as readLines from "../../src/stores/transfer/read-lines.js";
import type { Cases } from "./cases.js";

const place = { file: "file", sessionId: "s", seq: 1 };
const parts = (text: string) => [{ type: "text", text }];
const letters = (text: string) => text.slice(0, 20_000).split("");

/** An event, a state, a message and a holder that hold the text. */
const eventsWith = (text: string): readonly object[] => [
  { type: "steered", at: 1, input: parts(text), source: text },
  { type: "data_changed", at: 1, patch: { [text]: letters(text) } },
  { type: "prepared", at: 1, runId: text, modelCallIndex: 1, contextSeq: 1, purpose: text, messages: letters(text) },
  { type: text, at: 1 },
];
const stateWith = (text: string): object => ({
  v: 2,
  seq: 1,
  status: "idle",
  session: { agent: text, model: text },
  queue: letters(text),
  interrupted: [],
  context: { [text]: text },
});
const messageWith = (text: string): object => ({ id: text, at: 1, body: { type: "abort", note: text } });

const sumOf = (text: string) => checksum.checksumOf(text, checksum.positionOf(place.sessionId, place.seq));
const commitRow = (events: string, state: string) => ({
  seq: 1,
  v: 2,
  status: "idle",
  at: 1,
  events,
  eventsSum: sumOf(events),
  state,
  stateSum: sumOf(state),
});

/**
 * Reads one value after the other, each in a turn of its own, and made in the turn before: what the test does to make a
 * value is not counted as the reader's work.
 */
async function each<Value>(values: Iterable<Value>, read: (value: Value) => unknown): Promise<void> {
  for (const value of values) {
    await nextTurn();
    try {
      await read(value);
    } catch {
      // A refusal is a good answer. The other values follow.
    }
    await nextTurn();
  }
}
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** The text itself, and as JSON at its places. */
function* logsOf(text: string): Generator<string> {
  yield text;
  for (const event of eventsWith(text)) yield JSON.stringify([event]);
}
function* statesOf(text: string): Generator<string> {
  yield text;
  yield JSON.stringify(stateWith(text));
}

/** Lines come from a file: each in a turn of its own. */
async function* listed(list: readonly string[]): AsyncGenerator<string> {
  for (const line of list) {
    await nextTurn();
    yield line;
  }
}

const head = JSON.stringify({ type: "pawl_sessions", version: 1, format: 2 });
const session = (sessionId: string, entries: number) =>
  JSON.stringify({ type: "session", sessionId, createdAt: 1, updatedAt: 1, entries });

/** Exports that hold the text: as a line, and at each place of each kind of line. */
function* exportsWith(text: string): Generator<readonly string[]> {
  yield [text];
  yield [head, text];
  yield [head, session(text, 1)];
  for (const event of eventsWith(text)) yield [head, session("s", 1), JSON.stringify({ seq: 1, event })];
  yield [head, session("s", 1), JSON.stringify({ type: "state", state: stateWith(text) })];
  yield [head, session("s", 0), JSON.stringify({ type: "message", message: messageWith(text) })];
  yield [head, session("s", 0), JSON.stringify({ type: "taken", ids: letters(text).slice(0, 500) })];
  yield [head, session("s", 0), JSON.stringify({ type: "blob", hash: text, bytes: text.length, base64: text })];
  yield [head, session("s", 0), JSON.stringify({ type: "end", sessions: 1, sum: text })];
  yield [head, JSON.stringify({ type: text })];
}

async function readAll(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

export const storedModules = {
  exportLines: [
    lines,
    {
      textOf: (text) => lines.textOf({ type: "blob", hash: text, bytes: 1, base64: text }),
      nextSum: (text) => lines.nextSum(text, text),
      linesOf: (text) => readAll(lines.linesOf(listed([text, text]))),
    } satisfies Cases<typeof lines>,
  ],
  exports: [
    readLines,
    {
      itemsOf: (text) => each(exportsWith(text), (list) => readAll(readLines.itemsOf(listed(list)))),
    } satisfies Cases<typeof readLines>,
  ],
  imports: [
    importing,
    {
      importSessions: (text) =>
        each(exportsWith(text), (list) =>
          importing.importSessions(createMemoryStore(), { read: () => listed(list.map((line) => `${line}\n`)) }),
        ),
    } satisfies Cases<typeof importing>,
  ],
  storedTexts: [
    validate,
    {
      isStatus: validate.isStatus,
      checkFormat: "of a number",
      checkSum: (text) => validate.checkSum(text, checksum.checksumOf(text), place),
      checkCommitSum: (text) => validate.checkCommitSum(text, sumOf(text), place),
      decodeEntries: (text) => each(logsOf(text), (log) => validate.decodeEntries(log, place)),
      decodeState: (text) => each(statesOf(text), (state) => validate.decodeState(state, place)),
      decodeInfo: (text) =>
        each([text, JSON.stringify({ agent: text, model: text })], (info) => validate.decodeInfo(info, place)),
      decodeMessage: (text) =>
        each([text, JSON.stringify(messageWith(text))], (message) => validate.decodeMessage(message, place)),
      decodeHolder: (text) =>
        each([text, JSON.stringify({ id: text, host: text, pid: 1, startedAt: 1 })], (holder) =>
          validate.decodeHolder(holder, place),
        ),
      corrupt: "of messages that Pawl makes",
    } satisfies Cases<typeof validate>,
  ],
  rows: [
    rows,
    {
      stateFrom: (text) => each(statesOf(text), (state) => rows.stateFrom(commitRow("", state), "file", "s")),
      addEntries: (text) =>
        each(logsOf(text), (events) => rows.addEntries([], commitRow(events, ""), { after: 0, last: 0 }, place)),
      summaryFrom: async (text) => {
        const info = JSON.stringify({ agent: text, model: text });
        const row = {
          name: "s",
          createdAt: 1,
          updatedAt: 1,
          activity: "resting",
          status: "idle",
          seq: 1,
          v: 2,
          inbox: 0,
        };
        const whole = { ...row, holder: null, info, infoSum: checksum.checksumOf(info) };
        await each([text], (status) => rows.summaryFrom({ ...whole, status }, "file"));
        await each([text], (activity) => rows.summaryFrom({ ...whole, activity }, "file"));
        await each([text], (holder) => rows.summaryFrom({ ...whole, holder }, "file"));
        rows.summaryFrom(whole, "file");
      },
      activityOf: (text) => rows.activityOf(text, place),
      askingFrom: (text) =>
        each(statesOf(text), (state) =>
          rows.askingFrom({ ...commitRow("", state), name: "s", askedAt: 1, inbox: 0 }, "file"),
        ),
    } satisfies Cases<typeof rows>,
  ],
  verifiedRows: [
    verifyRows,
    {
      checkCommitRow: (text) =>
        each(logsOf(text), (events) =>
          verifyRows.checkCommitRow(commitRow(events, JSON.stringify(stateWith(""))), 0, place),
        ),
      missingBlob: "of a hash that was checked",
      checkOwnRow: "of rows that were decoded, field by field",
    } satisfies Cases<typeof verifyRows>,
  ],
} as const;
