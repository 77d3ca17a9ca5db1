/**
 * A system prompt that the agent's function makes for each run.
 *
 * 1. The function is called once, before the run's first model call. The log names the text, which is a blob. Every process that
 *    carries the run on reads it, and calls nothing. After a handoff, the next agent's function is called, once as well.
 * 2. A text that the store has lost is never guessed: the function is called again, and the new text is named.
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
import { paramsOf } from "./run-params.js";

const timeoutMs = 10_000;
const maxCharacters = 1024 * 1024;

type Knowing = Pick<EffectContext, "parts" | "transcript" | "memory">;

/** The agent's system prompt for this run, without what run options and hooks change. */
export function agentPrompt({ parts, transcript: { run }, memory }: Knowing): string | undefined {
  if (typeof parts.systemPrompt !== "function") return parts.systemPrompt;
  const made = memory.runPrompt;
  return made !== null && made.runId === run?.runId && made.agent === parts.name && made.text !== ""
    ? made.text
    : undefined;
}

/** Whether the prompt that the run needs is still to be found in this process. */
export function needsRunPrompt({ parts, transcript: { run }, memory: { runPrompt } }: Knowing): boolean {
  if (typeof parts.systemPrompt !== "function" || run === null || run.options.systemPrompt !== undefined) return false;
  return runPrompt === null || runPrompt.runId !== run.runId || runPrompt.agent !== parts.name;
}

/** Finds the prompt and keeps it in this process's memory. Gives why that failed; null if it did not. */
export function* findRunPrompt(context: EffectContext, cancellation: Cancellation): Coroutine<string | null> {
  const { sessionId, parts, transcript, memory } = context;
  const runId = transcript.run?.runId ?? "";
  const named = transcript.run?.prompt ?? null;
  const stored = named === null ? null : yield* wait(readPromptBlob(sessionId, named.blob, memory.texts.store));
  if (named !== null && stored !== null) {
    memory.runPrompt = { runId, agent: parts.name, text: stored, reference: named };
    return null;
  }
  // A recording that lacks the text has no other one.
  if (parts.isReplay === true) {
    memory.runPrompt = { runId, agent: parts.name, text: "", reference: null };
    return null;
  }
  const made = yield* makePrompt(context, cancellation);
  if (made.type === "failed") return made.message;
  const { text, blob, bytes } = queueTextOnce(memory.texts, made.text);
  memory.runPrompt = { runId, agent: parts.name, text, reference: { blob, bytes } };
  return null;
}

type Made = { readonly type: "made"; readonly text: string } | { readonly type: "failed"; readonly message: string };

function* makePrompt(context: EffectContext, cancellation: Cancellation): Coroutine<Made> {
  const { parts } = context;
  const make = parts.systemPrompt;
  if (typeof make !== "function") return { type: "made", text: make ?? "" };
  const own = createCancellation();
  const stopListening = onCancel(cancellation, () => abort(own, cancellation.reason));
  const settled = yield* wait(
    callInTime(() => make(promptContext(context, getSignal(own))), {
      timeoutMs,
      clock: parts.clock,
      cancellation,
      onGivenUp: () => abort(own),
    }),
  );
  stopListening();
  if (settled.type !== "returned") return { type: "failed", message: `systemPrompt failed: ${settled.message}` };
  const text: unknown = settled.value;
  if (typeof text !== "string") return { type: "failed", message: "systemPrompt gave no string" };
  if (text.length <= maxCharacters) return { type: "made", text };
  return { type: "failed", message: `systemPrompt gave ${text.length} characters, and may give ${maxCharacters}` };
}

function promptContext(context: EffectContext, signal: AbortSignal): RunPromptContext<unknown, unknown> {
  const { sessionId, parts, state, transcript } = context;
  const runId = transcript.run?.runId ?? "";
  return Object.freeze({
    sessionId,
    runId,
    ...pickPrincipal(state),
    deps: resolveDeps(parts, sessionId, runId),
    params: paramsOf(context),
    data: transcript.data,
    signal,
  });
}

/** What the entry of a model call says of the prompt: nothing if the log has named it already. */
export function namedRunPrompt({
  parts,
  transcript: { run },
  memory,
}: Knowing): Pick<EventOf<"prepared">, "runPrompt"> {
  const made = memory.runPrompt;
  if (made === null || run === null || made.runId !== run.runId || made.agent !== parts.name) return {};
  return made.reference === null || run.prompt?.blob === made.reference.blob ? {} : { runPrompt: made.reference };
}

/** Takes the prompt of a run from a recording, for a replay. */
export async function recallRunPrompt(
  agent: string,
  { runId, runPrompt }: Pick<EventOf<"prepared">, "runId" | "runPrompt">,
  memory: EffectContext["memory"],
): Promise<void> {
  if (runPrompt === undefined) return;
  const text = await readPromptBlob(memory.texts.sessionId, runPrompt.blob, memory.texts.store);
  if (text !== null) memory.runPrompt = { runId, agent, text, reference: runPrompt };
}
