/**
 * Describes the waits of a run in one sentence, for protocols without a status for waiting.
 */
import type { RunWait } from "../index.js";

/** Example: `The run sleeps until 2026-12-01T14:02:00.000Z, and then continues by itself.` @param waits at least one */
export function describeWaits(waits: readonly RunWait[]): string {
  const [first] = [...waits].sort((a, b) => (a.until ?? Number.MAX_VALUE) - (b.until ?? Number.MAX_VALUE));
  if (first === undefined) return "The run waits.";
  const end = first.until === undefined ? "" : ` until ${new Date(first.until).toISOString()}`;
  switch (first.on) {
    case "time":
      return `The run sleeps${end}, and then continues by itself.`;
    case "signal":
      return `The run waits${end} for the signal ${first.key ?? ""}, and then continues by itself.`;
    case "child":
      return `A subagent of the run sleeps or waits for a signal${end}, and then continues by itself.`;
  }
}
