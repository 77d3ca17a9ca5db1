/**
 * Posts decisions of people and other programs to a session: answers and results for its waiting calls, and aborts. None of this needs a
 * driver, so sessions and clients share this code.
 *
 * If two processes answer the same call, the first answer counts, because the store accepts a message id once.
 */

import { isStorable } from "../../context/tool-output.js";
import { defined } from "../../core/data/defined.js";
import { deepFreeze } from "../../core/data/freeze.js";
import { findChildSessions } from "../../core/machine/child-reports.js";
import type { Answer } from "../../core/machine/event.js";
import type { InboxBody } from "../../core/machine/inbox.js";
import { type Call, hasCalls, type State } from "../../core/machine/state.js";
import type { PendingApproval } from "../../core/view/outcome.js";
import { PawlError } from "../../errors.js";
import type { JsonSchema } from "../../ports/model.js";
import type { AbortMethod, AbortOptions, AnswerOptions, Answers, ApprovalDecision } from "../agent/answer-types.js";
import type { CompiledAgent } from "../agent/compiled-agent.js";
import { checkRunId } from "../agent/run-input.js";
import { hashInput } from "../lib/hash.js";
import { isInFamily } from "../log/find-in-family.js";
import { listOpenQuestions, listOwnQuestions } from "../log/open-questions.js";
import { findOpenRunId } from "../log/open-runs.js";
import { toToolOutput } from "../tools/to-json.js";
import { capOutput } from "../work/cap-output.js";
import {
  checkDecision,
  checkEdit,
  checkEditedInput,
  checkNoteAndBy,
  checkReply,
  checkRequestId,
} from "./check-answer.js";
import { checkCall } from "./check-call-options.js";
import { loadSessionTools } from "./session-tools.js";

/** `known`: the state for which the message was created. */
type Post = (messageId: string, body: InboxBody, known: State) => Promise<"delivered" | "duplicate">;

type AnswerMethods = Answers & { readonly abort: AbortMethod };

type AnsweringAgent = Pick<CompiledAgent, "services" | "tools" | "clock">;

/**
 * @param load returns the state of the session; throws `no_session` if the session does not exist
 * @param childSession returns a child session for answers; undefined if the tool that started it no longer exists
 */
export function createAnswerMethods(
  id: string,
  agent: Pick<CompiledAgent, "store" | "clock" | "makeId"> & {
    /** The known members of the agent that drives the session. */
    readonly partsAt: (state: State) => AnsweringAgent;
  },
  load: () => Promise<State>,
  post: Post,
  childSession: (toolName: string, childId: string, state: State) => Answers | undefined,
): AnswerMethods {
  const { store, clock, makeId, partsAt } = agent;

  async function answer(
    callKey: string,
    decision: ApprovalDecision,
    options: AnswerOptions = {},
  ): Promise<"first" | "second"> {
    checkCall.answer(options);
    const state = await load();
    const call = findCall(state, callKey);
    if (call === undefined) return answerElsewhere(callKey, state, (child) => child.answer(callKey, decision, options));
    const { by, questionId, requestId } = options;
    const asked = findQuestion(call);
    if (asked === undefined) return "second";
    if (asked.why !== "tool" && questionId !== undefined) return "second";
    checkDecision(asked, decision);
    checkNoteAndBy({ by });
    checkRequestId(requestId);
    if (decision.type === "reply" || decision.type === "decline")
      return (await answerTool(state, call, decision, options)) === "delivered" ? "first" : "second";
    // If the tool asks, the input of its call has already been approved.
    const { inputHash = call.inputHash } = options;
    checkInputHash(asked, inputHash);
    if (asked.expiresAt !== undefined && clock.now() >= asked.expiresAt) return "second";
    const who = defined({ by, requestId });
    if (decision.type === "abort") {
      await abort(defined({ note: decision.note, by }));
      return "first";
    }
    const hash = inputHash === undefined ? {} : { inputHash };
    const answered = toAnswer(asked, decision);
    if (answered.type === "modify") await checkEdit(call, answered.input, (name) => findSchema(name, state));
    const given = await capResult(answered, call.name, state);
    const body: InboxBody = { type: "answer", callKey, answer: given, ...who, ...hash };
    const delivery = await post(`answer/${callKey}/${asked.why}/${asked.attempt}/${asked.inputSeq}`, body, state);
    return delivery === "delivered" ? "first" : "second";
  }

  async function answerTool(
    state: State,
    call: Call,
    decision: Extract<ApprovalDecision, { type: "reply" | "decline" }>,
    { by, questionId, requestId }: AnswerOptions,
  ): Promise<"delivered" | "duplicate"> {
    const { callKey } = call;
    const all = (await listOwnQuestions(store, id, state, true)).filter((one) => one.callKey === callKey);
    const asked = questionId === undefined ? all[0] : all.find((one) => one.questionId === questionId);
    if (questionId === undefined && all.length > 1) throw severalQuestionsError(callKey, all);
    const isOver = asked?.expiresAt !== undefined && clock.now() >= asked.expiresAt;
    if (asked?.questionId === undefined || isOver) return "duplicate";
    const answer: Answer =
      decision.type === "reply"
        ? { type: "reply", value: await checkReply(callKey, decision.value, asked) }
        : { type: "decline", ...(decision.note === undefined ? {} : { note: decision.note }) };
    const who = defined({ by, requestId });
    const body: InboxBody = { type: "answer", callKey, answer, ...who, questionId: asked.questionId };
    // A running tool asks its question again in its next attempt. Other questions are asked once.
    const attempt = call.status === "running" ? `/${call.attempt}` : "";
    return post(`answer/${callKey}/tool/${asked.questionId}${attempt}`, body, state);
  }

  async function findSchema(name: string, state: State): Promise<JsonSchema | undefined> {
    const own = partsAt(state).tools.get(name)?.specification;
    const found = own ?? (await loadSessionTools(store, id, state)).find((tool) => tool.name === name);
    return found?.inputSchema;
  }

  async function abort(options: AbortOptions = {}): Promise<"asked" | "nothing"> {
    checkCall.abort(options);
    const { note, by } = options;
    checkNoteAndBy({ note, by });
    if (options.runId !== undefined) checkRunId(options.runId);
    const state = await load();
    const runId = await findOpenRunId(store, id, state, options.runId);
    if (runId === null) return "nothing";
    await post(`abort/${makeId()}`, { type: "abort", runId, ...defined({ note, by }) }, state);
    return "asked";
  }

  async function provideResult(
    callKey: string,
    output: unknown,
    options: { readonly isError?: boolean } = {},
  ): Promise<"first" | "second"> {
    checkCall.provideResult(options);
    const { isError = false } = options;
    const state = await load();
    const call = findCall(state, callKey);
    if (call === undefined)
      return answerElsewhere(callKey, state, (child) => child.provideResult(callKey, output, options));
    if (call.status !== "waiting") return "second";
    const given = toToolOutput(output);
    const agent = partsAt(state);
    // The holder calls `toModelOutput`, which expects the full output if it fits into the message.
    const isForTool = agent.tools.get(call.name)?.tool.toModelOutput !== undefined && !isError;
    const shown = isForTool && isStorable(given) ? given : await capOutput(given, call.name, id, agent);
    const body: InboxBody = { type: "result", callKey, output: shown, ...(isError ? { isError } : {}) };
    return (await post(`result/${callKey}`, body, state)) === "delivered" ? "first" : "second";
  }

  /** Handles a call outside the current step: it belongs to a child, or it has ended and the answer comes second. */
  async function answerElsewhere(
    callKey: string,
    state: State,
    sendTo: (child: Answers) => Promise<"first" | "second">,
  ): Promise<"first" | "second"> {
    for (const child of listChildAnswers(state)) {
      const delivery = await sendTo(child).catch(unknownOrThrow);
      if (delivery !== "unknown") return delivery;
    }
    if (await isInFamily(store, id, { event: (event) => "callKey" in event && event.callKey === callKey }))
      return "second";
    throw new PawlError(
      "no_such_call",
      `No call ${callKey} is waiting in session ${id}. List the waiting calls with pendingApprovals().`,
    );
  }

  async function capResult(given: Answer, toolName: string, state: State): Promise<Answer> {
    if (given.type !== "result") return given;
    return { ...given, output: await capOutput(given.output, toolName, id, partsAt(state)) };
  }

  function listChildAnswers(state: State): readonly Answers[] {
    return findChildSessions(state).flatMap(({ name, childId }) => childSession(name, childId, state) ?? []);
  }

  const pendingApprovals = async () => deepFreeze(await listOpenQuestions(store, id, await load()));

  return { answer, abort, provideResult, pendingApprovals };
}

