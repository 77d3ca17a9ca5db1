import { expect, expectTypeOf, test } from "vitest";
import { defined } from "../../src/core/data/defined.js";

test("drops undefined members, and no others", () => {
  const title: string | undefined = undefined as string | undefined;
  const members = defined({ title, count: 0, note: null, text: "", on: false });
  expect(members).toStrictEqual({ count: 0, note: null, text: "", on: false });
  expectTypeOf(members).toExtend<{ readonly title?: string; readonly count: number }>();
});
