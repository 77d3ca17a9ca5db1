/**
 * Services of Restate in processes of their own, which hold where they are told to, and can be killed.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import type { PostOptions } from "../../src/index.js";
import type { ObjectStatus } from "../../src/restate/index.js";
import { checkSession } from "../../src/testing/index.js";
import { createWorld, type Process, type ProcessOptions, until, type World } from "../processes/rig.js";
import { freePorts, type RestateServer, startRestate } from "../support/restate.js";

export type Fleet = {
  readonly world: World;
  readonly restate: RestateServer;
  /** Starts a service where Restate looks for it. The one before must be dead. */
  readonly serve: (options?: Partial<ProcessOptions>) => Promise<Process>;
  readonly send: (sessionId: string, options?: PostOptions) => Promise<void>;
  readonly status: (sessionId: string) => Promise<ObjectStatus>;
  /** Resolves when the session has this status. */
  readonly reaches: (sessionId: string, status: ObjectStatus["status"]) => Promise<ObjectStatus>;
};

export const script = [{ calls: [{ name: "work" }] }, { text: "Done." }];
export const asking = [{ calls: [{ name: "risky" }] }, { text: "Done." }];

/** @param given a server that several tests of a file share, one after the other: its object is that of the last service */
export async function createFleet(options: Partial<ProcessOptions> = {}, given?: RestateServer): Promise<Fleet> {
  const world = await createWorld();
  const restate = given ?? (await startRestate());
  if (given === undefined) onTestFinished(() => restate.close());
  const [port] = await freePorts(1);
  let isRegistered = false;

  async function serve(more: Partial<ProcessOptions> = {}): Promise<Process> {
    const service = await world.start({ script, ...options, ...more });
    await service.call("serve", port);
    if (!isRegistered) await restate.register(`http://127.0.0.1:${port}`);
    isRegistered = true;
    return service;
  }

  async function status(sessionId: string): Promise<ObjectStatus> {
    const { json, status: code } = await restate.call(`/Pawl/${sessionId}/status`);
    if (code !== 200) throw new Error(JSON.stringify(json));
    return json;
  }

  return {
    world,
    restate,
    serve,
    async send(sessionId, more = {}) {
      const request = { input: "Go", options: { agent: "agent", runId: "r", ...more } };
      expect(await restate.call(`/Pawl/${sessionId}/send`, request)).toMatchObject({ status: 200 });
    },
    status,
    async reaches(sessionId, wanted) {
      for (;;) {
        const found = await status(sessionId);
        if (found.status === wanted) return found;
        await sleep(20);
      }
    },
  };
}

/** Resolves when these invocations are there that are not over, and no others: each as `handler status`. */
export async function settles({ restate }: Fleet, ...wanted: readonly string[]): Promise<void> {
  const isSettled = async () => {
    const found = await restate.query("SELECT target_handler_name AS name, status FROM sys_invocation");
    const there = found.map(({ name, status }) => `${name} ${status}`).filter((line) => !line.endsWith(" completed"));
    return String(there) === String(wanted);
  };
  await until(isSettled, `wanted were ${wanted.join(", ") || "none"}, there are others`);
}

/** Nothing is lost, nothing is left over, and no effect with a key happened twice. */
export async function checkAll(fleet: Fleet, sessions = 1): Promise<void> {
  const { store, effects } = fleet.world;
  await settles(fleet);
  // An invocation is over when its run is: its process lets go of the session, and of a child's, a moment later.
  const atRest = { activity: "resting", inbox: 0, holder: null };
  const places = async () => (await store.list()).map(({ activity, inbox, holder }) => ({ activity, inbox, holder }));
  await expect.poll(places, { timeout: 10_000 }).toEqual(Array(sessions).fill(atRest));
  for (const { sessionId } of await store.list()) await checkSession(store, sessionId);
  const keys = effects().map((line) => line.split(" ").slice(0, -1).join(" "));
  expect(keys).toHaveLength(new Set(keys).size);
  expect(await store.verify()).toEqual([]);
  expect(await store.due(Date.now() + 3_600_000, 100)).toEqual([]);
}