function findCall(state: State, callKey: string): Call | undefined {
  return hasCalls(state) ? state.calls.find((call) => call.callKey === callKey) : undefined;
}

function unknownOrThrow(error: unknown): "unknown" {
  if (isUnknownCallError(error)) return "unknown";
  throw error;
}

/** `no_session`: the child session may not have started yet. */
function isUnknownCallError(error: unknown): boolean {
  return error instanceof PawlError && (error.code === "no_such_call" || error.code === "no_session");
}

type AskingCall = Extract<Call, { status: "asking" }>;

/** The question of a call. A tool that asks while it runs is answered like a suspended tool. */
function findQuestion(call: Call): AskingCall | undefined {
  if (call.status === "asking") return call;
  const first = call.status === "running" ? call.held?.[0] : undefined;
  if (call.status !== "running" || first === undefined) return undefined;
  const { held = [], policy, attempt } = call;
  const { callKey, name, inputSeq, inputHash } = call;
  const identity = { callKey, name, inputSeq, ...(inputHash === undefined ? {} : { inputHash }) };
  return { status: "asking", why: "tool", policy, attempt, askedAt: first.askedAt, open: held, ...identity };
}

/** Rejects an answer for another input before it is posted: otherwise it would use up the call's message id in the store. */
function checkInputHash(call: AskingCall, inputHash: string | undefined): void {
  if (inputHash === call.inputHash) return;
  throw new PawlError(
    "bad_input",
    `The input of call ${call.callKey} has changed since it was shown. Show it again, and answer with its current hash.`,
  );
}

function severalQuestionsError(callKey: string, open: readonly PendingApproval[]): PawlError {
  const ids = open.map(({ questionId }) => JSON.stringify(questionId)).join(", ");
  return new PawlError(
    "bad_input",
    `The tool of call ${callKey} asks several questions. Choose one with questionId: ${ids}.`,
  );
}

function toAnswer(
  call: AskingCall,
  decision: Exclude<ApprovalDecision, { type: "abort" | "reply" | "decline" }>,
): Answer {
  switch (decision.type) {
    case "modify": {
      const input = checkEditedInput(call, decision.input);
      return { type: "modify", input, inputHash: hashInput(input) };
    }
    case "result": {
      const output = toToolOutput(decision.output);
      return decision.isError === true ? { type: "result", output, isError: true } : { type: "result", output };
    }
    case "deny":
    case "fail":
      return decision.note === undefined ? { type: decision.type } : { type: decision.type, note: decision.note };
    case "approve":
    case "rerun":
      return { type: decision.type };
  }
}
