/**
 * The handlers of the Restate object.
 *
 * 1. `drive` is exclusive: Restate runs one at a time for a session. All others are shared, and do not wait for a run.
 * 2. A handler that posts something starts a drive of the session afterwards, even if its process dies in between: Restate retries
 *    a handler that has no result yet. A repeated request counts once, because its message has the same id.
 * 3. At most one delayed invocation of `drive` is pending for a session, however often the session is driven before it.
 */
import type { ObjectContext, ObjectSharedContext } from "@restatedev/restate-sdk";
import type { Client, ClientSession, createClientCheck } from "../index.js";
import { type DriveDeps, driveFamily } from "./drive.js";
import {
  type AnswerRequest,
  checkRequest,
  type ObjectStatus,
  parseWake,
  type ResultRequest,
  type SendRequest,
  type WakeRequest,
} from "./requests.js";
import type { RestateSdk } from "./sdk.js";

/** Other services of Restate call them with `context.objectClient<PawlHandlers>({ name: "Pawl" }, sessionId)`. */
export type PawlHandlers = {
  /**
   * Continues the session, and the sessions below and above it, until nothing is left to do now. If one of them waits for a time,
   * `drive` is called again at that time. If you post to the store in another way, call `drive` without a body.
   */
  readonly drive: (context: ObjectContext, wake?: WakeRequest) => Promise<void>;
  /** Like a client's `send`. It starts a session if the option `agent` names its agent. */
  readonly send: (
    context: ObjectSharedContext,
    request: SendRequest,
  ) => Promise<{ readonly runId: string; readonly isNew: boolean }>;
  /** Like a session's `answer`. It also accepts calls of the sessions below. */
  readonly answer: (context: ObjectSharedContext, request: AnswerRequest) => Promise<"first" | "second">;
  /** Like a session's `provideResult`. */
  readonly provideResult: (context: ObjectSharedContext, request: ResultRequest) => Promise<"first" | "second">;
  /** Like a session's `abort`. */
  readonly abort: (
    context: ObjectSharedContext,
    request?: Parameters<ClientSession["abort"]>[0],
  ) => Promise<"asked" | "nothing">;
  /** The session as the store has it now. */
  readonly status: (context: ObjectSharedContext) => Promise<ObjectStatus>;
};

type HandlerDeps = DriveDeps & {
  readonly client: Client;
  /** Rejects options that callers may not set. @throws PawlError `bad_input` */
  readonly checkClient: ReturnType<typeof createClientCheck>;
};

export function createHandlers(sdk: RestateSdk, name: string, deps: HandlerDeps): PawlHandlers {
  const { client, checkClient } = deps;
  const { shared } = sdk.handlers.object;
  const createDriveClient = (context: ObjectSharedContext) =>
    context.objectSendClient<PawlHandlers>({ name }, context.key);

  /** Not journaled: a message counts once, so repeating this is harmless, and it saves Restate a write. */
  async function postAndDrive<Result>(context: ObjectSharedContext, post: () => Promise<Result>): Promise<Result> {
    const result = await post();
    createDriveClient(context).drive();
    return result;
  }

  async function drive(context: ObjectContext, rawWake?: WakeRequest): Promise<void> {
    const wake = parseWake(rawWake);
    const { attemptCompletedSignal: signal } = context.request();
    const next = await context.run("drive", () => driveOnce(context.key, deps, signal, wake?.tries ?? 0));
    const pendingAt = await context.get<number>(wakeKey);
    if (next === null) {
      if (pendingAt !== null) context.clear(wakeKey);
      return;
    }
    // If this invocation is the pending one, nothing else is pending.
    const otherPendingAt = wake?.at === pendingAt ? null : pendingAt;
    const { now, at, tries } = next;
    if (otherPendingAt !== null && otherPendingAt > now && otherPendingAt <= at) return;
    context.set(wakeKey, at);
    createDriveClient(context).drive({ at, tries }, sdk.rpc.sendOpts<WakeRequest | undefined>({ delay: at - now }));
  }

  return {
    drive,
    send: shared(async (context: ObjectSharedContext, request: SendRequest) => {
      // Deterministic: every attempt generates the same id, and so starts the same run.
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
    abort: shared(async (context: ObjectSharedContext, request?: Parameters<ClientSession["abort"]>[0]) =>
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

type NextWake = WakeRequest & { readonly now: number };

const firstRetryMs = 1_000;
const maxRetryMs = 30_000;

/** Drives the session, and returns when to drive it again; null if no session waits for a time. */
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
  // Another process holds the session. If it died on another machine, its lease will expire.
  const delayMs = Math.min(maxRetryMs, firstRetryMs * 2 ** tries);
  return { now, at: now + delayMs, tries: tries + 1 };
}
