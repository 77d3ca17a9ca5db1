/**
 * A stream with children after crashes before and after every commit of the session at its top.
 */
import { expect, test } from "vitest";
import { createMemoryStore, defineTool } from "../../src/index.js";
import { crashTest } from "../../src/testing/index.js";
import { isInShare } from "../support/share.js";
import { verifies } from "../verifies.js";
import {
  collect,
  createEventReader,
  expectCursorsAddUp,
  expectMatchesLogs,
  groupCursors,
  isLogged,
} from "./stream-checks.js";
import { createFamily, type Member } from "./tree.js";

const look = defineTool({
  name: "look",
  description: "Looks.",
  input: { type: "object" },
  recover: "rerun",
  execute: () => "seen",
});
const boss: Member = {
  name: "boss",
  tools: [look],
  members: [{ name: "worker", members: [{ name: "leaf", tools: [look] }] }, { name: "helper" }],
};

test.for(["commits", "waits"] as const)(
  "has every session whole and in order, and goes on at every cursor, with crashes at %s",
  { ...verifies("STRM-11"), timeout: 180_000 },
  async (points) => {
    const store = createMemoryStore();
    const report = await crashTest({
      agent: () => createFamily(boss, {}),
      input: "Go.",
      store,
      points,
      quietMs: 2,
      async check({ result, sessionId }) {
        expect(result).toMatchObject({ status: "completed", text: "boss is done." });
        const agent = createFamily(boss, { store });
        const read = (after?: string) =>
          collect(
            agent
              .session(sessionId)
              .events({ children: true, follow: false, ...(after === undefined ? {} : { after }) }),
          );
        const items = await read();
        await expectMatchesLogs(items, createEventReader(agent, store));
        const told = items.filter(isLogged);
        const all = groupCursors(told);
        expect(Object.keys(all)).toHaveLength(4);
        for (const [at, { cursor }] of told.entries())
          if (isInShare(at))
            expectCursorsAddUp(groupCursors(told.slice(0, at + 1)), groupCursors(await read(cursor)), all, cursor);
      },
    });
    expect(report.plays).toBeGreaterThan(10);
  },
);
