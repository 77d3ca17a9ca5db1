/**
 * The handlers of the object.
 *
 * 1. `drive` is exclusive: Restate runs one at a time for a session. All others are shared, and do not wait for a run.
 * 2. A handler that posts something has the session driven afterwards, even if its process dies in between: Restate repeats a
 *    handler that has no result yet. A repeated request counts once, because its message has the same id.
 * 3. At most one later invocation of `drive` is pending for the session's next time, however often the session is driven before.
 */
import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { AbortOptions, Client, ClientRequest } from "../index.js";
import { type DriveDeps, driveFamily } from "./drive.js";
import {
  type AnswerRequest,
  checkRequest,
  type ObjectStatus,
  parseWake,
  type ResultRequest,
  type SendRequest,
  type Wake,
} from "./requests.js";
import type { RestateSdk } from "./sdk.js";

/** Other services of Restate call them with `context.objectClient<PawlHandlers>({ name: "Pawl" }, sessionId)`. */
export type PawlHandlers = {
  /**
   * Continues the session, and the sessions below and above it, until nothing is left to do now. If one of them waits for a
   * time, `drive` is called again then. Call it without a body if something was posted to the store in another way.
   */
  readonly drive: (context: ObjectContext, wake?: Wake) => Promise<void>;
  /** Like `send` of a client. It begins a session if the option `agent` names the agent. */
  readonly send: (
    context: ObjectSharedContext,
    request: SendRequest,
  ) => Promise<{ readonly runId: string; readonly isNew: boolean }>;
  /** Like `answer` of a session, also for calls of sessions below it. */
  readonly answer: (context: ObjectSharedContext, request: AnswerRequest) => Promise<"first" | "second">;
  /** Like `provideResult` of a session. */
  readonly provideResult: (context: ObjectSharedContext, request: ResultRequest) => Promise<"first" | "second">;
  /** Like `abort` of a session. */
  readonly abort: (context: ObjectSharedContext, request?: AbortOptions) => Promise<"asked" | "nothing">;
  /** The session as the store has it now. */
  readonly status: (context: ObjectSharedContext) => Promise<ObjectStatus>;
};

type HandlerDeps = DriveDeps & {
  readonly client: Client;
  /** Refuses options that callers may not set. @throws PawlError `bad_input` */
  readonly checkClient: (request: ClientRequest) => void;
};

export function createHandlers(sdk: RestateSdk, name: string, deps: HandlerDeps): PawlHandlers {
  const { client, checkClient } = deps;
  const { shared } = sdk.handlers.object;
  const createDriveClient = (context: ObjectSharedContext) =>
    context.objectSendClient<PawlHandlers>({ name }, context.key);

  /** Not journaled: a message counts once, so a repetition is harmless, and Restate has one write less. */
  async function postAndDrive<Result>(context: ObjectSharedContext, post: () => Promise<Result>): Promise<Result> {
    const result = await post();
    createDriveClient(context).drive();
    return result;
  }

  async function drive(context: ObjectContext, rawWake?: Wake): Promise<void> {
    const wake = parseWake(rawWake);
    const { attemptCompletedSignal: signal } = context.request();
    const next = await context.run("drive", () => driveOnce(context.key, deps, signal, wake?.tries ?? 0));
    const pendingAt = await context.get<number>(wakeKey);
    if (next === null) {
      if (pendingAt !== null) context.clear(wakeKey);
      return;
    }
    // The invocation that was pending for this time is this one.
    const otherPendingAt = wake?.at === pendingAt ? null : pendingAt;
    const { now, at, tries } = next;
    if (otherPendingAt !== null && otherPendingAt > now && otherPendingAt <= at) return;
    context.set(wakeKey, at);
    createDriveClient(context).drive({ at, tries }, sdk.rpc.sendOpts<Wake | undefined>({ delay: at - now }));
  }

  return {
    drive,
    send: shared(async (context: ObjectSharedContext, request: SendRequest) => {
      // The same in each attempt, so that all attempts begin the same run.
      const generatedRunId = context.rand.uuidv4();
      return postAndDrive(context, async () => {
        const { input, options = {} } = checkRequest("send", request);
        checkClient({ input, options });
        return client.session(context.key).send(input, { ...options, runId: options.runId ?? generatedRunId });
      });
    }),
    answer: shared(async (context: ObjectSharedContext, request: AnswerRequest) =>
      postAndDrive(context, async () => {
        const { callKey, decision, options } = checkRequest("answer", request);
        return client.session(context.key).answer(callKey, decision, options);
      }),
    ),
    provideResult: shared(async (context: ObjectSharedContext, request: ResultRequest) =>
      postAndDrive(context, async () => {
        const { callKey, output, options } = checkRequest("provideResult", request);
        return client.session(context.key).provideResult(callKey, output, options);
      }),
    ),
    abort: shared(async (context: ObjectSharedContext, request?: AbortOptions) =>
      postAndDrive(context, async () => client.session(context.key).abort(request)),
    ),
    status: shared(async (context: ObjectSharedContext) => {
      const session = client.session(context.key);
      const { status } = await session.state();
      return { status, result: await session.result(), approvals: await session.pendingApprovals() };
    }),
  };
}

/** The key of the object's state that holds the time of the pending invocation. */
const wakeKey = "wake";

type NextWake = Wake & { readonly now: number };

const firstRetryMs = 1_000;
const maxRetryMs = 30_000;

/** Drives the session, and returns when to drive it again; null if nothing is left that waits for a time. */
async function driveOnce(
  sessionId: string,
  deps: DriveDeps,
  signal: AbortSignal,
  tries: number,
): Promise<NextWake | null> {
  const { dueAt } = await driveFamily(sessionId, deps, signal);
  const now = Date.now();
  if (dueAt === null) return null;
  if (dueAt > now) return { now, at: dueAt, tries: 0 };
  // Another process holds the session. If it died on another machine, its lease ends in a while.
  const delayMs = Math.min(maxRetryMs, firstRetryMs * 2 ** tries);
  return { now, at: now + delayMs, tries: tries + 1 };
}
