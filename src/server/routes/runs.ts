/**
 * Runs: sending input, steering, aborting, results, and what is answered to calls that wait.
 */

import type { AnswerOptions, ApprovalDecision, ClientSession, SendOptions } from "../../index.js";
import { answers } from "../answer-shapes.js";
import type { Asked, Route } from "../route.js";
import { isAllowed, type ServerContext, sessionFor, shown } from "../server-context.js";
import { ServerError } from "../server-error.js";
import { flag, json, objectOf, oneOf, text, whole } from "../shape.js";
import { byClient, runOptions, runOptionsIn } from "./run-options.js";

export const runRoutes: readonly Route[] = [
  {
    method: "POST",
    path: "/v1/sessions/:id/runs",
    action: "run",
    scope: "run",
    ofSession: true,
    about: "Sends input. The header `Idempotency-Key` is the id of the run: a repeated request is one run.",
    body: objectOf(
      {
        input: json("A text, parts, or user messages."),
        mode: oneOf("What happens while a run is under way. Default: queue.", "queue", "steer", "interrupt", "reject"),
        options: runOptions,
      },
      ["input"],
    ),
    gives: { 202: "{ runId, isNew, seq }: stream from `seq`" },
    answers: { 202: answers.sent },
    handle: send,
  },
  {
    method: "GET",
    path: "/v1/sessions/:id/runs/:runId",
    action: "read",
    scope: "read",
    ofSession: true,
    about: "The result of a run, or what it waits for.",
    query: objectOf({ wait: whole("Waits up to so many seconds for the result.", 0, 60) }),
    gives: { 200: "the result of the run", 202: "{ runId }: the run goes on" },
    answers: { 200: answers.result, 202: answers.underWay },
    handle: result,
  },
  {
    method: "POST",
    path: "/v1/sessions/:id/steer",
    action: "steer",
    scope: "run",
    ofSession: true,
    about: "Adds input before the next model call.",
    body: objectOf(
      {
        input: json("A text, parts, or user messages."),
        skip: oneOf("Skips the calls that have not started.", "unstarted"),
      },
      ["input"],
    ),
    gives: { 204: "taken" },
    async handle({ principal, params, body }, context) {
      const { session } = await sessionFor(context, principal, "steer", params.id ?? "");
      runOptionsIn({ input: body.input }, context.settings);
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
    about: "Aborts the run under way, or the named run, which may still be queued.",
    body: objectOf({ runId: text("The run.", 200), note: text("Why.", 10_000) }),
    gives: { 200: "{ outcome }: `asked`, or `nothing` if there is no such run or it has ended" },
    answers: { 200: answers.outcome },
    async handle({ principal, params, body }, context) {
      const { session } = await sessionFor(context, principal, "abort", params.id ?? "");
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
    about: "Answers a call that waits. It is bound to the input that was shown, or to a question of the tool.",
    body: objectOf(
      {
        callKey: text("The call."),
        decision: json(
          '{ type: "approve" | "deny" | "modify" | "abort" | "rerun" | "result" | "fail" | "reply" | "decline", … }',
        ),
        inputHash: text("The hash of the input that was shown.", 128),
        questionId: text("The question of the tool.", 500),
      },
      ["callKey", "decision"],
    ),
    gives: { 200: "{ counted, answer }: `first`, or `second` and the answer that counts" },
    answers: { 200: answers.answered },
    handle: answer,
  },
  {
    method: "POST",
    path: "/v1/sessions/:id/results",
    action: "result",
    scope: "run",
    ofSession: true,
    about: "Gives the result of a call that runs outside of Pawl.",
    body: objectOf({ callKey: text("The call."), output: json("What it gave."), isError: flag("Whether it failed.") }, [
      "callKey",
      "output",
    ]),
    gives: { 200: "{ counted }: `first` or `second`" },
    answers: { 200: answers.counted },
    async handle({ principal, params, body }, context) {
      const { session } = await sessionFor(context, principal, "result", params.id ?? "");
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

async function send({ request, principal, params, body }: Asked, context: ServerContext) {
  const options = runOptionsIn(body, context.settings);
  const { session, summary, asked } = await sessionFor(context, principal, "run", params.id ?? "", { options });
  const { input, mode } = body as { readonly input: string; readonly mode?: NonNullable<SendOptions["mode"]> };
  const also = mode === "steer" ? "steer" : mode === "interrupt" ? "abort" : null;
  if (also !== null && !(await isAllowed(context, principal, also, asked, { options })))
    throw new ServerError("forbidden", `You may not do this in session ${asked.id} (${also}).`);
  const key = request.headers.get("idempotency-key");
  const sent = await byClient(
    session.send(input, {
      ...options,
      by: principal.id,
      ...context.settings.traceOf(request),
      ...(mode === undefined ? {} : { mode }),
      ...(key === null ? {} : { runId: key }),
    }),
  );
  return { status: 202, json: { ...sent, seq: summary.seq } } as const;
}

async function result({ request, principal, params, query }: Asked, context: ServerContext) {
  const { session } = await sessionFor(context, principal, "read", params.id ?? "");
  const runId = params.runId ?? "";
  const seconds = (query.wait as number | undefined) ?? 0;
  let found = await session.result(runId);
  if (found === null && seconds > 0) {
    const giveBack = context.usage.takeWait(principal.id);
    const call = context.calls.begin();
    try {
      const signal = AbortSignal.any([request.signal, AbortSignal.timeout(seconds * 1_000), call.leaving]);
      await untilResult(session, runId, signal);
      found = await session.result(runId);
    } finally {
      giveBack();
      call.done();
    }
  }
  // A server that drains answers at once: another process takes the next request.
  const headers: Record<string, string> = context.isDraining() ? { "retry-after": "1" } : {};
  if (found === null) return { status: 202, json: { runId }, headers } as const;
  return { status: 200, json: shown(context, found) } as const;
}

/** Waits for the end of a run, or until it waits for somebody: `suspended` comes without an end of the run. */
async function untilResult(session: ClientSession, runId: string, signal: AbortSignal): Promise<void> {
  const { seq } = await session.state();
  for await (const item of session.events({ after: seq, runId, until: "run", live: false, signal }))
    if (item.type === "suspended") return;
}

async function answer({ principal, params, body }: Asked, context: ServerContext) {
  const { session } = await sessionFor(context, principal, "answer", params.id ?? "");
  const { callKey, decision, ...shownWith } = body as {
    readonly callKey: string;
    readonly decision: ApprovalDecision;
  } & AnswerOptions;
  if (shownWith.inputHash === undefined && shownWith.questionId === undefined)
    throw new ServerError(
      "bad_input",
      "The body lacks inputHash: the hash of the input that was shown. A question of a tool has a questionId instead.",
    );
  if (!isDecision(decision)) throw new ServerError("bad_input", "The body: decision must be an object with a type.");
  const counted = await session.answer(callKey, decision, { ...shownWith, by: principal.id });
  const given = await session.answerTo(callKey, shownWith.questionId);
  return { status: 200, json: { counted, answer: shown(context, given) } } as const;
}

const decisionTypes: ReadonlySet<unknown> = new Set([
  ...["approve", "deny", "modify", "abort", "rerun", "result", "fail", "reply", "decline"],
]);

function isDecision(decision: unknown): boolean {
  return typeof decision === "object" && decision !== null && "type" in decision && decisionTypes.has(decision.type);
}
