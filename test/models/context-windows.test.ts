import { expect, test } from "vitest";
import { contextWindows, windowLists } from "../../src/models/facts/context-windows.js";
import { listPrices } from "../../src/models/index.js";

test("context windows have the day and the page that they are from", () => {
  for (const { asOf, source, windows } of windowLists) {
    expect(asOf).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    expect(source).toMatch(/^https:\/\//);
    for (const tokens of Object.values(windows)) expect(tokens).toBeGreaterThanOrEqual(100_000);
  }
});

test("a model whose price is known has a known context window", () => {
  const priced = Object.keys(listPrices).filter((id) => id !== "demo");
  expect(priced.filter((id) => !Object.hasOwn(contextWindows, id))).toEqual([]);
});
