/**
 * What the tests of killed sessions share: a model and its work, kills at commits, and what must hold of the log and of
 * the effects wherever the process was killed.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import type { Entry, Event } from "../../src/core/index.js";
import { openSqliteStore } from "../../src/stores/sqlite/index.js";
import { type ProviderServer, type ScriptedAnswer, startProviderServer } from "../models/provider-server.js";
import type { World } from "./pawl.js";

/** Kills the process that it is loaded into at a commit: PAWL_KILL_AT says which. */
export const killAtCommit = fileURLToPath(new URL("../../dist/testing/kill-at-commit.js", import.meta.url));

export const createShellCall = (command: string) => ({ name: "shell", input: { command } });

/** Work with effects, and the files that it needs. */
export const workSteps: readonly ScriptedAnswer[] = [
  {
    type: "answer",
    text: "First.",
    calls: [createShellCall("echo a >> effects"), { name: "read_file", input: { path: "notes.txt" } }],
  },
  {
    type: "answer",
    text: "Second.",
    calls: [
      createShellCall("echo b >> effects"),
      { name: "write_file", input: { path: "out.txt", content: "written\n" } },
    ],
  },
  { type: "answer", text: "All done." },
];
export const workFiles = { "notes.txt": "a note\n" };

/** A model whose answer depends on the conversation alone. The same request gets the same answer again. */
export async function startModelServer(steps: readonly ScriptedAnswer[]): Promise<ProviderServer> {
  const server = await startProviderServer("openai-chat", ({ body }) => {
    const messages = body.messages as readonly { readonly role: string }[];
    return steps[messages.filter(({ role }) => role === "assistant").length] ?? { type: "answer", text: "Too far." };
  });
  onTestFinished(() => server.close());
  return server;
}

/** The log of a session, if there is one. */
export async function readLog({ home }: World, sessionId = "s"): Promise<readonly Entry[]> {
  if (!existsSync(join(home, "sessions.db"))) return [];
  const store = await openSqliteStore({ path: join(home, "sessions.db") });
  try {
    expect(await store.verify()).toEqual([]);
    return await store.read(sessionId);
  } finally {
    await store.close();
  }
}

export function readLines({ root }: World, file: string): readonly string[] {
  const path = join(root, file);
  return existsSync(path) ? readFileSync(path, "utf8").trimEnd().split("\n") : [];
}

export function filterEvents<Type extends Event["type"]>(
  log: readonly Entry[],
  type: Type,
): readonly Extract<Event, { type: Type }>[] {
  return log.flatMap(({ event }) => (event.type === type ? [event as Extract<Event, { type: Type }>] : []));
}

/** Checks what must hold for a log, wherever its process was killed. */
export function expectValidLog(log: readonly Entry[]): void {
  expect(log.map(({ seq }) => seq)).toEqual(log.map((_, at) => at + 1));
  const steps = filterEvents(log, "model_finished").map(({ modelCallIndex }) => modelCallIndex);
  expect(steps).toEqual(steps.map((_, at) => at + 1));
  const results = filterEvents(log, "tool_finished").map(({ callKey }) => callKey);
  expect(new Set(results).size).toBe(results.length);
  const calls = filterEvents(log, "model_finished").flatMap(({ runId, modelCallIndex, message }) =>
    message.parts.filter(({ type }) => type === "tool_call").map((_, at) => `${runId}/${modelCallIndex}/${at + 1}`),
  );
  expect([...results].sort()).toEqual(calls.sort());
  expect(filterEvents(log, "run_finished")).toHaveLength(1);
}

/** Finds a result without an effect, and a call with two effects. */
export function expectValidEffects(world: World, log: readonly Entry[], point: string): void {
  const effects = readLines(world, "effects");
  for (const [effect, step] of [
    ["a", 1],
    ["b", 2],
  ] as const) {
    const count = effects.filter((line) => line === effect).length;
    const result = filterEvents(log, "tool_finished").find(({ callKey }) => callKey.endsWith(`/${step}/1`));
    expect(count, `${point}: ${effect}`).toBeLessThanOrEqual(1);
    expect(["ok", "interrupted"], `${point}: ${effect}`).toContain(result?.outcome);
    if (result?.outcome === "ok") expect(count, `${point}: ${effect}`).toBe(1);
  }
  // Writing the same text again is safe, so this call may run again after a kill.
  expect(readLines(world, "out.txt"), point).toEqual(["written"]);
}

/** Does work for each of many, some at the same time. */
export async function mapConcurrently<In, Out>(
  items: readonly In[],
  count: number,
  work: (item: In) => Promise<Out>,
): Promise<readonly Out[]> {
  const outcomes: Out[] = [];
  const queue = [...items];
  const runNext = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) outcomes.push(await work(item));
  };
  await Promise.all(Array.from({ length: count }, runNext));
  return outcomes;
}
