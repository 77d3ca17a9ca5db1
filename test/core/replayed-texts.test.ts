/**
 * Texts that the log stores and that a replay computes again. A new wording would be a difference in each earlier log that has the text.
 */
import { describe, expect, test } from "vitest";
import { parseJson } from "../../src/core/data/json.js";
import { droppedCompactionEvents } from "../../src/core/machine/requested-compaction.js";

type Dropped = Parameters<typeof droppedCompactionEvents>[0];

function messageOf(dropped: "aborted" | "crash_loop"): string | undefined {
  const [event] = droppedCompactionEvents({ compactionAsked: { seq: 7, dropped } } as unknown as Dropped);
  return event?.type === "compacted" ? event.fault?.message : undefined;
}

describe("the words of 0.1 stay", () => {
  test("in the fault of a compaction that was dropped", () => {
    expect(messageOf("aborted")).toBe("The compaction was aborted.");
    expect(messageOf("crash_loop")).toBe("The program ended each time that the conversation was summed up.");
  });

  test("in the error of arguments with an escape that is not JSON's, as in a regular expression", () => {
    const parsed = parseJson(String.raw`{"pattern": "\d+"}`);
    expect(parsed.ok ? "none" : parsed.error).toContain("an escape that JSON does not have at position 13");
  });
});
