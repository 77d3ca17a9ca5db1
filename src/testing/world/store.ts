/**
 * The store as a process of the simulation sees it: every request and every reply waits for its turn, and may be lost.
 */
import { getErrorMessage } from "../../core/data/error-message.js";
import { PawlError } from "../../errors.js";
import type { Commit, CommitResult, Lease, Store } from "../../ports/store.js";
import { createTimeStores } from "./time-stores.js";
import type { Process, World } from "./world.js";

export function createProcessStore(world: World, process: () => Process): Store {
  const { store, chance } = world;
  const simulateRequest = <Result>(operation: string, act: () => Promise<Result>) =>
    simulateWrite(world, process(), operation, act);

  return {
    async claim(sessionId, options) {
      const { name } = process();
      const clocks = readClocks(world, process());
      const claimed = await simulateRequest("claim", async () => {
        const result = await store.claim(sessionId, options);
        const { askedAt, setting } = readClocks(world, process());
        const late = askedAt + setting !== options.now;
        if (result.type === "claimed")
          world.record({ sessionId, type: "claimed", process: name, epoch: result.lease.epoch, late, setting });
        return result;
      });
      if (claimed.type === "claimed")
        world.record({ sessionId, type: "holding", process: name, epoch: claimed.lease.epoch, ...clocks });
      return claimed;
    },
    async renew(leases, now, leaseMs) {
      const clocks = readClocks(world, process());
      const lostSessions = await simulateRequest("renew", () => store.renew(leases, now, leaseMs));
      for (const { sessionId, epoch } of leases)
        if (!lostSessions.includes(sessionId))
          world.record({ sessionId, type: "renewed", process: process().name, epoch, ...clocks });
        else world.record({ sessionId, type: "refused", process: process().name, epoch, why: "its lease is lost" });
      return lostSessions;
    },
    async release(lease) {
      const result = await simulateRequest("release", async () =>
        chance.happens(world.faults.busy) ? ({ type: "busy" } as const) : await store.release(lease),
      );
      if (result.type === "released")
        world.record({
          sessionId: lease.sessionId,
          type: "confirmed",
          process: process().name,
          epoch: lease.epoch,
          seq: null,
          released: true,
        });
      return result;
    },
    commit: (lease, commit) => simulateCommit(world, process(), lease, commit),
    async post(sessionId, message) {
      return await simulateRequest("post", async () => {
        const result = await store.post(sessionId, message);
        if (result.type === "posted")
          world.record({ sessionId, type: "posted", process: process().name, id: message.id });
        return result;
      });
    },
    redact: (lease, redaction) => simulateRequest("redact", () => store.redact(lease, redaction)),
    load: (sessionId) => simulateRead(world, process(), "load", () => store.load(sessionId)),
    loadAt: (sessionId, seq) => simulateRead(world, process(), "loadAt", () => store.loadAt(sessionId, seq)),
    read: (sessionId, after, limit) =>
      simulateRead(world, process(), "read", () => store.read(sessionId, after, limit)),
    inbox: (sessionId) => simulateRead(world, process(), "inbox", () => store.inbox(sessionId)),
    messageIds: (sessionId, options) =>
      simulateRead(world, process(), "messageIds", () => store.messageIds(sessionId, options)),
    list: (options) => simulateRead(world, process(), "list", () => store.list(options)),
    describe: (sessionId) => simulateRead(world, process(), "describe", () => store.describe(sessionId)),
    asking: (options) => simulateRead(world, process(), "asking", () => store.asking(options)),
    due: (now, limit, isDead) => simulateRead(world, process(), "due", () => store.due(now, limit, isDead)),
    // Each hint gets its turn, unless the process is killed first.
    tellsAllChanges: store.tellsAllChanges === true,
    watch(listener) {
      return store.watch((change) => {
        if (process().status === "killed") return;
        if (process().status === "running" && chance.happens(0.7)) listener(change);
        else world.turns.push({ process: process(), operation: "hint", take: () => listener(change) });
      });
    },
    putBlob: (sessionId, bytes) => simulateRequest("putBlob", () => store.putBlob(sessionId, bytes)),
    getBlob: (sessionId, hash) => simulateRead(world, process(), "getBlob", () => store.getBlob(sessionId, hash)),
    delete: (sessionId, options) => simulateRequest("delete", () => store.delete(sessionId, options)),
    verify: (sessionId) => store.verify(sessionId),
    ...createTimeStores(world, process, {
      write: simulateRequest,
      read: (operation, act) => simulateRead(world, process(), operation, act),
    }),
    close: async () => {},
  };
}

/** Reads both clocks of a process: the monotonic time, and how far its wall clock is ahead of it. */
function readClocks({ clock }: World, { skewMs = 0 }: Process): { readonly askedAt: number; readonly setting: number } {
  return { askedAt: clock.elapsed(), setting: clock.now() + skewMs - clock.elapsed() };
}

function createFailure(world: World, process: Process, operation: string): PawlError {
  world.record({ type: "unanswered", process: process.name, what: operation });
  return new PawlError("store_failed", `The simulated store failed at '${operation}'. Try again.`);
}

/** A read request: one turn, and another one if its reply comes late. */
async function simulateRead<Result>(
  world: World,
  process: Process,
  operation: string,
  act: () => Promise<Result>,
): Promise<Result> {
  const { chance, faults } = world;
  await world.turn(process, operation);
  if (chance.happens(faults.fails)) throw createFailure(world, process, operation);
  const result = await world.include(act());
  if (faults.late?.chance.happens(faults.late.probability) === true) await world.turn(process, `${operation} answered`);
  return result;
}

/** A write request: a turn until it arrives, and a turn until its reply does. */
async function simulateWrite<Result>(
  world: World,
  process: Process,
  operation: string,
  act: () => Promise<Result>,
): Promise<Result> {
  const { chance, faults } = world;
  await world.turn(process, operation);
  const fails = chance.happens(faults.fails);
  const lost = chance.happens(faults.lost);
  const result = fails ? null : { value: await world.include(act()) };
  await world.turn(process, `${operation} answered`);
  if (result === null || lost) throw createFailure(world, process, operation);
  return result.value;
}

async function simulateCommit(world: World, process: Process, lease: Lease, commit: Commit): Promise<CommitResult> {
  const { name } = process;
  const { epoch, sessionId } = lease;
  try {
    const result = await simulateWrite(world, process, "commit", () => applyCommit(world, name, lease, commit));
    if (result.type === "ok")
      world.record({
        sessionId,
        type: "confirmed",
        process: name,
        epoch,
        seq: result.seq,
        released: commit.release === true,
      });
    else if (result.type !== "busy" && result.type !== "inbox_not_empty")
      world.record({ sessionId, type: "refused", process: name, epoch, why: result.type });
    return result;
  } catch (error) {
    world.record({
      sessionId,
      type: "refused",
      process: name,
      epoch,
      why: getErrorMessage(error),
    });
    throw error;
  }
}

async function applyCommit(world: World, process: string, lease: Lease, commit: Commit): Promise<CommitResult> {
  const { store, chance, faults } = world;
  if (chance.happens(faults.busy)) return { type: "busy" };
  const result = await store.commit(lease, commit);
  if (result.type !== "ok") return result;
  world.record({ sessionId: lease.sessionId, type: "written", process, epoch: lease.epoch, commit });
  // Simulates a network that resends a request when the reply takes too long.
  if (chance.happens(faults.twice)) await store.commit(lease, commit);
  return result;
}
