/**
 * System prompts and tool specifications. The log references them by hash (TRC-3); the texts are blobs of their session.
 *
 * 1. A blob is written before the commit that references it.
 * 2. A session whose prompt and tools stay the same writes each once in a process.
 * 3. A request contains the texts that the log references. A text that is missing from the store is never guessed: the step is prepared
 *    again, and the current text is referenced and written.
 */
import type { Message } from "../../core/data/message.js";
import type { SessionData } from "../../core/data/session-data.js";
import type { EventOf } from "../../core/machine/event.js";
import type { Transcript } from "../../core/transcript/transcript.js";
import { PawlError } from "../../errors.js";
import type { ToolSpecification } from "../../ports/model.js";
import type { Store } from "../../ports/store.js";
import type { MaybePromise } from "../lib/coroutine.js";
import { formatError } from "../lib/error-text.js";
import { sha256 } from "../lib/hash.js";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

type HashedText = { readonly hash: string; readonly bytes: Uint8Array };
/** `source` is the prompt as the agent or a hook wrote it; `text` is the prompt as the store returns it. */
type HashedPrompt = HashedText & { readonly source: string; readonly text: string };

/** A system prompt, and the specifications of all tools that a model may use. */
export type Prompt = {
  readonly systemPrompt: string | undefined;
  readonly specifications: readonly ToolSpecification[];
};

export type ResolvedPrompt =
  | ({ readonly type: "found" } & Prompt)
  /** The store does not have a blob that the log references. */
  | { readonly type: "missing"; readonly message: string };

/** The texts of a session in this process. */
export type PromptBlobs = {
  readonly sessionId: string;
  readonly store: Pick<Store, "putBlob" | "getBlob">;
  prompt: HashedPrompt | null;
  /** The messages in blobs of the last list that was sent instead of the conversation, by hash. */
  messages: ReadonlyMap<string, Message> | null;
  unwritten: readonly HashedText[];
  /** Hashes of texts that the store has lost. */
  missing: readonly string[];
};

/** By array: an agent's specifications stay the same array. */
const toolHashes = new WeakMap<readonly ToolSpecification[], HashedText>();

/** The sessions of an agent usually have the same prompt, and share its hash and its bytes. */
let newestPrompt: HashedPrompt | null = null;

export function createPromptBlobs(sessionId: string, store: PromptBlobs["store"]): PromptBlobs {
  return { sessionId, store, prompt: null, messages: null, unwritten: none, missing: none };
}

const none: readonly never[] = [];

/** The hashes for the entry of a model call: only those that the log does not have yet. */
export function collectNewHashes(
  blobs: PromptBlobs,
  { systemPrompt, specifications }: Prompt,
  { promptHash, toolsHash }: Transcript,
): Pick<EventOf<"prepared">, "promptHash" | "toolsHash"> {
  const newPrompt = pickNewHash(blobs, hashPrompt(blobs, systemPrompt), promptHash);
  const newTools = pickNewHash(blobs, hashTools(specifications), toolsHash);
  return {
    ...(newPrompt === undefined ? {} : { promptHash: newPrompt }),
    ...(newTools === undefined ? {} : { toolsHash: newTools }),
  };
}

/** Writes a text with the next commit. Returns its hash, and the text as the store will return it. */
export function queueText(blobs: PromptBlobs, source: string): { readonly hash: string; readonly text: string } {
  const found = hashText(source);
  blobs.unwritten = [...blobs.unwritten, found];
  return { hash: found.hash, text: decoder.decode(found.bytes) };
}

/** Writes a session's data with the next commit. Returns the blob. */
export function queueData(data: SessionData, blobs: PromptBlobs): string {
  return queueTextOnce(blobs, JSON.stringify(data)).blob;
}

/** Writes the texts that were queued since the last call; undefined if there are none. */
export function writePromptBlobs(blobs: PromptBlobs): Promise<void> | undefined {
  const { sessionId, store, unwritten } = blobs;
  if (unwritten.length === 0) return undefined;
  blobs.unwritten = none;
  return Promise.all(unwritten.map(({ bytes }) => store.putBlob(sessionId, bytes))).then(() => {});
}

/** The texts that the log refers to. The texts of `present` need no read, and are used if the log refers to none. */
export function resolvePrompt(
  blobs: PromptBlobs,
  transcript: Transcript,
  present: Prompt,
): MaybePromise<ResolvedPrompt> {
  const { toolsHash } = transcript;
  const prompt = findKnownPrompt(blobs, transcript, present);
  const isPresent = toolsHash === undefined || toolsHash === (hashTools(present.specifications)?.hash ?? null);
  const specifications = toolsHash === null ? [] : isPresent ? present.specifications : undefined;
  if (prompt !== undefined && specifications !== undefined)
    return { type: "found", systemPrompt: prompt.text, specifications };
  return readPrompt(blobs, transcript, {
    ...(prompt === undefined ? {} : { systemPrompt: prompt.text }),
    ...(specifications === undefined ? {} : { specifications }),
  });
}

