/**
 * A session in this process: driven here where its lease can be had, followed where another process holds it.
 *
 * 1. What anybody says is posted to the inbox, or, by the driver itself, committed with its id taken; so it counts once.
 * 2. Whoever waits for a run gets one result: its end, what it waits for, or why it stopped here.
 * 3. An idle session holds nothing: no lease, no transcript, no timer.
 */
import { effects } from "../core/effects.js";
import { eventsOf, type InboxMessage } from "../core/inbox.js";
import type { RunResult } from "../core/outcome.js";
import { initialState, type State } from "../core/state.js";
import type { Transcript } from "../core/transcript.js";
import type { Lease, Owner, PostResult } from "../ports/store.js";
import { type Audience, createAudience } from "./audience.js";
import type { Closing } from "./committer.js";
import { createDriver, type Driver } from "./driver.js";
import { takeUpChildren } from "./family.js";
import { followLog } from "./follow.js";
import { giveBack, lossOf, noSession, shutDownError } from "./given-out.js";
import { loadTranscript } from "./history.js";
import { type LeaseKeeper, type Moment, momentOf } from "./lease-keeper.js";
import { abortMessage, lateMessage, startQueued } from "./own-messages.js";
import { type AgentParts, checkAgent } from "./parts.js";
import { createResults } from "./results.js";
import type { Subscription } from "./subscription.js";
import { createTurns } from "./turns.js";
import { watchInbox } from "./watch-inbox.js";
import { createMemory, type WorkMemory } from "./work.js";

export type Live = Pick<Audience, "subscribe" | "onStep"> & {
  readonly sessionId: string;
  /**
   * Sends a message to the session: by its driver where that is here, else, or where its id is `shared`, through the inbox.
   * Resolves when it is durable. @throws PawlError `agent_mismatch`, `root_mismatch`, `store_failed`
   */
  readonly say: (message: InboxMessage, options: { readonly shared: boolean }) => Promise<Said>;
  /** Sends the message that asks for a run; its signal aborts that run, from the start where it is aborted already. */
  readonly ask: (runId: string, message: InboxMessage, options: AskOptions) => Promise<Said>;
  /** The same, and gives the run's result; the end of a run that is known and over also goes to `subscription`. */
  readonly run: (
    runId: string,
    message: InboxMessage,
    options: AskOptions & { readonly subscription?: Subscription },
  ) => Promise<RunResult>;
  /** Carries on what is under way, or starts what is queued; gives the result that comes after this entry of the log. */
  readonly resume: (after: number) => Promise<RunResult>;
  /** Carries on what is under way, for nobody in particular. */
  readonly takeUp: () => Promise<void>;
  /** Gives those who wait a result that is no end, as of an entry. */
  readonly settle: (result: RunResult, seq: number) => void;
  /** Starts nothing more, and takes nothing up again; ends when what runs has settled or the grace is over. */
  readonly drain: (graceMs: number) => Promise<void>;
};

type Said = "said" | "duplicate";
/** `check` comes first; nothing else is asked for between it and the request. */
type AskOptions = { readonly shared: boolean; readonly signal?: AbortSignal; readonly check?: () => Promise<void> };
type Driven = { readonly driver: Driver; readonly memory: WorkMemory };

/** What a process keeps of its sessions. What is said late may find that its session was left, and is held here anew. */
type Place = { readonly leave: () => void; readonly sayLate: (message: InboxMessage) => void };

