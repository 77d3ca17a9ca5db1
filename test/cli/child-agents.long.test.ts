/**
 * Agents in files on the command line: without trust there are none, and a kill starts none over.
 */
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { type RecordedRequest, startProviderServer } from "../models/provider-server.js";
import { verifies } from "../verifies.js";
import {
  createShellCall,
  expectValidLog,
  filterEvents,
  killAtCommit,
  mapConcurrently,
  readLines,
  readLog,
} from "./killed.js";
import { createWorld, type World } from "./pawl.js";

const names = ["ann", "bob"] as const;
const toFile = (name: string) => `---\ndescription: Scouts.\ntools: Bash, Read\n---\nYou are the scout ${name}.\n`;
const files = {
  ...Object.fromEntries(names.map((name) => [`.pawl/agents/${name}.md`, toFile(name)])),
  // The model has no price.
  ".pawl/agents/cay.md": "---\ndescription: Counts.\nbudget: 1\n---\nYou are cay.\n",
};

const options = ["--yes", "--allow-shell"];
const run = ["run", "Scout.", "--session", "s", "--model", "openai-compatible/test", ...options];

async function createTrustedWorld(): Promise<World> {
  const world = createWorld(files);
  const { hash } = JSON.parse((await world.pawl(["trust", "--show", "--json"])).stdout) as { readonly hash: string };
  expect(await world.pawl(["trust", "--hash", hash])).toMatchObject({ code: 0 });
  return world;
}

function countResults({ body }: RecordedRequest): number {
  return (body.messages as readonly { readonly role: string }[]).filter(({ role }) => role === "tool").length;
}

/** A model whose answer depends on the conversation alone: the session calls both agents, and each runs one command. */
async function startScouts() {
  const server = await startProviderServer("openai-chat", (request) => {
    const hasAnswers = countResults(request) > 0;
    const scout = names.find((name) => JSON.stringify(request.body.messages).includes(`You are the scout ${name}.`));
    if (scout !== undefined)
      return hasAnswers
        ? { type: "answer", text: `${scout} is done.` }
        : { type: "answer", calls: [createShellCall(`echo ${scout} >> effects`)] };
    if (hasAnswers) return { type: "answer", text: "All done." };
    return { type: "answer", calls: names.map((name) => ({ name: `agent_${name}`, input: { task: "Look." } })) };
  });
  onTestFinished(() => server.close());
  return server;
}

describe("agents in files on the command line", () => {
  test("do not exist without trust, which is said", verifies("AGENT-4#files", "SEC-17#settings"), async () => {
    const server = await startProviderServer("openai-chat", [{ type: "answer", text: "Alone." }]);
    onTestFinished(() => server.close());
    const ended = await createWorld(files).pawl(run, { env: { OPENAI_BASE_URL: server.baseURL } });
    expect(ended).toMatchObject({ code: 0, stdout: "Alone.\n" });
    expect(ended.stderr).toMatch(/Agents of .*\.pawl\/agents are not trusted.*: ann, bob, cay\./);
    expect(JSON.stringify(server.requests[0]?.body.tools)).not.toContain("agent_");
  });

  test("continue after a kill: no agent starts over, and no command runs twice", {
    ...verifies("AGENT-4#kill"),
    timeout: 300_000,
  }, async () => {
    const server = await startScouts();
    const env = { OPENAI_BASE_URL: server.baseURL, PAWL_MODEL: "openai-compatible/test" };
    const killed = (world: World, at: string) =>
      world.pawl(run, { env: { ...env, PAWL_KILL_AT: at }, node: ["--import", killAtCommit] });
    const counted = await killed(await createTrustedWorld(), "count");
    expect(counted).toMatchObject({ code: 0, stdout: "All done.\n" });
    expect(counted.stderr).toMatch(/The agent cay cannot be used\. .*cay\.md sets a budget/);
    const commits = Number(/commits: (\d+)\n/.exec(counted.stderr)?.[1]);
    expect(commits).toBeGreaterThan(12);
    // A part of all points: the recovery of children is swept in the tests of families.
    const points = Array.from({ length: Math.floor(commits / 3) }, (_, at) => 3 * at + 2);
    const outcomes = await mapConcurrently(points, 3, async (commit) => {
      const point = `${commit % 2 === 0 ? "after" : "before"} ${commit}`;
      const world = await createTrustedWorld();
      await killed(world, point);
      const before = await readLog(world);
      if (filterEvents(before, "run_started").length === 0) return "nothing had begun";
      const hasEnded = filterEvents(before, "run_finished").length > 0;
      const next = commit % 2 === 0 ? ["resume", "s", ...options] : ["worker", "--once", ...options];
      const continued = await world.pawl(next, { env });
      if (!hasEnded) expect(continued, point).toMatchObject({ code: 0 });
      if (!hasEnded && next[0] === "worker") expect(continued.stderr).toContain("The agent cay cannot be used");
      const log = await readLog(world);
      expectValidLog(log);
      expect(filterEvents(log, "run_finished"), `${point}: ${continued.stderr}`).toHaveLength(1);
      const effects = readLines(world, "effects");
      // A command that was interrupted may have done its work, and is not run again.
      for (const name of names) expect(effects.filter((line) => line === name).length, point).toBeLessThanOrEqual(1);
      const store = await openSqliteStore({ path: join(world.home, "sessions.db") });
      const sessions = await store.list();
      await store.close();
      expect(sessions.map(({ info }) => info?.agent).sort(), point).toEqual(["pawl", "pawl/ann", "pawl/bob"]);
      expect(new Set(sessions.map(({ activity }) => activity)), point).toEqual(new Set(["resting"]));
      return hasEnded ? "had ended" : `continued by ${next[0]}`;
    });
    expect(new Set(outcomes)).toContain("continued by resume");
    expect(new Set(outcomes)).toContain("continued by worker");
  });
});
