/**
 * The handlers of the object.
 *
 * 1. `drive` is exclusive: Restate runs one at a time for a session. All others are shared, and wait for no run.
 * 2. What posts something has the session driven afterwards, also if its process dies in between: Restate repeats what has no
 *    result yet. A repeated request counts once, because its message has the same id.
 * 3. At most one later invocation of `drive` is pending for the session's next time, however often the session is driven before.
 */
import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { AbortOptions, Client, ClientRequest } from "../index.js";
import { type DrivePlace, driveFamily } from "./drive.js";
import {
  type AnswerRequest,
  checkRequest,
  type ObjectStatus,
  type ResultRequest,
  type SendRequest,
  type Wake,
  wakeIn,
} from "./requests.js";
import type { RestateSdk } from "./sdk.js";

/** Other services of Restate call them with `context.objectClient<PawlHandlers>({ name: "Pawl" }, sessionId)`. */
export type PawlHandlers = {
  /**
   * Carries the session on, and the sessions below and above it, until nothing is left to do now. If one of them waits for a
   * time, it is called again then. Call it without a body if something was posted to the store in another way.
   */
  readonly drive: (context: ObjectContext, wake?: Wake) => Promise<void>;
  /** As `send` of a client. It begins a session if the option `agent` names the agent. */
  readonly send: (
    context: ObjectSharedContext,
    request: SendRequest,
  ) => Promise<{ readonly runId: string; readonly isNew: boolean }>;
  /** As `answer` of a session: also for calls of sessions below. */
  readonly answer: (context: ObjectSharedContext, request: AnswerRequest) => Promise<"first" | "second">;
  /** As `provideResult` of a session. */
  readonly provideResult: (context: ObjectSharedContext, request: ResultRequest) => Promise<"first" | "second">;
  /** As `abort` of a session. */
  readonly abort: (context: ObjectSharedContext, request?: AbortOptions) => Promise<"asked" | "nothing">;
  /** What the store says of the session now. */
  readonly status: (context: ObjectSharedContext) => Promise<ObjectStatus>;
};

type Place = DrivePlace & {
  readonly client: Client;
  /** Refuses what callers may not decide. @throws PawlError `bad_input` */
  readonly checkClient: (request: ClientRequest) => void;
};

export function createHandlers(sdk: RestateSdk, name: string, place: Place): PawlHandlers {
  const { client, checkClient } = place;
  const { shared } = sdk.handlers.object;
  const driver = (context: ObjectSharedContext) => context.objectSendClient<PawlHandlers>({ name }, context.key);

  /** Not journaled: a message counts once, so a repetition does no harm, and Restate has one write less. */
  async function posted<Result>(context: ObjectSharedContext, post: () => Promise<Result>): Promise<Result> {
    const result = await post();
    driver(context).drive();
    return result;
  }

  async function drive(context: ObjectContext, given?: Wake): Promise<void> {
    const wake = wakeIn(given);
    const { attemptCompletedSignal: signal } = context.request();
    const next = await context.run("drive", () => driveOnce(context.key, place, signal, wake?.tries ?? 0));
    const sent = await context.get<number>(wakeKey);
    if (next === null) {
      if (sent !== null) context.clear(wakeKey);
      return;
    }
    // The one that was sent for this time has come: it is this one.
    const pending = wake?.at === sent ? null : sent;
    const { now, at, tries } = next;
    if (pending !== null && pending > now && pending <= at) return;
    context.set(wakeKey, at);
    driver(context).drive({ at, tries }, sdk.rpc.sendOpts<Wake | undefined>({ delay: at - now }));
  }

  return {
    drive,
    send: shared(async (context: ObjectSharedContext, request: SendRequest) => {
      // It is the same in each attempt, so that they all begin one run.
      const made = context.rand.uuidv4();
      return posted(context, async () => {
        const { input, options = {} } = checkRequest("send", request);
        checkClient({ input, options });
        return client.session(context.key).send(input, { ...options, runId: options.runId ?? made });
      });
    }),
    answer: shared(async (context: ObjectSharedContext, request: AnswerRequest) =>
      posted(context, async () => {
        const { callKey, decision, options } = checkRequest("answer", request);
        return client.session(context.key).answer(callKey, decision, options);
      }),
    ),
    provideResult: shared(async (context: ObjectSharedContext, request: ResultRequest) =>
      posted(context, async () => {
        const { callKey, output, options } = checkRequest("provideResult", request);
        return client.session(context.key).provideResult(callKey, output, options);
      }),
    ),
    abort: shared(async (context: ObjectSharedContext, request?: AbortOptions) =>
      posted(context, async () => client.session(context.key).abort(request)),
    ),
    status: shared(async (context: ObjectSharedContext) => {
      const session = client.session(context.key);
      const { status } = await session.state();
      return { status, result: await session.result(), approvals: await session.pendingApprovals() };
    }),
  };
}

/** The key of the object's state under which the time stands that a later invocation is pending for. */
const wakeKey = "wake";

type Next = Wake & { readonly now: number };

const firstRetryMs = 1_000;
const longestRetryMs = 30_000;

/** Drives the session, and says when that is to be done again; null if nothing is left that waits for a time. */
async function driveOnce(
  sessionId: string,
  place: DrivePlace,
  signal: AbortSignal,
  tries: number,
): Promise<Next | null> {
  const { dueAt } = await driveFamily(sessionId, place, signal);
  const now = Date.now();
  if (dueAt === null) return null;
  if (dueAt > now) return { now, at: dueAt, tries: 0 };
  // Somebody else holds the session. If that is a process that died on another machine, its lease ends in a while.
  const inMs = Math.min(longestRetryMs, firstRetryMs * 2 ** tries);
  return { now, at: now + inMs, tries: tries + 1 };
}
