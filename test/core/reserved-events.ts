/** An event of each type that the format reserves. */
import type { Event } from "../../src/core/index.js";

const _ofCall = { runId: "r1", callKey: "r1/1/1" } as const;
const at = 5_000;

export const reservedEvents: readonly Event[] = [
  {
    type: "rules_changed",
    added: [{ verdict: "allow", kind: "command", pattern: "git status", scope: "session" }],
    at,
  },
  { type: "process_started", processId: "p1", callKey: "r1/1/1", pid: 7, startedAt: at, at },
  { type: "process_finished", processId: "p1", outcome: "exited", exitCode: 0, at },
  {
    type: "files_restoring",
    restoreId: "u1",
    direction: "undo",
    files: [{ path: "a.ts", before: null, after: "00" }],
    at,
  },
  { type: "files_restored", restoreId: "u1", restored: ["a.ts"], conflicts: [], at },
];
