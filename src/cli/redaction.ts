/**
 * Keeps secrets off the terminal and out of what its output is written to (TRC-2, SEC-14): keys of known shapes, and the values of
 * environment variables that are named as secrets are.
 *
 * 1. What somebody is asked to approve is not redacted: what is shown is what runs (SEC-6).
 * 2. Text that comes in pieces is held back only as far as it may be the beginning of a secret; together, the pieces are the whole text,
 *    redacted. The deltas of a stream stay the same ones, in the same order: text that is held back comes with the next piece.
 */

import { createRedaction, type Json, type MessageDelta, type Redact, redactJson, type StreamItem } from "../index.js";
import type { Environment } from "./home.js";

const secretName = /(?:^|_)(?:API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|SECRET(?:_?KEY)?|TOKEN|PASSWORD|PASSWD)$/i;
const shortestValue = 8;

/** The secrets that this process was handed. */
export function secretsOf(environment: Environment): readonly string[] {
  return Object.entries(environment).flatMap(([name, value = ""]) =>
    secretName.test(name) && value.length >= shortestValue ? [value] : [],
  );
}

export type Redaction = {
  readonly text: Redact;
  /** A copy of plain data. */
  readonly value: <T>(value: T) => T;
  /** For the items of one stream, one after another. */
  readonly stream: () => (item: StreamItem) => readonly StreamItem[];
};

export function createTerminalRedaction(environment: Environment): Redaction {
  const values = secretsOf(environment);
  const text = createRedaction({ values });
  // Redacting plain data keeps its shape.
  const value = <T>(given: T): T => redactJson(given as Json, text) as T;
  return { text, value, stream: () => createStream(text, value, values) };
}

/** A redaction, and what it knows by value. */
type Secrets = { readonly redact: Redact; readonly secrets: readonly string[] };

type TextDelta = Extract<MessageDelta, { readonly text: string }>;
type DeltaItem = { readonly type: "delta"; readonly delta: TextDelta };

function createStream(
  redact: Redact,
  value: Redaction["value"],
  secrets: readonly string[],
): ReturnType<Redaction["stream"]> {
  const kept = new Map<string, string>();
  let last: DeltaItem | null = null;

  /** The last piece, as far as it can be shown; all of it where something else follows. A provider may end a text long after its last word. */
  function release(isWhole: boolean): readonly StreamItem[] {
    if (last === null) return [];
    const { delta } = last;
    const text = (kept.get(keyOf(delta)) ?? "") + delta.text;
    const length = isWhole ? text.length : shownLength(text, { redact, secrets });
    kept.set(keyOf(delta), text.slice(length));
    last = null;
    return [{ type: "delta", delta: { ...delta, text: redact(text.slice(0, length)) } }];
  }

  function openSnapshot(item: Extract<StreamItem, { readonly type: "snapshot" }>): StreamItem {
    kept.clear();
    const parts = item.message.parts.map((part, index) => {
      const open = item.open.find((one) => one.index === index);
      if (open === undefined || !("text" in part)) return part;
      const length = shownLength(part.text, { redact, secrets });
      kept.set(`${open.type}/${open.id}`, part.text.slice(length));
      return { ...part, text: part.text.slice(0, length) };
    });
    return value({ ...item, message: { ...item.message, parts } });
  }

  return (item) => {
    if (item.type === "snapshot") return [...release(true), openSnapshot(item)];
    // What happens beside the model's text does not end it, and need not wait for it.
    if (item.type !== "delta") return [value(item)];
    const { delta } = item;
    const goesOn = last !== null && "text" in delta && keyOf(delta) === keyOf(last.delta);
    const released = release(!goesOn);
    if (delta.kind === "start") kept.clear();
    if (!("text" in delta)) return [...released, value(item)];
    last = { type: "delta", delta };
    return released;
  };
}

/** The part of a message that a delta belongs to: `text/1`, `reasoning/1`, `tool-input/c`. */
function keyOf({ kind, id }: Pick<TextDelta, "id"> & { readonly kind: string }): string {
  return `${kind.replace(/-(?:start|delta|end)$/, "")}/${id}`;
}

/** More than this is not held back: no secret of a known shape is as long. */
const mostHeld = 24_000;

/** How much of a text cannot become part of a secret by what comes after it, and cuts none in two. */
export function shownLength(text: string, { redact, secrets }: Secrets): number {
  for (let length = wordsEnd(text, text.length); text.length - length <= mostHeld; ) {
    const held = Math.min(length, ...heldFrom(text, length, secrets));
    if (held === length && (length === 0 || !cutsSecret(text, length, redact))) return length;
    length = wordsEnd(text, Math.min(held, length - 1));
  }
  return text.length;
}

function cutsSecret(text: string, at: number, redact: Redact): boolean {
  return redact(text.slice(0, at)) + redact(text.slice(at)) !== redact(text);
}

/** Secrets are words of ASCII, but for passwords in addresses: the end of the last whole word, or of the last other letter. */
function wordsEnd(text: string, before: number): number {
  const space = endOfLast(text, before, (code) => code <= 0x20);
  if (text.slice(space, before).includes("://")) return space;
  const end = endOfLast(text, before, (code) => code <= 0x20 || code > 0x7e);
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last <= 0xdbff ? end - 1 : end;
}

function endOfLast(text: string, before: number, isMeant: (code: number) => boolean): number {
  let end = before;
  while (end > 0 && !isMeant(text.charCodeAt(end - 1))) end -= 1;
  return end;
}

const openScheme = /(?:Bearer|Basic) $/;
const openHeader = /^-----BEGIN [A-Z ]{0,30}-{0,5}$/;
const openKey = /^-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=\s\\]{0,20000}$/;

/** Where secrets may have begun that have spaces in them: the word after an HTTP scheme, a private key, and those known by value. */
function heldFrom(text: string, length: number, secrets: readonly string[]): readonly number[] {
  const shown = text.slice(0, length);
  const scheme = openScheme.exec(shown.slice(-20));
  const begin = text.lastIndexOf("-----BEGIN", length);
  const rest = begin === -1 ? "" : text.slice(begin);
  return [
    ...(scheme === null ? [] : [length - scheme[0].length]),
    ...(openHeader.test(rest) || openKey.test(rest) ? [begin] : []),
    ...secrets.map((secret) => text.length - begunLength(text, secret)),
  ];
}

/** How many of the last characters may be the first ones of a secret. */
function begunLength(text: string, secret: string): number {
  for (let length = Math.min(text.length, secret.length - 1); length > 0; length -= 1)
    if (text.endsWith(secret.slice(0, length))) return length;
  return 0;
}