export function createLive(sessionId: string, parts: AgentParts, keeper: LeaseKeeper, place: Place): Live {
  const { store, clock } = parts;
  const audience = createAudience({
    sessionId,
    parts,
    streaming: () => driven?.memory.partial ?? null,
    abort: (runId) => void say(abortMessage(runId, parts), { shared: false }).catch(() => {}),
    isSilent: () => driven === null && following === null,
    onLeave: leaveIfIdle,
  });
  const { waiters, signals } = audience;
  const results = createResults({ sessionId, store, waiters, settleHere });
  const inTurn = createTurns();
  let driven: Driven | null = null;
  let opening: Promise<"driving" | "held"> | null = null;
  let following: (() => void) | null = null;
  let lastClosing: Closing | null = null;
  let operationsUnderWay = 0;
  let drained = false;

  async function using<T>(act: () => Promise<T>): Promise<T> {
    operationsUnderWay += 1;
    try {
      return await act();
    } finally {
      operationsUnderWay -= 1;
      leaveIfIdle();
    }
  }

  function leaveIfIdle(): void {
    const idle = driven === null && opening === null && following === null && operationsUnderWay === 0;
    if (idle && audience.isEmpty()) place.leave();
  }

  function open(): Promise<"driving" | "held"> {
    if (driven !== null) return Promise.resolve("driving");
    if (drained) return Promise.resolve("held");
    opening ??= claim().finally(() => {
      opening = null;
      leaveIfIdle();
    });
    return opening;
  }

  async function claim(): Promise<"driving" | "held"> {
    const { owner, leaseMs } = keeper;
    // A lease of our own that nobody drives was left behind by a driver that the store failed.
    const isDead = (other: Owner) => other.id === owner.id || keeper.isDead?.(other) === true;
    const claimedAt = momentOf(clock);
    const claimed = await store.claim(sessionId, { owner, now: claimedAt.wall, leaseMs, isDead });
    if (claimed.type === "held") follow();
    else if (drained) await giveBack(store, claimed.lease);
    if (claimed.type === "held" || drained) return "held";
    following?.();
    try {
      const state = claimed.state ?? initialState;
      checkAgent(sessionId, state, parts);
      await drive(claimed.lease, claimedAt, claimed.seq, state);
    } catch (error) {
      await giveBack(store, claimed.lease);
      if (isFollowed()) follow();
      throw error;
    }
    return "driving";
  }

  async function drive(lease: Lease, claimedAt: Moment, seq: number, state: State): Promise<void> {
    const transcript = await loadTranscript(store, sessionId, state);
    const messages = await store.inbox(sessionId);
    await audience.beginAt(state);
    const memory = createMemory(sessionId, store, keeper.owner.id);
    const kept = keeper.keep(lease, claimedAt, () => driver.lose());
    const unwatch = watchInbox(sessionId, store, clock, () => void driver.wake());
    const driver = createDriver({
      sessionId,
      parts,
      lease,
      kept,
      seq,
      state,
      transcript,
      memory,
      publish: audience,
      onCommitted(steps) {
        audience.tell(steps, transcript);
        if (steps.some(({ entry }) => entry.event.type === "tool_waiting"))
          takeUpChildren(driver.state(), parts.family);
      },
      onLate(event) {
        // What settles when the run is over still belongs to its call; what this process was cut off from is not its to say.
        const message = lastClosing?.type === "parked" ? lateMessage(event, parts) : undefined;
        if (message !== undefined) place.sayLate(message);
      },
      onClosed(closing) {
        kept.drop();
        unwatch();
        if (closing.type !== "parked") void giveBack(store, lease);
        onClosed(closing, driver.state(), transcript);
      },
    });
    driven = { driver, memory };
    following?.();
    begin(driver, state, messages);
  }

  /**
   * What was in flight is in doubt; what waits in the inbox may start more, and comes after that. But an abort goes first:
   * it keeps things from being started again only to be stopped. A driver with nothing to do gives the session back, so the
   * first word is left to whoever opened it, who dispatches something.
   */
  function begin(driver: Driver, state: State, messages: readonly InboxMessage[]): void {
    takeUpChildren(state, parts.family);
    if (state.status !== "idle" && effects(state).some((effect) => effect.type !== "sleep")) {
      const { runId } = state;
      void driver.take(messages.filter(({ body }) => body.type === "abort" && body.runId === runId));
      void driver.dispatch(() => [{ type: "restarted", runId, owner: keeper.owner.id }]);
    }
    void driver.take(messages);
  }

  function onClosed(closing: Closing, state: State, transcript: Transcript): void {
    driven = null;
    lastClosing = closing;
    waiters.close(closing, state, transcript);
    const parent = state.session?.parent;
    if (closing.type === "parked" && state.status === "awaiting_human" && parent !== undefined)
      void parts.family.parent?.tellWaiting(parent.sessionId);
    if (audience.stays()) follow();
    else leaveIfIdle();
  }

  const say: Live["say"] = (message, options) => using(() => sayAll([message], options));

  /** Messages that are said together are taken together. */
  async function sayAll(messages: readonly InboxMessage[], { shared }: { readonly shared: boolean }): Promise<Said> {
    while (!shared && (await open()) === "driving") {
      const dispatch = driven?.driver.dispatch ?? notDriven;
      const said = messages.map((message) => dispatch((state) => eventsOf(message, state), { record: message.id }));
      if ((await Promise.all(said)).every((durable) => durable)) return "said";
      if (lastClosing?.type === "parked") continue;
      const loss = lossOf(sessionId, lastClosing);
      if (loss !== undefined) throw loss;
      break;
    }
    if (drained) throw shutDownError(parts.name, sessionId);
    checkAgent(sessionId, (await store.load(sessionId))?.state ?? initialState, parts);
    const posted: PostResult[] = [];
    for (const message of messages) posted.push(await store.post(sessionId, message));
    await settleHere();
    return posted[0]?.type === "duplicate" ? "duplicate" : "said";
  }

  async function askNow(runId: string, message: InboxMessage, { shared, signal, check }: AskOptions): Promise<Said> {
    await check?.();
    if (signal?.aborted === true) return sayAll([message, abortMessage(runId, parts)], { shared });
    const said = await sayAll([message], { shared });
    if (signal !== undefined) signals.watch(runId, signal);
    return said;
  }

  const ask: Live["ask"] = (runId, message, options) => using(() => inTurn(() => askNow(runId, message, options)));

  const run: Live["run"] = (runId, message, options) =>
    using(() =>
      results.waitFor({ runId }, async (result) => {
        const said = await ask(runId, message, options);
        const told = said === "said" ? await result : undefined;
        return told ?? results.known(runId, options.subscription);
      }),
    ).finally(() => {
      signals.forget(runId);
      leaveIfIdle();
    });

  /** Takes what is in the inbox, gives those who wait what there is, and an idle session back; again, where it had just gone. */
  async function settleHere(): Promise<void> {
    while ((await open()) === "driving") if ((await driven?.driver.wake()) || lastClosing?.type !== "parked") return;
  }

  const resume: Live["resume"] = (after) =>
    using(() =>
      results.waitFor({ after }, async (result) => {
        if ((await open()) === "driving") await driven?.driver.dispatch(startQueued);
        return (await result) ?? noSession(sessionId);
      }),
    );

  const isFollowed = () => waiters.count() > 0 || audience.stays();

  function follow(): void {
    if (drained) return;
    following ??= followLog({
      sessionId,
      store,
      clock,
      after: audience.toldUpTo(),
      onEvents: audience.tellFollowed,
      onWaiting: waiters.settle,
      isWanted: isFollowed,
      async takeOver() {
        if (waiters.count() > 0) await settleHere();
        return driven !== null;
      },
      onEnd(error) {
        following = null;
        if (error !== undefined) audience.giveUp(error);
        leaveIfIdle();
      },
    });
  }

  return {
    sessionId,
    say,
    ask,
    run,
    resume,
    takeUp: () => using(settleHere),
    settle: waiters.settle,
    subscribe(options = {}) {
      const subscription = audience.subscribe(options);
      if (options.stayAfter !== undefined && driven === null) follow();
      return subscription;
    },
    onStep: audience.onStep,
    async drain(graceMs) {
      drained = true;
      await opening?.catch(() => {});
      await driven?.driver.drain(graceMs);
      following?.();
      audience.dismiss();
    },
  };
}

const notDriven: Driver["dispatch"] = async () => false;
