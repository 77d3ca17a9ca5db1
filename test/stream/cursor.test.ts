/**
 * Cursors: one order for text and values, the same in Node and in the browser.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { createStreamView } from "../../src/server/client/index.js";
import {
  afterEntry,
  type Cursor,
  compareCursors,
  cursorAfter,
  cursorBefore,
  formatCursor,
  isAfter,
  parseCursor,
} from "../../src/stream/cursor.js";

const event = fc.record({ seq: fc.integer({ min: 1, max: 20 }), index: fc.integer({ min: 1, max: 5 }) });
const cursor: fc.Arbitrary<Cursor> = fc.oneof(event, fc.nat(20).map(afterEntry));

test("a cursor that is written and read again is the same", () => {
  fc.assert(
    fc.property(cursor, (one) => {
      expect(parseCursor(formatCursor(one))).toEqual(one);
    }),
  );
  expect(parseCursor(57)).toEqual(afterEntry(57));
  expect(parseCursor("57")).toEqual(afterEntry(57));
  for (const given of [
    "",
    "-1",
    "5x",
    "1.2.3",
    "1.",
    ".1",
    " 1",
    "1e3",
    "57.1234567890",
    -1,
    1.5,
    Number.NaN,
    null,
    {},
  ])
    expect(parseCursor(given)).toBe(null);
});

test("cursors are in the order of the log, and whole entries come after all of their events", () => {
  fc.assert(
    fc.property(fc.array(cursor, { maxLength: 12 }), (cursors) => {
      const sorted = [...cursors].sort(compareCursors);
      for (const [at, one] of sorted.entries())
        for (const later of sorted.slice(at + 1)) {
          expect(isAfter(one, later)).toBe(false);
          expect(isAfter(later, one)).toBe(compareCursors(one, later) !== 0);
        }
    }),
  );
  expect(isAfter({ seq: 57, index: 9 }, afterEntry(57))).toBe(false);
});

test("the cursor before an event lets that event through, and the cursor after it does not", () => {
  fc.assert(
    fc.property(event, (one) => {
      expect(isAfter(one, cursorBefore(one))).toBe(true);
      expect(isAfter(one, cursorAfter(one))).toBe(false);
    }),
  );
});

test("a client that goes on after a whole entry ignores the events of that entry", () => {
  const view = createStreamView("57");
  const data = { type: "restarted", runId: "r", sessionId: "s", seq: 57, index: 1, at: 1 } as const;
  expect(view.apply({ id: "57.1", data })).toBe("ignored");
  expect(view.lastId()).toBe("57");
  expect(view.apply({ id: "58.1", data: { ...data, seq: 58 } })).toBe("event");
});
