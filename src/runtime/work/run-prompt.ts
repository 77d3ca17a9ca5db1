/**
 * The system prompt of an agent whose `systemPrompt` is a function.
 *
 * 1. The function is called once, before the run's first model call. The log refers to the prompt, which is stored as a blob. Other
 *    processes that continue the run read the blob instead of calling the function. After a handoff, the next agent's function is
 *    called, also once.
 * 2. If the store has lost the blob, the function is called again, and the log refers to the new prompt.
 */
import type { EventOf } from "../../core/machine/event.js";
import { pickPrincipal } from "../../core/machine/session-info.js";
import type { RunPromptContext } from "../../ports/context.js";
import { resolveDeps } from "../agent/local-run-options.js";
import { abort, type Cancellation, createCancellation, getSignal, onCancel } from "../lib/cancellation.js";
import { type Coroutine, wait } from "../lib/coroutine.js";
import { callInTime } from "../lib/time-limit.js";
import type { EffectContext } from "./effect-context.js";
import { queueTextOnce, readPromptBlob } from "./prompt-blobs.js";
import { getParams } from "./run-params.js";

const timeoutMs = 10_000;
const maxCharacters = 1024 * 1024;

type RunContext = Pick<EffectContext, "agent" | "transcript" | "runMemory">;

/** The agent's system prompt for this run, before run options and hooks change it. */
export function getAgentPrompt({ agent, runMemory: { prompt } }: RunContext): string | undefined {
  if (typeof agent.systemPrompt !== "function") return agent.systemPrompt;
  return prompt !== null && prompt.agent === agent.name && prompt.text !== "" ? prompt.text : undefined;
}

/** Whether this process still has to load the prompt that the run needs. */
export function needsRunPrompt({ agent, transcript: { run }, runMemory: { prompt } }: RunContext): boolean {
  if (typeof agent.systemPrompt !== "function" || run === null || run.options.systemPrompt !== undefined) return false;
  return prompt === null || prompt.agent !== agent.name;
}

/** Loads the prompt, or calls the function, and stores the result in memory. @returns why that failed; null if it did not */
export function* loadRunPrompt(context: EffectContext, cancellation: Cancellation): Coroutine<string | null> {
  const { sessionId, agent, transcript, memory, runMemory } = context;
  const named = transcript.run?.prompt ?? null;
  const stored = named === null ? null : yield* wait(readPromptBlob(sessionId, named.blob, memory.texts.store));
  if (named !== null && stored !== null) {
    runMemory.prompt = { agent: agent.name, text: stored, reference: named };
    return null;
  }
  // A replay never calls the function.
  if (agent.isReplay === true) {
    runMemory.prompt = { agent: agent.name, text: "", reference: null };
    return null;
  }
  const made = yield* callPromptFunction(context, cancellation);
  if (made.type === "failed") return made.message;
  const { text, blob, bytes } = queueTextOnce(memory.texts, made.text);
  runMemory.prompt = { agent: agent.name, text, reference: { blob, bytes } };
  return null;
}

type Made = { readonly type: "made"; readonly text: string } | { readonly type: "failed"; readonly message: string };

function* callPromptFunction(context: EffectContext, cancellation: Cancellation): Coroutine<Made> {
  const { agent } = context;
  const make = agent.systemPrompt;
  if (typeof make !== "function") return { type: "made", text: make ?? "" };
  const ownCancellation = createCancellation();
  const stopListening = onCancel(cancellation, () => abort(ownCancellation, cancellation.reason));
  const settled = yield* wait(
    callInTime(() => make(createPromptContext(context, getSignal(ownCancellation))), {
      timeoutMs,
      clock: agent.clock,
      cancellation,
      onGivenUp: () => abort(ownCancellation),
    }),
  );
  stopListening();
  if (settled.type !== "returned") return { type: "failed", message: `systemPrompt failed: ${settled.message}` };
  const text: unknown = settled.value;
  if (typeof text !== "string") return { type: "failed", message: "systemPrompt did not return a string" };
  if (text.length <= maxCharacters) return { type: "made", text };
  return { type: "failed", message: `systemPrompt returned ${text.length} characters; the limit is ${maxCharacters}` };
}

function createPromptContext(context: EffectContext, signal: AbortSignal): RunPromptContext<unknown, unknown> {
  const { sessionId, agent, state, transcript } = context;
  const runId = transcript.run?.runId ?? "";
  return Object.freeze({
    sessionId,
    runId,
    ...pickPrincipal(state),
    deps: resolveDeps(agent, sessionId, runId),
    params: getParams(context),
    data: transcript.data,
    signal,
  });
}

/** The reference that a `prepared` event has to store: none if the log has it already. */
export function pickNewRunPrompt({
  agent,
  transcript: { run },
  runMemory: { prompt },
}: RunContext): Pick<EventOf<"prepared">, "runPrompt"> {
  if (prompt === null || run === null || prompt.agent !== agent.name) return {};
  return prompt.reference === null || run.prompt?.blob === prompt.reference.blob ? {} : { runPrompt: prompt.reference };
}

/** Restores the prompt of a recorded run, for a replay. */
export async function restoreRunPrompt(
  agent: string,
  { runPrompt }: Pick<EventOf<"prepared">, "runPrompt">,
  { memory, runMemory }: Pick<EffectContext, "memory" | "runMemory">,
): Promise<void> {
  if (runPrompt === undefined) return;
  const text = await readPromptBlob(memory.texts.sessionId, runPrompt.blob, memory.texts.store);
  if (text !== null) runMemory.prompt = { agent, text, reference: runPrompt };
}
