import { expect, test } from "vitest";
import { contextWindows, windowLists } from "../../src/models/facts/context-windows.js";
import { curatedPriceLists } from "../../src/models/facts/prices.js";

test("context windows have the day and the page that they are from", () => {
  for (const { asOf, source, windows } of windowLists) {
    expect(asOf).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    expect(source).toMatch(/^https:\/\//);
    for (const tokens of Object.values(windows)) expect(Number.isSafeInteger(tokens) && tokens > 0).toBe(true);
  }
});

test("a model whose price is in a list of our own has a known context window", () => {
  const priced = curatedPriceLists.flatMap(({ prices }) => Object.keys(prices)).filter((id) => id !== "demo");
  expect(priced.filter((id) => !Object.hasOwn(contextWindows, id))).toEqual([]);
});
