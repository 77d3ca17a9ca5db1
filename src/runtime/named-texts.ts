/**
 * System prompts and tool specifications, which the log names by their hash (TRC-3): kept once, as blobs of their session.
 *
 * 1. A blob is written before the commit that names it.
 * 2. A session whose prompt and tools stay the same writes each once in a process.
 * 3. What a model is sent is what the log names. One that is missing in the store is never guessed: it is named, and written, anew.
 */
import type { EventOf } from "../core/event.js";
import type { Transcript } from "../core/transcript.js";
import { PawlError } from "../errors.js";
import type { ToolSpecification } from "../ports/model.js";
import type { Store } from "../ports/store.js";
import { textOfError } from "./error-text.js";
import { sha256 } from "./hash.js";

type Named = { readonly hash: string; readonly text: string };

/** A system prompt, and the specifications of all tools that a model may be told of. */
export type Texts = {
  readonly systemPrompt: string | undefined;
  readonly specifications: readonly ToolSpecification[];
};

export type FoundTexts =
  | ({ readonly type: "found" } & Texts)
  /** The log names a blob that is not there. */
  | { readonly type: "missing"; readonly message: string };

export type NamedTexts = {
  /** What a model call's entry says of its prompt and tools: only what the log does not say already. */
  readonly name: (texts: Texts, transcript: Transcript) => Pick<EventOf<"prepared">, "promptHash" | "toolsHash">;
  /** Writes what was named since. Undefined where there is nothing to write. */
  readonly write: () => Promise<void> | undefined;
  /** The texts that the log names; those of `present` are known, and stand where the log says nothing. */
  readonly find: (transcript: Transcript, present: Texts) => FoundTexts | Promise<FoundTexts>;
};

/** An agent's specifications stay the same array. */
const asTexts = new WeakMap<readonly ToolSpecification[], Named>();

function namedTools(specifications: readonly ToolSpecification[]): Named | null {
  if (specifications.length === 0) return null;
  let named = asTexts.get(specifications);
  if (named === undefined) {
    const text = JSON.stringify(specifications);
    named = { hash: sha256(text), text };
    asTexts.set(specifications, named);
  }
  return named;
}

export function createNamedTexts(sessionId: string, store: Pick<Store, "putBlob" | "getBlob">): NamedTexts {
  let prompt: (Named & { readonly given: string }) | null = null;
  let unwritten: string[] = [];
  const missing = new Set<string>();

  function namedPrompt(given: string | undefined): Named | null {
    if (given === undefined) return null;
    if (prompt?.given !== given) {
      // A lone surrogate does not come back from the store: the model is not sent it either.
      const text = Buffer.from(given).toString();
      prompt = { given, text, hash: sha256(text) };
    }
    return prompt;
  }

  /** The hash, where the log does not have it or the store has lost its text, which is then written. */
  function nameAnew(named: Named | null, present: string | null | undefined): string | null | undefined {
    const hash = named?.hash ?? null;
    const isLost = hash !== null && missing.delete(hash);
    if (hash === present && !isLost) return undefined;
    if (named !== null) unwritten.push(named.text);
    return hash;
  }

  function knownPrompt({ promptHash }: Transcript, present: Texts): { readonly text: string | undefined } | undefined {
    if (promptHash === null) return { text: undefined };
    if (promptHash === undefined) return { text: present.systemPrompt };
    if (prompt?.hash === promptHash) return prompt;
    const named = namedPrompt(present.systemPrompt);
    return named?.hash === promptHash ? named : undefined;
  }

  async function read({ promptHash, toolsHash }: Transcript, known: Partial<Texts>): Promise<FoundTexts> {
    const lost: string[] = [];
    const textOf = async (hash: string | null | undefined) => {
      const text = hash == null ? undefined : await readNamedText(sessionId, hash, store);
      if (text === null) lost.push(hash ?? "");
      return text ?? "";
    };
    const systemPrompt = "systemPrompt" in known ? known.systemPrompt : await textOf(promptHash);
    const specifications = known.specifications ?? specificationsIn(await textOf(toolsHash));
    if (lost.length === 0) return { type: "found", systemPrompt, specifications };
    for (const hash of lost) missing.add(hash);
    const message = `What the log names for this model call is not in the store (blob ${lost.join(", blob ")}): the step is prepared anew.`;
    return { type: "missing", message };
  }

  return {
    name({ systemPrompt, specifications }, { promptHash, toolsHash }) {
      const newPrompt = nameAnew(namedPrompt(systemPrompt), promptHash);
      const newTools = nameAnew(namedTools(specifications), toolsHash);
      return {
        ...(newPrompt === undefined ? {} : { promptHash: newPrompt }),
        ...(newTools === undefined ? {} : { toolsHash: newTools }),
      };
    },
    write() {
      if (unwritten.length === 0) return undefined;
      const texts = unwritten;
      unwritten = [];
      return Promise.all(texts.map((text) => store.putBlob(sessionId, Buffer.from(text)))).then(() => {});
    },
    find(transcript, present) {
      const { toolsHash } = transcript;
      const known = knownPrompt(transcript, present);
      const isPresent = toolsHash === undefined || toolsHash === (namedTools(present.specifications)?.hash ?? null);
      const specifications = toolsHash === null ? [] : isPresent ? present.specifications : undefined;
      if (known !== undefined && specifications !== undefined)
        return { type: "found", systemPrompt: known.text, specifications };
      return read(transcript, {
        ...(known === undefined ? {} : { systemPrompt: known.text }),
        ...(specifications === undefined ? {} : { specifications }),
      });
    },
  };
}

/**
 * A text that a log names; null where it is missing in the store, or damaged.
 * @throws PawlError `store_failed`
 */
export async function readNamedText(
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
