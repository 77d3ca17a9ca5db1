/**
 * A worker: finds the sessions of a store that are due, and carries them on.
 *
 * A session is due when nobody holds it and somebody posted to it, its driver died, or a wait of it is over. Any number of
 * workers may share a store: a claim decides.
 */

import type { SessionBinding } from "../core/machine/state.js";
import type { RunResult } from "../core/view/outcome.js";
import { PawlError } from "../errors.js";
import type { Clock } from "../ports/clock.js";
import type { Holder, Store } from "../ports/store.js";

/** What a worker needs of an agent. */
export type WorkingAgent = {
  readonly options: { readonly name?: string };
  readonly session: (sessionId: string) => { readonly resume: () => Promise<RunResult> };
  readonly shutdown: (options?: { readonly graceMs?: number }) => Promise<void>;
};

export type WorkerReport =
  | { readonly type: "taken"; readonly sessionId: string; readonly agent: string }
  | { readonly type: "left"; readonly sessionId: string; readonly result: RunResult }
  /** No agent of that name is here, or the session cannot be carried on; it is left to others. */
  | { readonly type: "refused"; readonly sessionId: string; readonly error: unknown };

export type WorkerOptions = {
  readonly store: Store;
  /** The agents whose sessions are carried on; or a way to make the agent of a session by what it is bound to, null where that is not possible. */
  readonly agents:
    | readonly WorkingAgent[]
    | ((session: SessionBinding, sessionId: string) => Promise<WorkingAgent | null>);
  /** Sessions side by side; 16. */
  readonly concurrency?: number;
  /** How often the store is asked, where it tells of nothing; 1 s. */
  readonly pollMs?: number;
  readonly onReport?: (report: WorkerReport) => void;
};

export type Worker = {
  /** Carries on everything that is due now, and what becomes due meanwhile; resolves when nothing is. */
  readonly runUntilIdle: () => Promise<void>;
  /** Goes on until it is stopped. @throws where the store fails */
  readonly run: () => Promise<void>;
  /** Takes no more, and waits for what runs; what is cut off after `graceMs` (5,000) is due again. */
  readonly stop: (options?: { readonly graceMs?: number }) => Promise<void>;
};

type WorkerDefaults = { readonly clock: Clock; readonly isDead: (holder: Holder) => boolean };

export function buildWorker(options: WorkerOptions, { clock, isDead }: WorkerDefaults): Worker {
  const { store, concurrency = 16, pollMs = 1_000, onReport = () => {} } = options;
  const taken = new Map<string, Promise<void>>();
  const refused = new Set<string>();
  const agents = new Set<WorkingAgent>();
  let stopped = false;
  let wake = () => {};

  async function find(session: SessionBinding, sessionId: string): Promise<WorkingAgent | null> {
    if (typeof options.agents === "function") return options.agents(session, sessionId);
    return options.agents.find((one) => (one.options.name ?? "agent") === session.agent) ?? null;
  }

  /** The agent behind a tool comes with the one that has the tool: its session is carried on by way of the one at the top. */
  async function bearerOf(sessionId: string): Promise<{ readonly agent: WorkingAgent; readonly bearerId: string }> {
    const session = await infoOf(store, sessionId);
    const own = await find(session, sessionId);
    if (own !== null) return { agent: own, bearerId: sessionId };
    const { top } = session;
    const above = top === undefined ? null : await find(await infoOf(store, top), top);
    if (top !== undefined && above !== null) return { agent: above, bearerId: top };
    throw new PawlError(
      "agent_mismatch",
      `Session ${sessionId} belongs to the agent "${session.agent}", which this worker does not have.`,
    );
  }

  async function carryOn(sessionId: string): Promise<void> {
    let isChild = false;
    try {
      const { agent, bearerId } = await bearerOf(sessionId);
      isChild = bearerId !== sessionId;
      agents.add(agent);
      if (stopped) return;
      onReport({ type: "taken", sessionId: bearerId, agent: agent.options.name ?? "agent" });
      const session = agent.session(bearerId);
      // What is queued behind a run starts with its end, and belongs to the same piece of work.
      for (let hasNext = true; hasNext; ) {
        const result = await session.resume();
        onReport({ type: "left", sessionId: bearerId, result });
        hasNext = !stopped && !isChild && (result.status === "completed" || result.status === "failed");
      }
    } catch (error) {
      // Another worker was faster, or nothing was left to do.
      if (error instanceof PawlError && error.code === "run_finished" && !isChild) return;
      refused.add(sessionId);
      onReport({ type: "refused", sessionId, error });
    }
  }

  /** Takes what is due and there is room for. */
  async function take(): Promise<void> {
    if (stopped || taken.size >= concurrency) return;
    const due = await store.due(clock.now(), concurrency + taken.size + refused.size, isDead);
    for (const sessionId of due) {
      if (stopped || taken.size >= concurrency) return;
      if (taken.has(sessionId) || refused.has(sessionId)) continue;
      const work = carryOn(sessionId).finally(() => {
        taken.delete(sessionId);
        wake();
      });
      taken.set(sessionId, work);
    }
  }

  async function runUntilIdle(): Promise<void> {
    for (await take(); taken.size > 0; await take()) await Promise.race(taken.values());
  }

  async function run(): Promise<void> {
    const unwatch = store.watch(() => wake());
    try {
      while (!stopped) {
        await take();
        await nextOccasion();
      }
    } finally {
      unwatch();
    }
  }

  function nextOccasion(): Promise<void> {
    return new Promise((resolve) => {
      const cancel = clock.after(pollMs, resolve);
      wake = () => {
        cancel();
        resolve();
      };
      if (stopped) wake();
    });
  }

  async function stop({ graceMs = 5_000 }: { readonly graceMs?: number } = {}): Promise<void> {
    stopped = true;
    wake();
    await Promise.all([...agents].map((agent) => agent.shutdown({ graceMs })));
    await Promise.all(taken.values());
  }

  return { runUntilIdle, run, stop };
}

/** What a session is bound to. A session that has not begun is bound to what its first message asks for. */
async function infoOf(store: Store, sessionId: string): Promise<SessionBinding> {
  const loaded = await store.load(sessionId);
  if (loaded !== null && loaded.state.session !== null) return loaded.state.session;
  for (const { body } of await store.inbox(sessionId)) if (body.type === "input") return body.session;
  throw new PawlError("no_session", `Session ${sessionId} has nothing that says which agent it belongs to.`);
}
