/**
 * Runs: sending input, steering, aborting, reading results, and answering waiting calls.
 */

import type { AnswerOptions, ApprovalDecision, ClientSession, SendOptions } from "../../index.js";
import { responseContents } from "../response-schemas.js";
import type { Route, RouteRequest } from "../route.js";
import { authorizeSession, chooseParams, isAllowed, redactSecrets, type ServerContext } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { anyJson, boolean, integer, object, oneOf, string } from "../shape.js";
import { parseRunOptions, runOptionsShape, withClientErrors } from "./run-options.js";

const modes = Object.keys({
  queue: true,
  steer: true,
  interrupt: true,
  reject: true,
} satisfies Record<NonNullable<SendOptions["mode"]>, true>);

export const runRoutes: readonly Route[] = [
  {
    method: "POST",
    path: "/v1/sessions/:id/runs",
    action: "run",
    scope: "run",
    ofSession: true,
    summary: "Sends input. The header `Idempotency-Key` becomes the run id, so repeated requests start only one run.",
    body: object(
      {
        input: anyJson("A string, parts, or user messages."),
        mode: oneOf("How the input is handled while a run is active. Default: queue.", ...modes),
        options: runOptionsShape,
      },
      ["input"],
    ),
    responses: { 202: "{ runId, isNew, seq }: stream from `seq`" },
    content: { 202: responseContents.sent },
    handle: sendInput,
  },
  {
    method: "GET",
    path: "/v1/sessions/:id/runs/:runId",
    action: "read",
    scope: "read",
    ofSession: true,
    summary: "The result of a run, or what it waits for.",
    query: object({ wait: integer("The maximum number of seconds to wait for the result.", 0, 60) }),
    responses: { 200: "the result of the run", 202: "{ runId }: the run continues" },
    content: { 200: responseContents.result, 202: responseContents.underWay },
    handle: readResult,
  },
  {
    method: "POST",
    path: "/v1/sessions/:id/steer",
    action: "steer",
    scope: "run",
    ofSession: true,
    summary: "Adds input before the next model call.",
    body: object(
      {
        input: anyJson("A string, parts, or user messages."),
        skip: oneOf("Skips the calls that have not started.", "unstarted"),
      },
      ["input"],
    ),
    responses: { 204: "accepted" },
    async handle({ principal, params, body }, context) {
      const { session } = await authorizeSession(context, principal, "steer", params.id ?? "");
      parseRunOptions({ input: body.input }, context.settings);
      const { input, skip } = body as { readonly input: string; readonly skip?: "unstarted" };
      await session.steer(input, { by: principal.id, ...(skip === undefined ? {} : { skip }) });
      return { status: 204, bytes: null };
    },
  },
  {
    method: "POST",
    path: "/v1/sessions/:id/abort",
    action: "abort",
    scope: "run",
    ofSession: true,
    summary: "Aborts the active run, or the named run, which may still be queued.",
    body: object({ runId: string("The id of the run.", 200), note: string("The reason.", 10_000) }),
    responses: { 200: "{ outcome }: `asked`, or `nothing` if there is no such run or it has ended" },
    content: { 200: responseContents.outcome },
    async handle({ principal, params, body }, context) {
      const { session } = await authorizeSession(context, principal, "abort", params.id ?? "");
      const outcome = await session.abort({ ...(body as { readonly note?: string }), by: principal.id });
      return { status: 200, json: { outcome } };
    },
  },
  {
    method: "POST",
    path: "/v1/sessions/:id/answers",
    action: "answer",
    scope: "approve",
    ofSession: true,
    summary: "Answers a waiting call. The answer is bound to the input that was shown, or to a question of the tool.",
    body: object(
      {
        callKey: string("The key of the call."),
        decision: anyJson(
          '{ type: "approve" | "deny" | "modify" | "abort" | "rerun" | "result" | "fail" | "reply" | "decline", … }',
        ),
        inputHash: string("The hash of the input that was shown.", 128),
        questionId: string("The id of the tool's question.", 500),
      },
      ["callKey", "decision"],
    ),
    responses: { 200: "{ counted, answer }: `first`, or `second` and the answer that counts" },
    content: { 200: responseContents.answered },
    handle: answerCall,
  },
  {
    method: "POST",
    path: "/v1/sessions/:id/results",
    action: "result",
    scope: "run",
    ofSession: true,
    summary: "Provides the result of a call that runs outside of Pawl.",
    body: object(
      {
        callKey: string("The key of the call."),
        output: anyJson("The output."),
        isError: boolean("Whether it failed."),
      },
      ["callKey", "output"],
    ),
    responses: { 200: "{ counted }: `first` or `second`" },
    content: { 200: responseContents.counted },
    async handle({ principal, params, body }, context) {
      const { session } = await authorizeSession(context, principal, "result", params.id ?? "");
      const { callKey, output, isError } = body as {
        readonly callKey: string;
        readonly output: unknown;
        readonly isError?: boolean;
      };
      const counted = await session.provideResult(callKey, output, isError === undefined ? {} : { isError });
      return { status: 200, json: { counted } };
    },
  },
];

