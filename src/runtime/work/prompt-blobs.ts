/**
 * System prompts and tool specifications, which the log names by their hash (TRC-3): kept once, as blobs of their session.
 *
 * 1. A blob is written before the commit that names it.
 * 2. A session whose prompt and tools stay the same writes each once in a process.
 * 3. What a model is sent is what the log names. One that is missing in the store is never guessed: it is named, and written, anew.
 */
import type { EventOf } from "../../core/machine/event.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import { PawlError } from "../../errors.js";
import type { ToolSpecification } from "../../ports/model.js";
import type { Store } from "../../ports/store.js";
import { textOfError } from "../lib/error-text.js";
import { sha256 } from "../lib/hash.js";

type HashedText = { readonly hash: string; readonly bytes: Uint8Array };
type HashedPrompt = HashedText & { readonly given: string; readonly text: string };

/** A system prompt, and the specifications of all tools that a model may be told of. */
export type Prompt = {
  readonly systemPrompt: string | undefined;
  readonly specifications: readonly ToolSpecification[];
};

export type FoundPrompt =
  | ({ readonly type: "found" } & Prompt)
  /** The log names a blob that is not there. */
  | { readonly type: "missing"; readonly message: string };

/** What a process knows of the texts of a session. */
export type PromptBlobs = {
  readonly sessionId: string;
  readonly store: Pick<Store, "putBlob" | "getBlob">;
  prompt: HashedPrompt | null;
  unwritten: readonly HashedText[];
  /** Hashes of texts that the store has lost. */
  missing: readonly string[];
};

/** An agent's specifications stay the same array. */
const namedTools = new WeakMap<readonly ToolSpecification[], HashedText>();

/** The sessions of an agent have the same prompt as a rule, and share what is known of it. */
let newestPrompt: HashedPrompt | null = null;

export function createPromptBlobs(sessionId: string, store: PromptBlobs["store"]): PromptBlobs {
  return { sessionId, store, prompt: null, unwritten: none, missing: none };
}

const none: readonly never[] = [];

/** What a model call's entry says of its prompt and tools: only what the log does not say already. */
export function promptHashes(
  known: PromptBlobs,
  { systemPrompt, specifications }: Prompt,
  { promptHash, toolsHash }: Transcript,
): Pick<EventOf<"prepared">, "promptHash" | "toolsHash"> {
  const newPrompt = nameAnew(known, promptNamed(known, systemPrompt), promptHash);
  const newTools = nameAnew(known, toolsNamed(specifications), toolsHash);
  return {
    ...(newPrompt === undefined ? {} : { promptHash: newPrompt }),
    ...(newTools === undefined ? {} : { toolsHash: newTools }),
  };
}

/** Writes what was named since. Undefined where there is nothing to write. */
export function writePromptBlobs(known: PromptBlobs): Promise<void> | undefined {
  const { sessionId, store, unwritten } = known;
  if (unwritten.length === 0) return undefined;
  known.unwritten = none;
  return Promise.all(unwritten.map(({ bytes }) => store.putBlob(sessionId, bytes))).then(() => {});
}

/** The texts that the log names; those of `present` are known, and stand where the log says nothing. */
export function findPrompt(
  known: PromptBlobs,
  transcript: Transcript,
  present: Prompt,
): FoundPrompt | Promise<FoundPrompt> {
  const { toolsHash } = transcript;
  const prompt = knownPrompt(known, transcript, present);
  const isPresent = toolsHash === undefined || toolsHash === (toolsNamed(present.specifications)?.hash ?? null);
  const specifications = toolsHash === null ? [] : isPresent ? present.specifications : undefined;
  if (prompt !== undefined && specifications !== undefined)
    return { type: "found", systemPrompt: prompt.text, specifications };
  return read(known, transcript, {
    ...(prompt === undefined ? {} : { systemPrompt: prompt.text }),
    ...(specifications === undefined ? {} : { specifications }),
  });
}

function named(text: string): HashedText {
  const bytes = Buffer.from(text);
  return { bytes, hash: sha256(bytes) };
}

function toolsNamed(specifications: readonly ToolSpecification[]): HashedText | null {
  if (specifications.length === 0) return null;
  let found = namedTools.get(specifications);
  if (found === undefined) {
    found = named(JSON.stringify(specifications));
    namedTools.set(specifications, found);
  }
  return found;
}

function promptNamed(known: PromptBlobs, given: string | undefined): HashedPrompt | null {
  if (given === undefined) return null;
  if (known.prompt?.given !== given) {
    if (newestPrompt?.given !== given) {
      const { bytes, hash } = named(given);
      // A lone surrogate does not come back from the store: the model is not sent it either.
      newestPrompt = { given, text: Buffer.from(bytes).toString(), bytes, hash };
    }
    known.prompt = newestPrompt;
  }
  return known.prompt;
}

/** The hash, where the log does not have it or the store has lost its text, which is then written. */
function nameAnew(
  known: PromptBlobs,
  found: HashedText | null,
  present: string | null | undefined,
): string | null | undefined {
  const hash = found?.hash ?? null;
  const isLost = hash !== null && known.missing.includes(hash);
  if (hash === present && !isLost) return undefined;
  if (isLost) known.missing = known.missing.filter((one) => one !== hash);
  if (found !== null) known.unwritten = [...known.unwritten, found];
  return hash;
}

function knownPrompt(
  known: PromptBlobs,
  { promptHash }: Transcript,
  present: Prompt,
): { readonly text: string | undefined } | undefined {
  if (promptHash === null) return { text: undefined };
  if (promptHash === undefined) return { text: present.systemPrompt };
  if (known.prompt?.hash === promptHash) return known.prompt;
  const prompt = promptNamed(known, present.systemPrompt);
  return prompt?.hash === promptHash ? prompt : undefined;
}

async function read(
  known: PromptBlobs,
  { promptHash, toolsHash }: Transcript,
  found: Partial<Prompt>,
): Promise<FoundPrompt> {
  const lost: string[] = [];
  const textOf = async (hash: string | null | undefined) => {
    const text = hash == null ? undefined : await readPromptBlob(known.sessionId, hash, known.store);
    if (text === null) lost.push(hash ?? "");
    return text ?? "";
  };
  const systemPrompt = "systemPrompt" in found ? found.systemPrompt : await textOf(promptHash);
  const specifications = found.specifications ?? specificationsIn(await textOf(toolsHash));
  if (lost.length === 0) return { type: "found", systemPrompt, specifications };
  known.missing = [...known.missing.filter((hash) => !lost.includes(hash)), ...lost];
  const message = `What the log names for this model call is not in the store (blob ${lost.join(", blob ")}): the step is prepared anew.`;
  return { type: "missing", message };
}

/**
 * A text that a log names; null where it is missing in the store, or damaged.
 * @throws PawlError `store_failed`
 */
export async function readPromptBlob(
  sessionId: string,
  hash: string,
  store: Pick<Store, "getBlob">,
): Promise<string | null> {
  try {
    const bytes = await store.getBlob(sessionId, hash);
    return bytes === null || sha256(bytes) !== hash ? null : Buffer.from(bytes).toString();
  } catch (cause) {
    if (cause instanceof PawlError && cause.code === "store_corrupt") return null;
    throw new PawlError(
      "store_failed",
      `Blob ${hash} of session ${sessionId} could not be read (${textOfError(cause)}). Look at the store, then resume.`,
      { cause },
    );
  }
}

/** The specifications in a text that was named for them: its hash says that they are what was written. */
export function specificationsIn(text: string): readonly ToolSpecification[] {
  return text === "" ? [] : (JSON.parse(text) as readonly ToolSpecification[]);
}
