/**
 * Removes secrets from a stream of events and deltas.
 *
 * 1. Streamed text is buffered only while it may be the beginning of a secret. The pieces, joined, are the redacted text.
 * 2. The deltas of a stream keep their numbers and order. The last delta of a text is buffered, so that withheld text has a delta to be
 *    sent with. When the next delta arrives, the buffered delta is sent with all text that can now be shown, including text of the next
 *    delta. So only the first delta of a text waits for another.
 * 3. A snapshot, or another attempt, replaces what is buffered: it may be the beginning of a secret.
 * 4. After a snapshot, text of several parts may be buffered, and only the last of them has a delta to be sent with. The others are sent with
 *    their next delta, or in place of the delta that ends their part.
 */
import { anArray, checkOptions, type OptionTable } from "../../check-options.js";
import type { Json } from "../../core/data/message.js";
import { skeletonOf } from "../../core/data/skeleton.js";
import type { MessageDelta } from "../../ports/model.js";
import { toAttemptKey } from "../../stream/attempt-key.js";
import { type Redact, redactJson } from "../observers/redact.js";
import type { MessageSnapshot, StreamItem } from "./stream-types.js";

/** What to remove from a stream. */
export type StreamRedactionOptions = {
  /** Secrets that are also removed if they are split across deltas. */
  readonly values?: readonly string[];
};

const streamRules: OptionTable<StreamRedactionOptions> = { values: anArray };

/** A redaction function, and the secrets that it knows by value. */
type KnownSecrets = { readonly redact: Redact; readonly secrets: readonly string[] };

type TextDelta = Extract<MessageDelta, { readonly text: string }>;
type DeltaItem = Extract<StreamItem, { readonly type: "delta" }> & { readonly delta: TextDelta };

/**
 * Redacts the items of one stream, which must be passed in order.
 * @param options.values secrets that `redact` knows by value and that contain spaces: text that may begin one of them is also buffered
 */
export function createStreamRedaction(
  redact: Redact,
  options: StreamRedactionOptions = {},
): (item: StreamItem) => readonly StreamItem[] {
  checkOptions("createStreamRedaction()", streamRules, options);
  const { values: secrets = [] } = options;
  // The cast is safe because redaction changes the strings in plain data and keeps its shape.
  const redactValue = <T>(data: T): T => redactJson(data as Json, redact) as T;
  /** Text that has not been sent yet, by message part. */
  const buffered = new Map<string, string>();
  /** The last delta, which has not been sent yet. Its text is in `buffered`. */
  let last: DeltaItem | null = null;
  let attemptKey = "";

  function discard(): void {
    buffered.clear();
    last = null;
  }

  function enterAttempt(delta: MessageDelta): void {
    const key = toAttemptKey(delta);
    if (key !== attemptKey) discard();
    attemptKey = key;
  }

  function redactText(item: DeltaItem, text: string): StreamItem {
    return { ...item, delta: { ...item.delta, text: redact(text) } };
  }

  /**
   * Returns the last delta with all buffered text, because an item of another part follows: a provider may send the end of a text long
   * after its last word.
   */
  function flush(): readonly StreamItem[] {
    if (last === null) return [];
    const item = last;
    const key = partKey(item.delta);
    const text = buffered.get(key) ?? "";
    buffered.delete(key);
    last = null;
    return [redactText(item, text)];
  }

  function addText(item: DeltaItem): readonly StreamItem[] {
    const { delta, n = 1 } = item;
    const key = partKey(delta);
    const isContinued = last !== null && partKey(last.delta) === key;
    const others = isContinued ? [] : flush();
    const text = (buffered.get(key) ?? "") + delta.text;
    // A joined delta is split in two: one to send now, and one to buffer.
    const before = n > 1 && last === null ? { ...item, n: n - 1, delta: { ...delta, seq: delta.seq - 1 } } : last;
    const length = before === null ? 0 : safeLength(text, { redact, secrets });
    buffered.set(key, text.slice(length));
    last = n > 1 && !isContinued ? { ...item, n: 1 } : item;
    return before === null ? others : [...others, redactText(before, text.slice(0, length))];
  }

  /**
   * A delta that is not text. If it ends a part of which text is buffered, the text is sent with its number instead: readers end the part
   * with the message.
   */
  function redactOther(item: Extract<StreamItem, { readonly type: "delta" }>): StreamItem {
    const { delta } = item;
    const { runId, modelCallIndex, attempt, seq, kind } = delta;
    if (kind !== "text-end" && kind !== "reasoning-end" && kind !== "tool-input-end") return redactValue(item);
    const key = partKey(delta);
    const text = buffered.get(key) ?? "";
    if (text === "") return redactValue(item);
    buffered.delete(key);
    const textKind = textKinds[kind];
    return {
      type: "delta",
      delta: { runId, modelCallIndex, attempt, seq, kind: textKind, id: delta.id, text: redact(text) },
    };
  }

  /** The withheld text of a snapshot is sent with a separate delta, whose number the snapshot leaves free. */
  function redactSnapshot(item: MessageSnapshot): StreamItem {
    attemptKey = toAttemptKey(item);
    discard();
    const { runId, modelCallIndex, attempt, deltaSeq: seq } = item;
    const hold = (kind: TextDelta["kind"], id: string, text: string): string => {
      const length = safeLength(text, { redact, secrets });
      if (length === text.length) return text;
      const delta: TextDelta = { runId, modelCallIndex, attempt, seq, kind, id, text: "" };
      last = { type: "delta", n: 1, delta };
      buffered.set(partKey(delta), text.slice(length));
      return text.slice(0, length);
    };
    const parts = item.message.parts.map((part, index) => {
      const open = item.open.find((openPart) => openPart.index === index);
      return open === undefined || !("text" in part)
        ? part
        : { ...part, text: hold(`${open.type}-delta`, open.id, part.text) };
    });
    const inputs = item.inputs.map((input) => ({ ...input, text: hold("tool-input-delta", input.id, input.text) }));
    const deltaSeq = last === null ? seq : seq - 1;
    return redactValue({ ...item, deltaSeq, message: { ...item.message, parts }, inputs });
  }

  return (item) => {
    if (item.type === "snapshot") return [redactSnapshot(item)];
    // Other items may arrive between two deltas of a text. They neither end the text nor wait for it.
    if (item.type !== "delta") return [redactValue(item)];
    enterAttempt(item.delta);
    return isTextDelta(item) ? addText(item) : [...flush(), redactOther(item)];
  };
}