/** Writes a text with the next commit. Returns its blob, its size, and the text as the store will return it. */
export function queueTextOnce(blobs: PromptBlobs, source: string): { blob: string; bytes: number; text: string } {
  const kept = hashText(source);
  if (!blobs.unwritten.some(({ hash }) => hash === kept.hash)) blobs.unwritten = [...blobs.unwritten, kept];
  return { blob: kept.hash, bytes: kept.bytes.length, text: decoder.decode(kept.bytes) };
}

function hashText(text: string): HashedText {
  const bytes = encoder.encode(text);
  return { bytes, hash: sha256(bytes) };
}

function hashTools(specifications: readonly ToolSpecification[]): HashedText | null {
  if (specifications.length === 0) return null;
  let found = toolHashes.get(specifications);
  if (found === undefined) {
    found = hashText(JSON.stringify(specifications));
    toolHashes.set(specifications, found);
  }
  return found;
}

function hashPrompt(blobs: PromptBlobs, source: string | undefined): HashedPrompt | null {
  if (source === undefined) return null;
  if (blobs.prompt?.source !== source) {
    if (newestPrompt?.source !== source) {
      const { bytes, hash } = hashText(source);
      // The store would not return a lone surrogate, so the model does not get it either.
      newestPrompt = { source, text: decoder.decode(bytes), bytes, hash };
    }
    blobs.prompt = newestPrompt;
  }
  return blobs.prompt;
}

/** The hash to record, if the log does not have it or the store has lost its text. The text is written with the next commit. */
function pickNewHash(
  blobs: PromptBlobs,
  found: HashedText | null,
  present: string | null | undefined,
): string | null | undefined {
  const hash = found?.hash ?? null;
  const isLost = hash !== null && blobs.missing.includes(hash);
  if (hash === present && !isLost) return undefined;
  if (isLost) blobs.missing = blobs.missing.filter((other) => other !== hash);
  if (found !== null) blobs.unwritten = [...blobs.unwritten, found];
  return hash;
}

function findKnownPrompt(
  blobs: PromptBlobs,
  { promptHash }: Transcript,
  present: Prompt,
): { readonly text: string | undefined } | undefined {
  if (promptHash === null) return { text: undefined };
  if (promptHash === undefined) return { text: present.systemPrompt };
  if (blobs.prompt?.hash === promptHash) return blobs.prompt;
  const prompt = hashPrompt(blobs, present.systemPrompt);
  return prompt?.hash === promptHash ? prompt : undefined;
}

async function readPrompt(
  blobs: PromptBlobs,
  { promptHash, toolsHash }: Transcript,
  found: Partial<Prompt>,
): Promise<ResolvedPrompt> {
  const missing: string[] = [];
  const readText = async (hash: string | null | undefined) => {
    const text = hash == null ? undefined : await readPromptBlob(blobs.sessionId, hash, blobs.store);
    if (text === null) missing.push(hash ?? "");
    return text ?? "";
  };
  const systemPrompt = "systemPrompt" in found ? found.systemPrompt : await readText(promptHash);
  const specifications = found.specifications ?? parseSpecifications(await readText(toolsHash));
  if (missing.length === 0) return { type: "found", systemPrompt, specifications };
  blobs.missing = [...blobs.missing.filter((hash) => !missing.includes(hash)), ...missing];
  const message = `The store lacks texts that the log refers to for this model call (blob ${missing.join(", blob ")}): the step is prepared again.`;
  return { type: "missing", message };
}

/**
 * Reads a text that a log references; null if it is missing from the store or damaged.
 * @throws PawlError `store_failed`
 */
export async function readPromptBlob(
  sessionId: string,
  hash: string,
  store: Pick<Store, "getBlob">,
): Promise<string | null> {
  try {
    const bytes = await store.getBlob(sessionId, hash);
    return bytes === null || sha256(bytes) !== hash ? null : decoder.decode(bytes);
  } catch (cause) {
    if (cause instanceof PawlError && cause.code === "store_corrupt") return null;
    throw new PawlError(
      "store_failed",
      `Blob ${hash} of session ${sessionId} could not be read (${formatError(cause)}). Check the store, then resume.`,
      { cause },
    );
  }
}

/** Parses the text of a blob. Its hash has been verified, so the text is valid JSON. */
export function parseSpecifications(text: string): readonly ToolSpecification[] {
  return text === "" ? [] : (JSON.parse(text) as readonly ToolSpecification[]);
}
