/**
 * Ends the sleeps of a play, and its waits for signals. It does what happens outside of the process: a worker takes a session up
 * again when its time comes, and signals are sent.
 */
import type { Json } from "../../core/data/message.js";
import { findChildCalls } from "../../core/machine/child-reports.js";
import { dueAt } from "../../core/machine/effects.js";
import { initialState, type State } from "../../core/machine/state.js";
import { listWaits, type RunWait } from "../../core/view/run-wait.js";
import type { Store } from "../../ports/store.js";
import { createSendSignal, type SendSignal } from "../../runtime/api/signal.js";
import type { World } from "../world/world.js";

/** A signal that the crash kit sends. */
export type CrashSignal = {
  /** The key that the tool waits for. */
  readonly key: string;
  /** Plain JSON. Default: null. */
  readonly value?: Json;
  /** The id that the tool gets with the value. Default: a new id. */
  readonly id?: string;
};

export type PlayWaits = {
  /** A new process starts, and nothing waits in it. */
  readonly startLife: () => void;
  /** Waits until a session of the play is due. */
  readonly untilDue: () => Promise<void>;
  /**
   * Called when nothing waits for a turn, before the clock moves: sends the signals that tools wait for. If the run waits and its
   * session is due, or one that it waits for, ends the wait; otherwise, the clock will stop when the next one is due. Returns whether the play can continue before
   * the clock moves.
   * @throws Error if nothing can end the wait
   */
  readonly pass: () => Promise<boolean>;
};

/** The session, and the sessions of the agents that its tools run. */
export async function listFamily(store: Store, sessionId: string): Promise<readonly string[]> {
  const all = await store.list();
  const children = all.filter(({ info }) => info?.top === sessionId).map((child) => child.sessionId);
  return [sessionId, ...children];
}

export function createPlayWaits(world: World, signals: readonly CrashSignal[]): PlayWaits {
  const { store, clock, sessionId } = world;
  const sendSignal = createSignalSender(world);
  const unsent = [...signals];
  /** The waits to which the kit has sent a signal. */
  const served = new Set<string>();
  const stops = new Set<number>();
  let endWait: (() => void) | null = null;

  async function sendWanted(family: ReadonlyMap<string, State>): Promise<boolean> {
    let isSent = false;
    for (const { name, key } of listSignalWaits(family)) {
      const index = unsent.findIndex((signal) => signal.key === key);
      if (index === -1 || served.has(name)) continue;
      const [signal] = unsent.splice(index, 1);
      if (signal === undefined) continue;
      // All waits that are open for the key get it.
      for (const wait of listSignalWaits(family)) if (wait.key === key) served.add(wait.name);
      await sendSignal(key, signal.value, { id: signal.id ?? `signal${world.nextNumber()}` });
      isSent = true;
    }
    return isSent;
  }

  return {
    startLife() {
      endWait = null;
    },
    untilDue: () =>
      new Promise((resolve) => {
        endWait = resolve;
      }),
    async pass() {
      if (endWait === null && unsent.length === 0) return false;
      const family = await loadFamily(store, sessionId);
      const isSent = await sendWanted(family);
      if (endWait === null) return isSent;
      const due = await store.due(clock.now(), Number.POSITIVE_INFINITY);
      const awaited = listAwaited(family, sessionId);
      if (due.some((id) => awaited.has(id))) {
        endWait();
        endWait = null;
        return true;
      }
      const times = [...family.values()].flatMap((state) => dueAt(state) ?? []);
      if (times.length === 0) throw new Error(describeEndless([...family.values()].flatMap(listWaits)));
      for (const time of times) {
        if (time <= clock.now() || stops.has(time)) continue;
        stops.add(time);
        clock.after(time - clock.now(), () => {});
      }
      return isSent;
    },
  };
}

/** No signal is kept, because the plays may share a store, and each begins at the same time. */
function createSignalSender({ store, clock, nextNumber, record }: World): SendSignal {
  const { signals } = store;
  const unkept = signals && {
    ...signals,
    send: async (signal: Parameters<typeof signals.send>[0]) => {
      const keptUntil = 0;
      const result = await signals.send({ ...signal, keptUntil });
      const { key, id, at } = signal;
      if (result.type === "ok") {
        const { isNew, sessions } = result;
        record({ type: "signalled", process: "the kit", key, id, sentAt: at, keptUntil, isNew, sessions });
      }
      return result;
    },
  };
  return createSendSignal({ ...store, ...(unkept && { signals: unkept }) }, clock, () => `signal${nextNumber()}`);
}

async function loadFamily(store: Store, sessionId: string): Promise<ReadonlyMap<string, State>> {
  const ids = await listFamily(store, sessionId);
  const loaded = await Promise.all(ids.map(async (id) => [id, (await store.load(id))?.state ?? initialState] as const));
  return new Map(loaded);
}

/**
 * The session, and the sessions whose results it waits for. Not a session that has given its result: the process that died may have
 * left its end to others, but the run does not continue because of it.
 */
function listAwaited(family: ReadonlyMap<string, State>, sessionId: string): ReadonlySet<string> {
  const awaited = new Set([sessionId]);
  for (const id of awaited)
    for (const { childId } of findChildCalls(family.get(id) ?? initialState)) awaited.add(childId);
  return awaited;
}

type SignalWait = { readonly name: string; readonly key: string };

function listSignalWaits(family: ReadonlyMap<string, State>): readonly SignalWait[] {
  return [...family].flatMap(([sessionId, state]) =>
    listWaits(state).flatMap((wait) =>
      wait.on === "signal" && wait.key !== undefined
        ? [{ name: JSON.stringify([sessionId, wait.callKey, wait.step]), key: wait.key }]
        : [],
    ),
  );
}

function describeEndless(waits: readonly RunWait[]): string {
  const keys = new Set(waits.flatMap((wait) => (wait.on === "signal" && wait.key !== undefined ? wait.key : [])));
  const passedOver = waits.reduce((sum, wait) => sum + (wait.on === "child" ? 0 : (wait.passedOver ?? 0)), 0);
  const named = [...keys].map((key) => JSON.stringify(key));
  const misfits = passedOver === 0 ? "" : ` (${passedOver} did not fit its schema)`;
  const example = named.map((key) => `{ key: ${key}, value: … }`).join(", ");
  return `the run waits for the signal ${named.join(" and ")}${misfits}, which nobody sends. Let the kit send it: crashTest({ …, signals: [${example}] }).`;
}
