/**
 * Lists of messages that an author's code sends instead of the conversation: checked, stored, and read again.
 *
 * 1. A list is accepted only if every provider accepts it. Otherwise the reason names the message.
 * 2. The log references a list; it does not repeat the text of the conversation. A message that is not in the conversation is stored inline
 *    if it is small, and otherwise as a blob under its hash: the same message is stored once in a session.
 * 3. A blob is written before the commit that references it. A blob that is missing from the store is never guessed.
 */
import { getErrorMessage } from "../../core/data/error-message.js";
import { deepFreeze } from "../../core/data/freeze.js";
import { checkJson } from "../../core/data/json.js";
import type { Message } from "../../core/data/message.js";
import { findListFault } from "../../core/data/message-list.js";
import { findMessageFault } from "../../core/data/message-shape.js";
import type { ListedMessage, MessageRef } from "../../core/machine/message-ref.js";
import type { Purpose } from "../../core/machine/state.js";
import { type AddedMessage, createReferences, type ShownMessages } from "../../core/transcript/message-references.js";
import { byteLength } from "../../platform/bytes.js";
import type { MaybePromise } from "../lib/coroutine.js";
import { sha256 } from "../lib/hash.js";
import { normaliseJson } from "../tools/to-json.js";
import { type PromptBlobs, readPromptBlob } from "./prompt-blobs.js";

/** The maximum size of a list in bytes of JSON, and the maximum number of messages. */
const maxListBytes = 8 * 1024 * 1024;
const maxMessages = 100_000;

/** A message of at most this many bytes is stored inline in its entry. */
const maxInlineBytes = 1_024;

export type ListCheck =
  | { readonly ok: true; readonly messages: readonly Message[] }
  /** The reason begins with the position in the list: `messages[3]: …`. */
  | { readonly ok: false; readonly reason: string };

export type ListRules = {
  /** Messages that the author's code has received. The list may contain these objects; all others are copied. */
  readonly known: Iterable<Message>;
  /** The message of a provider that paused: the list must end with it. */
  readonly paused?: Message;
};

/** The message with which a list must end, if a provider paused. */
export function pickPaused(
  { messages }: ShownMessages,
  { purpose }: { readonly purpose: Purpose },
): Partial<ListRules> {
  const last = messages.at(-1);
  return purpose === "unpause" && last?.role === "assistant" ? { paused: last } : {};
}

/** Checks a list from an author's code. The result is frozen, and shares only known messages with the input. */
export function checkList(value: unknown, { known, paused }: ListRules): ListCheck {
  if (!Array.isArray(value)) return { ok: false, reason: "messages is not an array" };
  if (value.length > maxMessages)
    return { ok: false, reason: `messages has ${value.length} messages; the maximum is ${maxMessages}` };
  const knownMessages = new Set(known);
  const messages: Message[] = [];
  let bytes = 0;
  for (let index = 0; index < value.length; index += 1) {
    const message = toCheckedMessage(value[index], knownMessages);
    if (typeof message === "string") return { ok: false, reason: `messages[${index}]: ${message}` };
    bytes += measureMessage(message);
    if (bytes > maxListBytes)
      return { ok: false, reason: `messages[${index}]: the list takes more than ${maxListBytes} bytes` };
    messages.push(message);
  }
  const fault = findListFault(messages, paused);
  if (fault === undefined) return { ok: true, messages: Object.freeze(messages) };
  return { ok: false, reason: `messages[${fault.index}]: ${fault.reason}` };
}

/** Returns the same object if the message is known, otherwise a copy. Returns a string with the reason if it is not a valid message. */
function toCheckedMessage(value: unknown, known: ReadonlySet<unknown>): Message | string {
  if (known.has(value)) return value as Message;
  try {
    const plain = normaliseJson(value);
    const checked = checkJson(plain, { maxBytes: maxListBytes });
    if (!checked.ok) return checked.error;
    return findMessageFault(plain) ?? (deepFreeze(plain) as unknown as Message);
  } catch (error) {
    return getErrorMessage(error);
  }
}

const messageSizes = new WeakMap<Message, number>();

function measureMessage(message: Message): number {
  let bytes = messageSizes.get(message);
  if (bytes === undefined) {
    bytes = byteLength(JSON.stringify(message));
    messageSizes.set(message, bytes);
  }
  return bytes;
}

/** Creates the references of a list for the log. Messages in blobs are written with the next commit. */
export function createListReferences(
  list: readonly Message[],
  shown: ShownMessages,
  texts: PromptBlobs,
  options?: Parameters<typeof createReferences>[3],
): readonly MessageRef[] {
  const stored = new Map<string, Message>();
  const storeMessage = (message: Message): AddedMessage => {
    if (measureMessage(message) <= maxInlineBytes) return { message };
    const blob = queueMessage(message, texts);
    stored.set(blob, texts.messages?.get(blob) ?? message);
    return { blob };
  };
  const refs = createReferences(list, shown, storeMessage, options);
  texts.messages = stored.size === 0 ? null : stored;
  return refs;
}

const encoder = new TextEncoder();

/** Returns the hash of a message. Its blob is written with the next commit, unless this process knows that it exists. */
function queueMessage(message: Message, texts: PromptBlobs): string {
  const bytes = encoder.encode(JSON.stringify(message));
  const hash = sha256(bytes);
  const isLost = texts.missing.includes(hash);
  if (isLost) texts.missing = texts.missing.filter((other) => other !== hash);
  if (isLost || texts.messages?.has(hash) !== true) texts.unwritten = [...texts.unwritten, { hash, bytes }];
  return hash;
}

export type ResolvedList =
  | { readonly type: "found"; readonly messages: readonly Message[] }
  /** The store does not have a blob that the log refers to. */
  | { readonly type: "missing"; readonly message: string };

/** The messages of a list in the log. Synchronous, unless a blob has to be read. */
export function resolveList(list: readonly ListedMessage[], texts: PromptBlobs): MaybePromise<ResolvedList> {
  const messages = list.map((listed) => (isMessage(listed) ? listed : (texts.messages?.get(listed.blob) ?? listed)));
  return messages.every(isMessage) ? { type: "found", messages } : readList(list, texts);
}

async function readList(list: readonly ListedMessage[], texts: PromptBlobs): Promise<ResolvedList> {
  const read = new Map<string, Message>();
  const missing: string[] = [];
  for (const listed of list) {
    if (isMessage(listed) || read.has(listed.blob) || missing.includes(listed.blob)) continue;
    const message = texts.messages?.get(listed.blob) ?? (await readMessage(listed.blob, texts));
    if (message === null) missing.push(listed.blob);
    else read.set(listed.blob, message);
  }
  if (missing.length > 0) {
    texts.missing = [...texts.missing.filter((hash) => !missing.includes(hash)), ...missing];
    return {
      type: "missing",
      message: `The store lacks messages that the log refers to (blob ${missing.join(", blob ")})`,
    };
  }
  texts.messages = read;
  const messages = list.flatMap((listed) => (isMessage(listed) ? [listed] : (read.get(listed.blob) ?? [])));
  return { type: "found", messages };
}

/** `readPromptBlob` has verified the hash, so the text is valid JSON. */
async function readMessage(blob: string, { sessionId, store }: PromptBlobs): Promise<Message | null> {
  const text = await readPromptBlob(sessionId, blob, store);
  return text === null ? null : (deepFreeze(JSON.parse(text)) as Message);
}

function isMessage(listed: ListedMessage): listed is Message {
  return "role" in listed;
}
