/**
 * The texts of context sources that a run uses (CTX-11).
 *
 * 1. They are loaded before the run's first model call, and stay the same until its end. The log references them, and their contents are
 *    blobs. An agent that takes over the session loads its own texts: they belong to a run and an agent.
 * 2. The system prompt keeps the texts of the previous run, so that a provider can read it from its cache. Changes are reported in a
 *    message. After a compaction, the system prompt has the current texts (COST-3).
 * 3. A process that resumes the run reads the blobs, and loads nothing.
 * 4. A text that is missing from the store is never guessed: all texts are loaded and referenced again.
 */
import {
  formatChangedSources,
  formatSources,
  type ReferencedText,
  sourcesInPromptText,
} from "../../context/prompts.js";
import { defined } from "../../core/data/defined.js";
import { deepFreeze } from "../../core/data/freeze.js";
import type { Message } from "../../core/data/message.js";
import type { EventOf } from "../../core/machine/event.js";
import { diffSources, type SourceReference } from "../../core/machine/sources.js";
import type { Preparing } from "../../core/machine/state.js";
import { createUserMessage } from "../../core/transcript/compaction.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import type { ContextSource, RunData, SourceText } from "../../ports/context.js";
import { abort, type Cancellation, createCancellation, getSignal, onCancel } from "../lib/cancellation.js";
import { type Coroutine, runCoroutine, wait } from "../lib/coroutine.js";
import { formatError } from "../lib/error-text.js";
import { callInTime } from "../lib/time-limit.js";
import type { CallSources, EffectContext, LoadedSources } from "./effect-context.js";
import { queueTextOnce, readPromptBlob } from "./prompt-blobs.js";

const loadTimeoutMs = 10_000;
const maxTexts = 200;
const maxCharacters = 1024 * 1024;
const maxPathCharacters = 4_096;
/** A longer message would take as much of the context window as the prompt. In that case, the prompt gets the new texts instead. */
const maxReportCharacters = 64 * 1024;

type SourcesContext = Pick<EffectContext, "agent" | "runMemory" | "transcript">;
type CallOfRun = Pick<Extract<Preparing, { for: "step" }>, "purpose">;

/** Whether this process still has to load or read texts that the run needs. */
export function needsSources(context: SourcesContext): boolean {
  if (context.agent.context.sources.length === 0) return false;
  const loaded = findLoaded(context);
  return loaded === null || listPromptTexts(context.transcript).some(({ blob }) => !loaded.words.has(blob));
}

/** Null if this process has not loaded the texts yet, or has those of the agent that handed the run over. */
function findLoaded({ agent, runMemory: { sources } }: SourcesContext): LoadedSources | null {
  return sources?.agent === agent.name ? sources : null;
}

/** The texts in the system prompt of the previous call. */
function listPromptTexts({ sources }: Transcript): readonly SourceReference[] {
  return sources?.prompt ?? noTexts;
}

const noTexts: readonly SourceReference[] = [];

/** The texts for this agent's next model call; null if there are none, or this process has not loaded them yet. */
export function getSources(call: CallOfRun, context: SourcesContext): CallSources | null {
  const loaded = findLoaded(context);
  if (loaded === null) return null;
  const { transcript, runMemory } = context;
  // No message may come between the messages of a continued answer.
  const mayReport = call.purpose === "step";
  const of = [transcript.sources, transcript.sourceNotes, transcript.promptHash === undefined, mayReport];
  const known = loaded.cached;
  if (known !== null && of.every((one, index) => one === (known.of as typeof of)[index])) return known.sources;
  const sources = buildSources(loaded, runMemory.runId, transcript, mayReport);
  loaded.cached = { of, sources };
  return sources;
}

function buildSources(
  loaded: LoadedSources,
  runId: string | null,
  transcript: Transcript,
  mayReport: boolean,
): CallSources {
  const { list } = loaded;
  const { sources: known, sourceNotes: notes } = transcript;
  const changes = known === null ? [] : diffSources(known.list, list);
  const isNamed = known?.runId === runId && changes.length === 0;
  const present = promptOf(textsOf(list, loaded));
  const of = { list, present, changes };
  // After a compaction, the prompt is unknown and is built again.
  const earlier = known !== null && (isNamed || transcript.promptHash !== undefined) ? known.prompt : null;
  if (earlier !== null && hasWords(earlier, loaded.words)) {
    const kept = { ...of, inPrompt: earlier, prompt: promptOf(textsOf(earlier, loaded)) };
    if (changes.length === 0 && isReported(notes, list)) return { ...kept, note: null };
    const text = changes.length === 0 || !mayReport ? null : formatChanges(changes, loaded);
    if (text !== null) return { ...kept, note: { kind: "changes", message: deepFreeze(createUserMessage(text)) } };
  }
  // Earlier messages have reported changes, and the system prompt is built again. A recording shows whether the model was
  // informed: logs of 0.1 never informed it.
  const isOtherPrompt = known !== null && changes.length === 0 && diffSources(known.prompt, list).length > 0;
  const isStale =
    loaded.recorded === undefined ? isOtherPrompt || !isReported(notes, list) : loaded.recorded.report === "prompt";
  const note =
    isStale && mayReport
      ? { kind: "prompt" as const, message: deepFreeze(createUserMessage(sourcesInPromptText)) }
      : null;
  return { ...of, inPrompt: list, prompt: present, note };
}

