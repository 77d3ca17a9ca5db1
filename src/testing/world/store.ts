/**
 * A store as one process of a simulation reaches it: every request and every answer waits for its turn, and may be lost.
 */
import { PawlError } from "../../errors.js";
import type { Commit, CommitResult, Lease, Store } from "../../ports/store.js";
import type { Process, World } from "./world.js";

export function storeOf(world: World, process: () => Process): Store {
  const { store, chance } = world;
  const request = <Result>(what: string, act: () => Promise<Result>) => ask(world, process(), what, act);

  return {
    async claim(sessionId, options) {
      const { name } = process();
      const asked = askedNow(world);
      const claimed = await request("claim", async () => {
        const result = await store.claim(sessionId, options);
        const late = world.clock.now() !== options.now;
        const { setting } = askedNow(world);
        if (result.type === "claimed")
          world.note({ sessionId, type: "claimed", process: name, epoch: result.lease.epoch, late, setting });
        return result;
      });
      if (claimed.type === "claimed")
        world.note({ sessionId, type: "holding", process: name, epoch: claimed.lease.epoch, ...asked });
      return claimed;
    },
    async renew(leases, now, leaseMs) {
      const asked = askedNow(world);
      const gone = await request("renew", () => store.renew(leases, now, leaseMs));
      for (const { sessionId, epoch } of leases)
        if (!gone.includes(sessionId))
          world.note({ sessionId, type: "renewed", process: process().name, epoch, ...asked });
        else world.note({ sessionId, type: "refused", process: process().name, epoch, why: "its lease is gone" });
      return gone;
    },
    async release(lease) {
      const result = await request("release", async () =>
        chance.happens(world.faults.busy) ? ({ type: "busy" } as const) : await store.release(lease),
      );
      if (result.type === "released")
        world.note({
          sessionId: lease.sessionId,
          type: "confirmed",
          process: process().name,
          epoch: lease.epoch,
          seq: null,
          released: true,
        });
      return result;
    },
    commit: (lease, commit) => write(world, process(), lease, commit),
    async post(sessionId, message) {
      return await request("post", async () => {
        const result = await store.post(sessionId, message);
        if (result.type === "posted")
          world.note({ sessionId, type: "posted", process: process().name, id: message.id });
        return result;
      });
    },
    redact: (lease, redaction) => request("redact", () => store.redact(lease, redaction)),
    load: (sessionId) => look(world, process(), "load", () => store.load(sessionId)),
    loadAt: (sessionId, seq) => look(world, process(), "loadAt", () => store.loadAt(sessionId, seq)),
    read: (sessionId, after, limit) => look(world, process(), "read", () => store.read(sessionId, after, limit)),
    inbox: (sessionId) => look(world, process(), "inbox", () => store.inbox(sessionId)),
    messageIds: (sessionId, options) =>
      look(world, process(), "messageIds", () => store.messageIds(sessionId, options)),
    list: (options) => look(world, process(), "list", () => store.list(options)),
    describe: (sessionId) => look(world, process(), "describe", () => store.describe(sessionId)),
    asking: (options) => look(world, process(), "asking", () => store.asking(options)),
    due: (now, limit, isDead) => look(world, process(), "due", () => store.due(now, limit, isDead)),
    // Each hint gets its turn, unless the process is killed before.
    tellsAllChanges: store.tellsAllChanges === true,
    watch(listener) {
      return store.watch((change) => {
        if (process().status === "killed") return;
        if (process().status === "running" && chance.happens(0.7)) listener(change);
        else world.turns.push({ process: process(), what: "hint", take: () => listener(change) });
      });
    },
    putBlob: (sessionId, bytes) => request("putBlob", () => store.putBlob(sessionId, bytes)),
    getBlob: (sessionId, hash) => look(world, process(), "getBlob", () => store.getBlob(sessionId, hash)),
    delete: (sessionId, options) => request("delete", () => store.delete(sessionId, options)),
    verify: (sessionId) => store.verify(sessionId),
    close: async () => {},
  };
}

/** The time as the clocks have it, and how far the wall clock is set from the other. */
function askedNow({ clock }: World): { readonly askedAt: number; readonly setting: number } {
  return { askedAt: clock.elapsed(), setting: clock.now() - clock.elapsed() };
}

function failure(world: World, process: Process, what: string): PawlError {
  world.note({ type: "unanswered", process: process.name, what });
  return new PawlError("store_failed", `The simulated store failed at '${what}'. Try again.`);
}

/** A request that only reads: one turn, and another one if its answer comes late. */
async function look<Result>(world: World, process: Process, what: string, act: () => Promise<Result>): Promise<Result> {
  const { chance, faults } = world;
  await world.turn(process, what);
  if (chance.happens(faults.fails)) throw failure(world, process, what);
  const result = await world.include(act());
  if (faults.late?.chance.happens(faults.late.probability) === true) await world.turn(process, `${what} answered`);
  return result;
}

/** A request that writes: a turn until it arrives, and one until its answer does. */
async function ask<Result>(world: World, process: Process, what: string, act: () => Promise<Result>): Promise<Result> {
  const { chance, faults } = world;
  await world.turn(process, what);
  const fails = chance.happens(faults.fails);
  const lost = chance.happens(faults.lost);
  const result = fails ? null : { value: await world.include(act()) };
  await world.turn(process, `${what} answered`);
  if (result === null || lost) throw failure(world, process, what);
  return result.value;
}

async function write(world: World, process: Process, lease: Lease, commit: Commit): Promise<CommitResult> {
  const { name } = process;
  const { epoch, sessionId } = lease;
  try {
    const result = await ask(world, process, "commit", () => apply(world, name, lease, commit));
    if (result.type === "ok")
      world.note({
        sessionId,
        type: "confirmed",
        process: name,
        epoch,
        seq: result.seq,
        released: commit.release === true,
      });
    else if (result.type !== "busy" && result.type !== "inbox_not_empty")
      world.note({ sessionId, type: "refused", process: name, epoch, why: result.type });
    return result;
  } catch (error) {
    world.note({
      sessionId,
      type: "refused",
      process: name,
      epoch,
      why: error instanceof Error ? error.message : String(error),
    });
    throw error;
  }
}

async function apply(world: World, process: string, lease: Lease, commit: Commit): Promise<CommitResult> {
  const { store, chance, faults } = world;
  if (chance.happens(faults.busy)) return { type: "busy" };
  const result = await store.commit(lease, commit);
  if (result.type !== "ok") return result;
  world.note({ sessionId: lease.sessionId, type: "written", process, epoch: lease.epoch, commit });
  // A network that sends a request again when it waits too long for the answer.
  if (chance.happens(faults.twice)) await store.commit(lease, commit);
  return result;
}
