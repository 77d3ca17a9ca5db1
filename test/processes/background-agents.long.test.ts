/**
 * An agent in the background, in a process that is killed on SQLite: it is started once, and its parent is told of the end once.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type KillPlay, killTest } from "pawl/testing";
import { expect, test } from "vitest";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";

const script = fileURLToPath(new URL("../fixtures/background-agent.mjs", import.meta.url));

/** The commits after which the process dies, and what the store has then. */
const moments = [
  [7, "the request is in the child's inbox, and the start is not committed"],
  [8, "the start is committed"],
  [12, "the child runs a tool"],
  [14, "the child has ended, and the parent is not told"],
  [15, "the message is in the parent's inbox"],
] as const;

test.each(moments)("killed after commit %i: %s", async (commit) => {
  const { kills } = await killTest({
    script,
    openStore: (folder) => openSqliteStore({ path: join(folder, "sessions.db") }),
    kills: { at: [`after ${commit}`] },
    check,
  });
  expect(kills).toBe(1);
});

async function check({ store, logs, at, stdout }: KillPlay): Promise<void> {
  const deaths = at.join(", ");
  expect(stdout, deaths).toBe("completed Known.\n");
  expect(logs.size, deaths).toBe(2);
  const events = (logs.get("p") ?? []).map(({ event }) => event);
  const started = events.filter((event) => event.type === "tool_finished" && event.startedChild !== undefined);
  expect(started.length, deaths).toBe(1);
  const ended = events.filter((event) => "finishedChild" in event);
  expect(ended.length, deaths).toBe(1);
  expect((await store.load("p"))?.state.background, deaths).toBeUndefined();
}
