/**
 * A clock that gives no time is refused, and never makes a run spin.
 */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { type Clock, createAgent, createClient, createMemoryStore } from "../../src/index.js";
import { createScriptedModel } from "../../src/testing/scripted-model.js";
import { createTestClock } from "../../src/testing/test-clock.js";
import { verifies } from "../verifies.js";

const readings: readonly { readonly name: string; readonly reading: unknown }[] = [
  { name: "NaN", reading: Number.NaN },
  { name: "Infinity", reading: Number.POSITIVE_INFINITY },
  { name: "text", reading: "1767225600000" },
  { name: "a date", reading: new Date() },
  { name: "nothing", reading: undefined },
];

const model = () => createScriptedModel(() => ({ text: "Done." }));
const refused = expect.objectContaining({ name: "PawlError", code: "bad_configuration" });

function errorOf(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}

describe.each(readings)("a clock that gives $name", verifies("LOOP-7"), ({ reading }) => {
  test.each(["now", "elapsed"] as const)("as %s is refused at once", (name) => {
    const clock = { ...createTestClock(), [name]: () => reading } as Clock;
    expect(errorOf(() => createAgent({ model: model(), clock }))).toEqual(refused);
    expect(errorOf(() => createClient({ store: createMemoryStore(), clock }))).toEqual(refused);
  });

  test("as Date.now is refused at once", () => {
    vi.spyOn(Date, "now").mockReturnValue(reading as number);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(errorOf(() => createAgent({ model: model() }))).toEqual(refused);
  });

  test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])("from its reading %i on, does not keep a run", async (from) => {
    vi.spyOn(process, "emitWarning").mockReturnValue();
    onTestFinished(() => void vi.restoreAllMocks());
    const sound = createTestClock();
    let readings = 0;
    const clock: Clock = {
      ...sound,
      now() {
        readings += 1;
        return readings <= from ? sound.now() : (reading as number);
      },
    };
    const agent = createAgent({ model: model(), clock });
    expect(await agent.run("Go")).toMatchObject({ status: "completed" });
    expect(readings).toBeGreaterThan(from);
    expect(readings).toBeLessThan(50);
    expect(vi.mocked(process.emitWarning)).toHaveBeenCalledTimes(1);
    expect(vi.mocked(process.emitWarning)).toHaveBeenCalledWith(expect.stringContaining("The clock's now() returned"), {
      type: "PawlWarning",
      code: "PAWL_CLOCK",
    });
    await agent.shutdown();
  });
});

test("a clock without a function is refused", () => {
  expect(errorOf(() => createAgent({ model: model(), clock: {} as Clock }))).toEqual(refused);
});