async function sendInput({ request, principal, params, body }: RouteRequest, context: ServerContext) {
  const options = parseRunOptions(body, context.settings);
  const { session, summary, requested } = await authorizeSession(context, principal, "run", params.id ?? "", {
    options,
  });
  const { input, mode } = body as { readonly input: string; readonly mode?: NonNullable<SendOptions["mode"]> };
  const extraAction = mode === "steer" ? "steer" : mode === "interrupt" ? "abort" : null;
  if (extraAction !== null && !(await isAllowed(context, principal, extraAction, requested, { options })))
    throw new ServerError(
      "forbidden",
      `You are not allowed to perform the action ${extraAction} in session ${requested.id}.`,
    );
  const key = request.headers.get("idempotency-key");
  // A steer joins a run that already has its params.
  const runParams = mode === "steer" ? {} : await chooseParams(context, { principal, request }, requested.info?.agent);
  const sent = await withClientErrors(
    session.send(input, {
      ...options,
      ...runParams,
      by: principal.id,
      ...context.settings.traceOf(request),
      ...(mode === undefined ? {} : { mode }),
      ...(key === null ? {} : { runId: key }),
    }),
  );
  return { status: 202, json: { ...sent, seq: summary.seq } } as const;
}

async function readResult({ request, principal, params, query }: RouteRequest, context: ServerContext) {
  const { session } = await authorizeSession(context, principal, "read", params.id ?? "");
  const runId = params.runId ?? "";
  const seconds = (query.wait as number | undefined) ?? 0;
  let runResult = await session.result(runId);
  if (runResult === null && seconds > 0) {
    const releaseSlot = context.usage.acquireWait(principal.id);
    const call = context.openCalls.begin();
    try {
      const signal = AbortSignal.any([request.signal, AbortSignal.timeout(seconds * 1_000), call.drainSignal]);
      await awaitResult(session, runId, signal);
      runResult = await session.result(runId);
    } finally {
      releaseSlot();
      call.finish();
    }
  }
  // A draining server responds at once: another process handles the next request.
  const headers: Record<string, string> = context.isDraining() ? { "retry-after": "1" } : {};
  if (runResult === null) return { status: 202, json: { runId }, headers } as const;
  return { status: 200, json: redactSecrets(context, runResult) } as const;
}

/** Waits until the run ends or waits for an answer. `suspended` is not the end of a run, so it is handled here. */
async function awaitResult(session: ClientSession, runId: string, signal: AbortSignal): Promise<void> {
  const { seq } = await session.state();
  for await (const item of session.events({ after: seq, runId, until: "run", live: false, signal }))
    if (item.type === "suspended") return;
}

async function answerCall({ principal, params, body }: RouteRequest, context: ServerContext) {
  const { session } = await authorizeSession(context, principal, "answer", params.id ?? "");
  const { callKey, decision, ...answerOptions } = body as {
    readonly callKey: string;
    readonly decision: ApprovalDecision;
  } & AnswerOptions;
  if (answerOptions.inputHash === undefined && answerOptions.questionId === undefined)
    throw new ServerError(
      "bad_input",
      "The body is missing the field inputHash, the hash of the input that was shown. For a question of a tool, send its questionId instead.",
    );
  if (!isDecision(decision))
    throw new ServerError("bad_input", "The body: decision must be an object with a valid type.");
  const counted = await session.answer(callKey, decision, { ...answerOptions, by: principal.id });
  const recordedAnswer = await session.answerTo(callKey, answerOptions.questionId);
  return { status: 200, json: { counted, answer: redactSecrets(context, recordedAnswer) } } as const;
}

const decisionTypes: ReadonlySet<unknown> = new Set(
  Object.keys({
    approve: true,
    deny: true,
    modify: true,
    abort: true,
    rerun: true,
    result: true,
    fail: true,
    reply: true,
    decline: true,
  } satisfies Record<ApprovalDecision["type"], true>),
);

function isDecision(decision: unknown): boolean {
  return typeof decision === "object" && decision !== null && "type" in decision && decisionTypes.has(decision.type);
}
