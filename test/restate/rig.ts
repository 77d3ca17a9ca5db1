/**
 * Services of Restate in processes of their own, which hold where they are told to, and can be killed.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import type { PostOptions } from "../../src/index.js";
import type { ObjectStatus } from "../../src/restate/index.js";
import { checkSession } from "../../src/testing/index.js";
import { createWorld, type Process, type ProcessOptions, type World, waitUntil } from "../processes/rig.js";
import { freePorts, type RestateServer, startRestate } from "../support/restate.js";

export type RestateFleet = {
  readonly world: World;
  readonly restate: RestateServer;
  /** Starts a service where Restate looks for it. The one before must be dead. */
  readonly serve: (options?: Partial<ProcessOptions>) => Promise<Process>;
  readonly send: (sessionId: string, options?: PostOptions) => Promise<void>;
  readonly status: (sessionId: string) => Promise<ObjectStatus>;
  /** Resolves when the session has this status. */
  readonly waitForStatus: (sessionId: string, status: ObjectStatus["status"]) => Promise<ObjectStatus>;
};

export const script = [{ calls: [{ name: "work" }] }, { text: "Done." }];
export const askingScript = [{ calls: [{ name: "risky" }] }, { text: "Done." }];

/** @param sharedServer a server that several tests of a file share, one after the other: its object is that of the last service */
export async function createFleet(
  options: Partial<ProcessOptions> = {},
  sharedServer?: RestateServer,
): Promise<RestateFleet> {
  const world = await createWorld();
  const restate = sharedServer ?? (await startRestate());
  if (sharedServer === undefined) onTestFinished(() => restate.close());
  const [port] = await freePorts(1);
  let isRegistered = false;

  async function serve(overrides: Partial<ProcessOptions> = {}): Promise<Process> {
    const service = await world.start({ script, ...options, ...overrides });
    await service.call("serve", port);
    if (!isRegistered) await restate.register(`http://127.0.0.1:${port}`);
    isRegistered = true;
    return service;
  }

  async function status(sessionId: string): Promise<ObjectStatus> {
    const { json, status: httpStatus } = await restate.call(`/Pawl/${sessionId}/status`);
    if (httpStatus !== 200) throw new Error(JSON.stringify(json));
    return json;
  }

  return {
    world,
    restate,
    serve,
    async send(sessionId, overrides = {}) {
      const request = { input: "Go", options: { agent: "agent", runId: "r", ...overrides } };
      expect(await restate.call(`/Pawl/${sessionId}/send`, request)).toMatchObject({ status: 200 });
    },
    status,
    async waitForStatus(sessionId, expected) {
      for (;;) {
        const found = await status(sessionId);
        if (found.status === expected) return found;
        await sleep(20);
      }
    },
  };
}

/** Resolves when these invocations are there that are not over, and no others: each as `handler status`. */
export async function expectInvocations({ restate }: RestateFleet, ...expected: readonly string[]): Promise<void> {
  const isSettled = async () => {
    const found = await restate.query("SELECT target_handler_name AS name, status FROM sys_invocation");
    const active = found.map(({ name, status }) => `${name} ${status}`).filter((line) => !line.endsWith(" completed"));
    return String(active) === String(expected);
  };
  await waitUntil(isSettled, `wanted were ${expected.join(", ") || "none"}, there are others`);
}

/** Nothing is lost, nothing is left over, and no effect with a key happened twice. */
export async function expectAllAtRest(fleet: RestateFleet, sessions = 1): Promise<void> {
  const { store, effects } = fleet.world;
  await expectInvocations(fleet);
  // An invocation is over when its run is: its process lets go of the session, and of a child's, a moment later.
  const atRest = { activity: "resting", inbox: 0, holder: null };
  const sessionStates = async () =>
    (await store.list()).map(({ activity, inbox, holder }) => ({ activity, inbox, holder }));
  await expect.poll(sessionStates).toEqual(Array(sessions).fill(atRest));
  for (const { sessionId } of await store.list()) await checkSession(store, sessionId);
  const keys = effects().map((line) => line.split(" ").slice(0, -1).join(" "));
  expect(keys).toHaveLength(new Set(keys).size);
  expect(await store.verify()).toEqual([]);
  expect(await store.due(Date.now() + 3_600_000, 100)).toEqual([]);
}