/** Whether the messages about changed texts agree with the system prompt of a call with this list. */
function isReported(notes: Transcript["sourceNotes"], list: readonly SourceReference[]): boolean {
  return notes === null || diffSources(notes.list, list).length === 0;
}

/** Null if the text is too long for a message, or if the recording did not report the change in a message. */
function formatChanges(changes: CallSources["changes"], { list, words, recorded }: LoadedSources): string | null {
  if (recorded !== undefined && recorded.report !== "changes") return null;
  const removed = changes.filter(({ change }) => change === "removed");
  const isChanged = ({ name, path }: SourceReference) =>
    changes.some((one) => one.change !== "removed" && one.name === name && one.path === path);
  const text = formatChangedSources(textsOf(list.filter(isChanged), { words }), removed);
  return text.length > maxReportCharacters ? null : text;
}

function textsOf(list: readonly SourceReference[], { words }: Pick<LoadedSources, "words">): readonly ReferencedText[] {
  return list.map((reference) => ({ ...reference, text: words.get(reference.blob) ?? "" }));
}

function promptOf(texts: readonly ReferencedText[]): string {
  return texts.length === 0 ? "" : formatSources(texts);
}

/** Loads the texts of the run into this process's memory. Returns the reason if that fails; otherwise null. */
export function* loadRunSources(
  run: RunData,
  context: EffectContext,
  cancellation: Cancellation,
): Coroutine<string | null> {
  const { agent, transcript, runMemory } = context;
  const loaded = findLoaded(context);
  const fromLog = transcript.sources?.runId === run.runId ? transcript.sources.list : null;
  const list = loaded?.list ?? fromLog;
  const words = yield* loadWords([...listPromptTexts(transcript), ...(list ?? listLastTexts(transcript))], context);
  if (list !== null && (loaded !== null || hasWords(list, words))) {
    runMemory.sources = { ...loaded, agent: agent.name, list, words, cached: null };
    return null;
  }
  const texts = yield* callSources(run, listEarlierTexts(context.transcript, words), context, cancellation);
  if (typeof texts === "string") return texts;
  for (const { blob, text } of texts) words.set(blob, text);
  runMemory.sources = {
    agent: agent.name,
    list: texts.map(({ text: _, ...reference }) => reference),
    words,
    cached: null,
  };
  return null;
}

/** The texts of the last run that had any. */
function listLastTexts({ sources }: Transcript): readonly SourceReference[] {
  return sources?.list ?? noTexts;
}

/** The texts that the session has used so far; undefined before its first model call. */
function listEarlierTexts(transcript: Transcript, words: LoadedSources["words"]): readonly SourceText[] | undefined {
  const { sources, promptHash, toolsHash, pauses } = transcript;
  // After a compaction, the hash of the prompt is unknown (undefined), not null.
  const isFirst = sources === null && promptHash === null && toolsHash === null && pauses.lastCallAt === null;
  if (isFirst) return undefined;
  const texts = listLastTexts(transcript).flatMap(({ name, path, trust, blob }) => {
    const text = words.get(blob);
    return typeof text === "string" ? [Object.freeze({ name, path, text, trust })] : [];
  });
  return Object.freeze(texts);
}

function hasWords(list: readonly SourceReference[], words: LoadedSources["words"]): boolean {
  return list.every(({ blob }) => typeof words.get(blob) === "string");
}

/** Reads the texts of a run from a recording, for a replay. If the store has lost any, there are no texts. */
export async function restoreSources(
  agent: string,
  { sources = [], sourcesTold }: EventOf<"prepared">,
  { memory, runMemory }: Pick<EffectContext, "memory" | "runMemory">,
): Promise<void> {
  const words = await runCoroutine(loadWords(sources, { sessionId: memory.texts.sessionId, memory }));
  const list = hasWords(sources, words) ? sources : [];
  runMemory.sources = { agent, list, words, recorded: { report: sourcesTold }, cached: null };
}

