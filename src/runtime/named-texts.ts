/**
 * System prompts and tool specifications, which the log names by their hash (TRC-3): kept once, as blobs of their session.
 *
 * 1. A blob is written before the commit that names it.
 * 2. A session whose prompt and tools stay the same writes each once in a process.
 */
import type { EventOf } from "../core/event.js";
import type { Transcript } from "../core/transcript.js";
import { PawlError } from "../errors.js";
import type { ToolSpecification } from "../ports/model.js";
import type { Store } from "../ports/store.js";
import { sha256 } from "./hash.js";

type Named = { readonly hash: string; readonly text: string };

export type NamedTexts = {
  /** What a model call's entry says of its prompt and tools: only what the log does not say already. */
  readonly name: (
    systemPrompt: string | undefined,
    specifications: readonly ToolSpecification[],
    transcript: Transcript,
  ) => Pick<EventOf<"prepared">, "promptHash" | "toolsHash">;
  /** Writes what was named since. Undefined where there is nothing to write. */
  readonly write: () => Promise<void> | undefined;
  /** The system prompt that the log names; `present` where nothing is known of it. */
  readonly promptOf: (
    transcript: Transcript,
    present: string | undefined,
  ) => string | undefined | Promise<string | undefined>;
  /** The specifications that the log names; `present` where they are the same, or nothing is known of them. */
  readonly toolsOf: (
    transcript: Transcript,
    present: readonly ToolSpecification[],
  ) => readonly ToolSpecification[] | Promise<readonly ToolSpecification[]>;
};

/** An agent's specifications stay the same array. */
const asTexts = new WeakMap<readonly ToolSpecification[], Named>();

function namedTools(specifications: readonly ToolSpecification[]): Named {
  let named = asTexts.get(specifications);
  if (named === undefined) {
    const text = JSON.stringify(specifications);
    named = { hash: sha256(text), text };
    asTexts.set(specifications, named);
  }
  return named;
}

export function createNamedTexts(sessionId: string, store: Pick<Store, "putBlob" | "getBlob">): NamedTexts {
  let prompt: Named | null = null;
  let unwritten: string[] = [];

  function namedPrompt(text: string): Named {
    if (prompt?.text !== text) prompt = { hash: sha256(text), text };
    return prompt;
  }

  async function read(hash: string): Promise<string> {
    const bytes = await store.getBlob(sessionId, hash);
    if (bytes !== null) return Buffer.from(bytes).toString();
    throw new PawlError(
      "store_corrupt",
      `The blob ${hash} of session ${sessionId}, which its log names, is missing in the store. Look at what store.verify() finds.`,
    );
  }

  return {
    name(systemPrompt, specifications, { promptHash, toolsHash }) {
      const named = systemPrompt === undefined ? null : namedPrompt(systemPrompt);
      const tools = specifications.length === 0 ? null : namedTools(specifications);
      const hashes = { promptHash: named?.hash ?? null, toolsHash: tools?.hash ?? null };
      const isNewPrompt = hashes.promptHash !== promptHash;
      const areNewTools = hashes.toolsHash !== toolsHash;
      if (isNewPrompt && named !== null) unwritten.push(named.text);
      if (areNewTools && tools !== null) unwritten.push(tools.text);
      return {
        ...(isNewPrompt ? { promptHash: hashes.promptHash } : {}),
        ...(areNewTools ? { toolsHash: hashes.toolsHash } : {}),
      };
    },
    write() {
      if (unwritten.length === 0) return undefined;
      const texts = unwritten;
      unwritten = [];
      return Promise.all(texts.map((text) => store.putBlob(sessionId, Buffer.from(text)))).then(() => {});
    },
    promptOf({ promptHash }, present) {
      if (promptHash === undefined) return present;
      if (promptHash === null) return undefined;
      return prompt?.hash === promptHash ? prompt.text : read(promptHash);
    },
    toolsOf({ toolsHash }, present) {
      if (toolsHash === null) return [];
      if (toolsHash === undefined || toolsHash === namedTools(present).hash) return present;
      return read(toolsHash).then((text) => JSON.parse(text) as readonly ToolSpecification[]);
    },
  };
}
