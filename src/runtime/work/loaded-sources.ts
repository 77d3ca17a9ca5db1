/**
 * The texts of context sources that a run goes by (CTX-11).
 *
 * 1. They are loaded before the run's first model call, and stay the same to its end. The log names them, and their
 *    words are blobs. An agent that takes the session over loads its own: texts belong to a run and an agent.
 * 2. A process that carries the run on reads the blobs, and loads nothing.
 * 3. A text that is missing in the store is never guessed: all are loaded again, and named again.
 */
import { type NamedText, sourcesText } from "../../context/prompts.js";
import type { EventOf } from "../../core/machine/event.js";
import { changesOfSources, type SourceReference } from "../../core/machine/sources.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import type { ContextSource, RunData, SourceText } from "../../ports/context.js";
import { abort, type Cancellation, createCancellation, onCancel, signalOf } from "../lib/cancellation.js";
import { type Coroutine, runCoroutine, wait } from "../lib/coroutine.js";
import { textOfError } from "../lib/error-text.js";
import { callInTime } from "../lib/time-limit.js";
import type { EffectContext, LoadedSources, ProcessMemory } from "./effect-context.js";
import { keepText, readPromptBlob } from "./prompt-blobs.js";

const loadTimeoutMs = 10_000;
const mostTexts = 200;
const mostCharacters = 1024 * 1024;
const mostPathCharacters = 4_096;

/** Whether the texts of the run are still to be found in this process. */
export function needsSources(runId: string, context: EffectContext): boolean {
  return context.parts.context.sources.length > 0 && sourcesOf(runId, context) === null;
}

/** The texts that this agent goes by in this run, as far as this process knows them. */
export function sourcesOf(
  runId: string,
  { parts, memory: { sources } }: Pick<EffectContext, "parts" | "memory">,
): LoadedSources | null {
  return sources !== null && sources.runId === runId && sources.agent === parts.name ? sources : null;
}

/** Finds the texts of the run and keeps them in this process's memory. Gives why that failed; null if it did not. */
export function* findSources(
  run: RunData,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<string | null> {
  const { parts, transcript, memory } = context;
  const { runId } = run;
  const named = transcript.sources?.runId === runId ? yield* readNamed(transcript.sources.list, context) : null;
  const found = named ?? (yield* load(parts.context.sources, run, context, cancellation));
  if (typeof found === "string") return found;
  memory.sources = loadedSources({ runId, agent: parts.name }, found);
  return null;
}

/** Takes the texts of a run from a recording, for a replay. Texts that the store has lost are left out. */
export async function recallSources(
  whose: Pick<LoadedSources, "runId" | "agent">,
  list: readonly SourceReference[],
  memory: ProcessMemory,
): Promise<void> {
  const found = await runCoroutine(readNamed(list, { sessionId: memory.texts.sessionId, memory }));
  memory.sources = loadedSources(whose, found ?? []);
}

function loadedSources(
  { runId, agent }: Pick<LoadedSources, "runId" | "agent">,
  texts: readonly NamedText[],
): LoadedSources {
  const list = texts.map(({ text: _, ...reference }) => reference);
  return { runId, agent, list, prompt: texts.length === 0 ? "" : sourcesText(texts) };
}

/** What the entry of a model call says of the texts: nothing if the log has named them for this run. */
export function namedSources(
  sources: LoadedSources,
  { sources: known }: Transcript,
): Pick<EventOf<"prepared">, "sources" | "changedSources"> {
  const changes = known === null ? [] : changesOfSources(known.list, sources.list);
  if (known?.runId === sources.runId && changes.length === 0) return {};
  return { sources: sources.list, ...(changes.length === 0 ? {} : { changedSources: changes }) };
}

/** The texts that the log names; null if the store has lost one. */
function* readNamed(
  list: readonly SourceReference[],
  { sessionId, memory }: Pick<EffectContext, "sessionId" | "memory">,
): Coroutine<readonly NamedText[] | null> {
  const texts = yield* wait(Promise.all(list.map(({ blob }) => readPromptBlob(sessionId, blob, memory.texts.store))));
  const found = list.flatMap((reference, index) => {
    const text = texts[index];
    return typeof text === "string" ? [{ ...reference, text }] : [];
  });
  return found.length === list.length ? found : null;
}

function* load(
  sources: readonly ContextSource[],
  run: RunData,
  { parts, memory }: EffectContext,
  cancellation: Cancellation,
): Coroutine<readonly NamedText[] | string> {
  const own = createCancellation();
  const stopListening = onCancel(cancellation, () => abort(own, cancellation.reason));
  const settled = yield* wait(
    callInTime(() => loadAll(sources, run, signalOf(own)), {
      timeoutMs: loadTimeoutMs,
      clock: parts.clock,
      cancellation,
      onGivenUp: () => abort(own),
    }),
  );
  stopListening();
  if (settled.type !== "returned")
    return settled.type === "threw" ? settled.message : `the context sources: ${settled.message}`;
  const texts = settled.value as readonly SourceText[];
  return texts.map(({ name, path, trust, text }) => ({ name, path, trust, ...keepText(memory.texts, text) }));
}

async function loadAll(
  sources: readonly ContextSource[],
  run: RunData,
  signal: AbortSignal,
): Promise<readonly SourceText[]> {
  const loaded = await Promise.all(
    sources.map(async (source) => {
      try {
        return checkTexts(await source.load(run, { signal }));
      } catch (error) {
        throw new Error(`the context source "${source.name}" failed: ${textOfError(error)}`, { cause: error });
      }
    }),
  );
  const texts = loaded.flat();
  if (texts.length > mostTexts)
    throw new Error(`the context sources gave ${texts.length} texts, and may give ${mostTexts}`);
  const characters = texts.reduce((sum, { text }) => sum + text.length, 0);
  if (characters > mostCharacters)
    throw new Error(`the context sources gave ${characters} characters, and may give ${mostCharacters}`);
  return texts;
}

function checkTexts(texts: readonly SourceText[]): readonly SourceText[] {
  if (!Array.isArray(texts)) throw new Error("load() gave no array of texts");
  for (const given of texts as readonly Partial<SourceText>[]) {
    const { name, path, text, trust } = given ?? {};
    if (!isShort(name, 200) || !isShort(path, mostPathCharacters) || typeof text !== "string")
      throw new Error("a text must have a name, a path and a text, which are strings");
    if (trust !== "author" && trust !== "user" && trust !== "project")
      throw new Error(`the text ${JSON.stringify(path)} has no trust: give "author", "user" or "project"`);
  }
  return texts;
}

function isShort(value: string | undefined, most: number): boolean {
  return typeof value === "string" && value !== "" && value.length <= most;
}