/** The fields about texts for the entry of a model call: absent if the log already has them for this run. */
export function pickChangedSources(
  runId: string,
  { list, inPrompt, changes, note }: CallSources,
  { sources: known }: Transcript,
): Pick<EventOf<"prepared">, "sources" | "changedSources" | "sourcesTold"> {
  if (known?.runId === runId && changes.length === 0 && known.prompt === inPrompt && note === null) return {};
  return {
    sources: list,
    ...(changes.length === 0 ? {} : { changedSources: changes }),
    ...(note === null ? {} : { sourcesTold: note.kind }),
  };
}

/**
 * The system prompt of a call that may send another list than the conversation: if the list omits a message that reported a
 * change, the prompt gets the current texts.
 */
export function adjustPrompt(
  systemPrompt: string | undefined,
  list: readonly Message[] | null,
  { prompt, present, note }: CallSources,
  { sourceNotes }: Transcript,
): string | undefined {
  if (list === null || prompt === present) return systemPrompt;
  const reports: readonly Message[] = [...(sourceNotes?.messages ?? []), ...(note === null ? [] : [note.message])];
  if (reports.every((message) => list.includes(message))) return systemPrompt;
  if (prompt === "") return systemPrompt === undefined ? present : `${systemPrompt}\n\n${present}`;
  // A hook may have changed the prompt and removed the texts.
  return systemPrompt?.replace(prompt, () => present);
}

/** The contents of texts that the log references, by blob; null for those that the store has lost. */
function* loadWords(
  list: readonly SourceReference[],
  { sessionId, memory }: Pick<EffectContext, "sessionId" | "memory">,
): Coroutine<Map<string, string | null>> {
  const known = memory.words;
  const blobs = [...new Set(list.map(({ blob }) => blob))];
  const texts = yield* wait(
    Promise.all(blobs.map((blob) => known?.get(blob) ?? readPromptBlob(sessionId, blob, memory.texts.store))),
  );
  const words = new Map(blobs.map((blob, index) => [blob, texts[index] ?? null]));
  memory.words = words;
  return words;
}

function* callSources(
  run: RunData,
  earlier: readonly SourceText[] | undefined,
  { agent, memory }: EffectContext,
  cancellation: Cancellation,
): Coroutine<readonly ReferencedText[] | string> {
  const ownCancellation = createCancellation();
  const stopListening = onCancel(cancellation, () => abort(ownCancellation, cancellation.reason));
  const settled = yield* wait(
    callInTime(
      () => callAllSources(agent.context.sources, run, { signal: getSignal(ownCancellation), ...defined({ earlier }) }),
      {
        timeoutMs: loadTimeoutMs,
        clock: agent.clock,
        cancellation,
        onGivenUp: () => abort(ownCancellation),
      },
    ),
  );
  stopListening();
  if (settled.type !== "returned")
    return settled.type === "threw" ? settled.message : `the context sources: ${settled.message}`;
  const texts = settled.value as readonly SourceText[];
  return texts.map(({ name, path, trust, text }) => ({ name, path, trust, ...queueTextOnce(memory.texts, text) }));
}

async function callAllSources(
  sources: readonly ContextSource[],
  run: RunData,
  options: Parameters<ContextSource["load"]>[1],
): Promise<readonly SourceText[]> {
  const loaded = await Promise.all(
    sources.map(async (source) => {
      try {
        return checkTexts(await source.load(run, options));
      } catch (error) {
        throw new Error(`the context source "${source.name}" failed: ${formatError(error)}`, { cause: error });
      }
    }),
  );
  const texts = loaded.flat();
  if (texts.length > maxTexts)
    throw new Error(`the context sources returned ${texts.length} texts; the maximum is ${maxTexts}`);
  const characters = texts.reduce((sum, { text }) => sum + text.length, 0);
  if (characters > maxCharacters)
    throw new Error(`the context sources returned ${characters} characters; the maximum is ${maxCharacters}`);
  return texts;
}

function checkTexts(texts: readonly SourceText[]): readonly SourceText[] {
  if (!Array.isArray(texts)) throw new Error("load() did not return an array of texts");
  for (const given of texts as readonly Partial<SourceText>[]) {
    const { name, path, text, trust } = given ?? {};
    if (!isNonEmptyWithin(name, 200) || !isNonEmptyWithin(path, maxPathCharacters) || typeof text !== "string")
      throw new Error("a text must have a name, a path and a text, all strings");
    if (trust !== "author" && trust !== "user" && trust !== "project")
      throw new Error(`the text ${JSON.stringify(path)} has no trust: it must be "author", "user" or "project"`);
  }
  return texts;
}

function isNonEmptyWithin(value: string | undefined, limit: number): boolean {
  return typeof value === "string" && value !== "" && value.length <= limit;
}