/** The deltas that carry the text of a part, by the kind of the delta that ends it. */
const textKinds = {
  "text-end": "text-delta",
  "reasoning-end": "reasoning-delta",
  "tool-input-end": "tool-input-delta",
} as const;

function isTextDelta(item: Extract<StreamItem, { readonly type: "delta" }>): item is DeltaItem {
  return "text" in item.delta;
}

/** The key of the message part that a delta belongs to: `text/1`, `reasoning/1`, `tool-input/c`. */
function partKey({ kind, id }: Pick<TextDelta, "id"> & { readonly kind: string }): string {
  return `${kind.replace(/-(?:start|delta|end)$/, "")}/${id}`;
}

/** The maximum number of buffered characters: no secret of a known shape is longer. */
const maxBuffered = 24_000;

/**
 * How many characters can be shown: the shown text ends neither within a secret, nor with the beginning of a secret that more text might
 * complete.
 */
export function safeLength(text: string, { redact, secrets }: KnownSecrets): number {
  const secretStart = Math.min(text.length, ...findPartialSecrets(text, secrets));
  const redactedWhole = redact(text);
  // Each attempt goes back twice as far, so that an adversarial text does not cost one attempt per word.
  let step = 1;
  for (let length = findWordEnd(text, text.length); text.length - length <= maxBuffered; step *= 2) {
    const cut = Math.min(length, secretStart, ...findOpenSecrets(text, length));
    const isWhole = length === 0 || length === text.length;
    if (cut === length && (isWhole || redact(text.slice(0, length)) + redact(text.slice(length)) === redactedWhole))
      return length;
    length = findWordEnd(text, Math.max(0, Math.min(cut, length - step)));
  }
  return text.length;
}

/** The end of the last whole word, or of the last non-ASCII letter: secrets are ASCII words, except passwords in URLs. */
function findWordEnd(text: string, before: number): number {
  const space = findLastEnd(text, before, (code) => code <= 0x20);
  if (text.slice(space, before).includes("://")) return space;
  const end = findLastEnd(text, before, (code) => code <= 0x20 || code > 0x7e);
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end;
}

function findLastEnd(text: string, before: number, isEnd: (code: number) => boolean): number {
  let end = before;
  while (end > 0 && !isEnd(text.charCodeAt(end - 1))) end -= 1;
  return end;
}

const openScheme = /(?:Bearer|Basic) $/;
const openHeader = /^-----BEGIN [A-Z ]{0,30}-{0,5}$/;
const openKey = /^-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=\s\\]{0,20000}$/;

/** The positions where secrets with spaces may begin: an HTTP authorization scheme, and a private key. */
function findOpenSecrets(text: string, length: number): readonly number[] {
  const shown = text.slice(0, length);
  const scheme = openScheme.exec(shown.slice(-20));
  const begin = text.lastIndexOf("-----BEGIN", length);
  const rest = begin === -1 ? "" : text.slice(begin);
  return [
    ...(scheme === null ? [] : [length - scheme[0].length]),
    ...(openHeader.test(rest) || openKey.test(rest) ? [begin] : []),
  ];
}

const openEscape = /\\+(?:u[0-9a-fA-F]{0,3})?$/;

/** The positions where secrets known by value may begin, in any JSON escaping, and the position of an incomplete escape. */
function findPartialSecrets(text: string, secrets: readonly string[]): readonly number[] {
  if (secrets.length === 0) return [];
  const offset = Math.max(0, text.length - maxBuffered);
  const open = openEscape.exec(text.slice(-maxEscape))?.[0].length ?? 0;
  const { text: skeleton, starts } = skeletonOf(text.slice(offset, text.length - open));
  const positions = secrets.map((secret) => {
    const length = matchedPrefixLength(skeleton, skeletonOf(secret).text);
    return offset + (starts[skeleton.length - length] ?? 0);
  });
  return open === 0 ? positions : [...positions, text.length - open];
}

/** The maximum number of characters of an incomplete escape that are buffered. */
const maxEscape = 100;

/** The length of the longest suffix of the text that is a proper prefix of the secret. Takes linear time. */
function matchedPrefixLength(text: string, secret: string): number {
  const shorter = prefixLengths(secret);
  let length = 0;
  for (const character of text.slice(-secret.length).split("")) {
    while (length > 0 && secret.charAt(length) !== character) length = shorter[length - 1] ?? 0;
    if (secret.charAt(length) === character) length += 1;
    if (length === secret.length) length = shorter[length - 1] ?? 0;
  }
  return length;
}

/** For each prefix of the secret, the length of its longest proper prefix that is also its suffix (Knuth, Morris and Pratt). */
function prefixLengths(secret: string): readonly number[] {
  const lengths = [0];
  let length = 0;
  for (let index = 1; index < secret.length; index += 1) {
    while (length > 0 && secret.charAt(index) !== secret.charAt(length)) length = lengths[length - 1] ?? 0;
    if (secret.charAt(index) === secret.charAt(length)) length += 1;
    lengths.push(length);
  }
  return lengths;
}
