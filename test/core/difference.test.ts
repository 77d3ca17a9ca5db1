import { expect, test } from "vitest";
import { differenceText, excerpts, firstDifference } from "../../src/core/index.js";
import { verifies } from "../verifies.js";

const proven = verifies("REC-6#replay");

test.each([
  [
    { a: 1, b: [1, 2] },
    { b: [1, 2], a: 1 },
  ],
  [{ a: undefined }, {}],
  [null, null],
  ["\ud800", "\ud800"],
])("%j and %j are the same", proven, (recorded, present) => {
  expect(firstDifference(recorded, present)).toBeUndefined();
});

test.each([
  [1, 2, { path: "", recorded: 1, present: 2 }],
  [
    { a: 1, b: 2 },
    { a: 1, b: 3, c: 4 },
    { path: "b", recorded: 2, present: 3 },
  ],
  [{ a: 1 }, { a: 1, c: 4 }, { path: "c", present: 4 }],
  [{ a: [{ text: "x" }] }, { a: [{ text: "y" }] }, { path: "a[0].text", recorded: "x", present: "y" }],
  [[1, 2], [1], { path: "[1]", recorded: 2 }],
  [{ a: null }, { a: {} }, { path: "a", recorded: null, present: {} }],
  [{ a: [] }, { a: {} }, { path: "a", recorded: [], present: {} }],
  [{ "a b": 1 }, {}, { path: '["a b"]', recorded: 1 }],
])("of %j and %j the first difference has its place", proven, (recorded, present, difference) => {
  expect(firstDifference(recorded, present)).toEqual(difference);
});

test("long texts are shown where they begin to differ", proven, () => {
  const same = "x".repeat(5_000);
  const [recorded, present] = excerpts(`${same}recorded${same}`, `${same}present${same}`);
  expect(recorded.length).toBeLessThan(200);
  expect(recorded).toMatch(/^…x+recordedx+…$/);
  expect(present).toMatch(/^…x+presentx+…$/);
  expect(excerpts(undefined, "a")).toEqual(["nothing", '"a"']);
  expect(differenceText({ path: "a", recorded: 1 })).toBe("a: recorded 1, now nothing");
});
