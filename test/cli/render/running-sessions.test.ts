/**
 * The table of `pawl agents` and `/agents`.
 */
import { expect, test } from "vitest";
import type { RunningSession } from "../../../src/cli/agent/running-sessions.js";
import { renderRunningSessions } from "../../../src/cli/render/running-sessions.js";
import { widthOf } from "../../../src/cli/terminal/text.js";
import { verifies } from "../../verifies.js";

const now = 10_000_000;
const session: RunningSession = {
  ...{
    sessionId: "3f8c2a1b-1",
    agent: "pawl",
    title: "Write the missing tests\u001b[2J of the parser",
    root: "/work/site",
  },
  ...{ depth: 0, progress: "running", doing: "agent_writer", startedAt: now - 180_000 },
  ...{ tokens: 1_234, costUsd: 0.0123, pid: 7 },
};
const sessions: readonly RunningSession[] = [
  session,
  { ...session, sessionId: "9e", depth: 1, progress: "waits_for_person", doing: "shell", title: "", costUsd: null },
  { ...session, sessionId: "5d", progress: "interrupted", startedAt: null, tokens: 0, costUsd: null, root: null },
];
const render = (columns: number) => renderRunningSessions(sessions, { columns, now, hasFolders: true });

test(
  "says of each session what it does, since when, at what cost and where, with children below",
  verifies("AGENT-5"),
  () => {
    expect(render(120)).toEqual([
      "3f8c2a1b  agent_writer          3 min  $0.0123       site  Write the missing tests\\x1b[2J of the parser",
      "  9e      waits for you: shell  3 min  1,234 tokens  site",
      "5d        interrupted                                      Write the missing tests\\x1b[2J of the parser",
    ]);
    expect(render(40)).toEqual([
      "3f8c2a1b  3 min  $0.0123       site",
      "  agent_writer · Write the missing test…",
      "  9e      3 min  1,234 tokens  site",
      "    waits for you: shell",
      "5d",
      "  interrupted · Write the missing tests…",
    ]);
  },
);

test.each([40, 69, 70, 80])("fits in %i columns", verifies("AGENT-5"), (columns) => {
  for (const line of render(columns)) expect(widthOf(line)).toBeLessThanOrEqual(columns);
});
