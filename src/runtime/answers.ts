/**
 * What people and other programs say to the calls of a session that wait, and to those of its children.
 *
 * The first of two answers counts, whichever process they come from: the store takes a message's id once.
 */
import { capOutput } from "../context/tool-output.js";
import type { Answer } from "../core/event.js";
import type { InboxBody } from "../core/inbox.js";
import { approvalsOf, type PendingApproval } from "../core/outcome.js";
import { type Call, hasCalls, initialState, isTerminal, type State } from "../core/state.js";
import { PawlError } from "../errors.js";
import type { AnswerOptions, Answers, Decision } from "./answer.js";
import { childOf, waitingChildren } from "./family.js";
import { hashInput } from "./hash.js";
import { loadTranscript } from "./history.js";
import { normaliseJson, toToolOutput } from "./normalise.js";
import type { AgentParts } from "./parts.js";

type Post = (messageId: string, body: InboxBody) => Promise<"said" | "duplicate">;
type Abort = (options: { readonly note?: string; readonly by?: string }) => Promise<void>;

export function createAnswers(
  id: string,
  { store, family }: Pick<AgentParts, "store" | "family">,
  post: Post,
  abort: Abort,
): Answers {
  const load = async () => (await store.load(id))?.state ?? initialState;

  async function answer(callKey: string, decision: Decision, options: AnswerOptions = {}): Promise<"first" | "second"> {
    const state = await load();
    const call = findCall(state, callKey);
    if (call === undefined) {
      const child = await holderOf(callKey, state);
      if (child !== undefined) return child.answer(callKey, decision, options);
    }
    if (call?.at !== "asking") return answeredBefore(id, callKey, state, call !== undefined);
    const { by, inputHash = call.inputHash } = options;
    checkAnswer(call, decision, inputHash);
    const who = by === undefined ? {} : { by };
    if (decision.type === "abort") {
      await abort({ ...(decision.note === undefined ? {} : { note: decision.note }), ...who });
      return "first";
    }
    const hash = inputHash === undefined ? {} : { inputHash };
    const given = await capResult(answerOf(decision));
    const body: InboxBody = { type: "answer", callKey, answer: given, ...who, ...hash };
    const said = await post(`answer/${callKey}/${call.why}/${call.attempt}/${call.inputSeq}`, body);
    return said === "said" ? "first" : "second";
  }

  async function provideResult(
    callKey: string,
    output: unknown,
    { isError = false }: { readonly isError?: boolean } = {},
  ) {
    const state = await load();
    const call = findCall(state, callKey);
    if (call === undefined) {
      const child = await holderOf(callKey, state);
      if (child !== undefined) return child.provideResult(callKey, output, { isError });
    }
    if (call?.at !== "waiting") return answeredBefore(id, callKey, state, call !== undefined);
    const shown = await capOutput(toToolOutput(output), { sessionId: id, store });
    const body: InboxBody = { type: "result", callKey, output: shown, ...(isError ? { isError } : {}) };
    return (await post(`result/${callKey}`, body)) === "said" ? "first" : "second";
  }

  async function capResult(given: Answer): Promise<Answer> {
    return given.type === "result"
      ? { ...given, output: await capOutput(given.output, { sessionId: id, store }) }
      : given;
  }

  function children(state: State): readonly Answers[] {
    return waitingChildren(state).flatMap(({ name, childId }) => childOf(name, family)?.session(childId) ?? []);
  }

  async function holderOf(callKey: string, state: State): Promise<Answers | undefined> {
    for (const child of children(state))
      if ((await child.pendingApprovals()).some((approval) => approval.callKey === callKey)) return child;
    return undefined;
  }

  async function pendingApprovals(): Promise<readonly PendingApproval[]> {
    const state = await load();
    if (!hasCalls(state)) return [];
    const own = approvalsOf(id, state, await loadTranscript(store, id, state));
    const nested = await Promise.all(children(state).map((child) => child.pendingApprovals()));
    return [...own, ...nested.flat()];
  }

  return { answer, provideResult, pendingApprovals };
}

function findCall(state: State, callKey: string): Call | undefined {
  return hasCalls(state) ? state.calls.find((call) => call.callKey === callKey) : undefined;
}

/** An answer that cannot count is refused before it takes the place of one that can. */
function checkAnswer(call: Extract<Call, { at: "asking" }>, decision: Decision, inputHash: string | undefined): void {
  if (inputHash !== call.inputHash)
    throw new PawlError(
      "bad_input",
      `The input of call ${call.callKey} has changed since it was shown. Look at it again, and answer to its present hash.`,
    );
  const fits = call.why === "recovery" ? decision.type !== "modify" : policyAnswers.has(decision.type);
  if (!fits)
    throw new PawlError(
      "bad_input",
      call.why === "recovery"
        ? `Call ${call.callKey} had started and its outcome is unknown: answer rerun, result, fail or abort.`
        : `Call ${call.callKey} waits for an approval: answer approve, deny, modify or abort.`,
    );
}

const policyAnswers: ReadonlySet<Decision["type"]> = new Set(["approve", "deny", "modify", "abort"]);

function answerOf(decision: Exclude<Decision, { type: "abort" }>): Answer {
  switch (decision.type) {
    case "modify": {
      const input = normaliseJson(decision.input);
      return { type: "modify", input, inputHash: hashInput(input) };
    }
    case "result": {
      const output = toToolOutput(decision.output);
      return decision.isError === true ? { type: "result", output, isError: true } : { type: "result", output };
    }
    case "approve":
    case "deny":
    case "rerun":
    case "fail":
      return decision;
  }
}

/** A second answer is told that it came second; a call that never was is misuse. */
function answeredBefore(id: string, callKey: string, state: State, known: boolean): "second" {
  if (known || (isTerminal(state) && callKey.startsWith(`${state.runId}/`))) return "second";
  throw new PawlError(
    "no_such_call",
    `No call ${callKey} waits in session ${id}. List what waits with pendingApprovals().`,
  );
}
