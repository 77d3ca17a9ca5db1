/**
 * Masks known secret values in text and in JSON.
 */

import type { Json } from "./message.js";
import { skeletonOf } from "./skeleton.js";

/** The replacement for a secret. None of its characters needs an escape in JSON. */
export const mask = "[redacted]";

/** Shorter secrets would also match parts of words. */
export const minSecretLength = 6;

/**
 * Returns a function that masks these secrets, even where JSON has escaped them once or several times. Secrets shorter than
 * `minSecretLength` are ignored. Takes time linear in the text.
 */
export function createMask(values: readonly string[]): (text: string) => string {
  const secrets = values.filter((value) => value.length >= minSecretLength).sort((a, b) => b.length - a.length);
  const skeletons = secrets.map((secret) => skeletonOf(secret).text).filter(({ length }) => length >= minSecretLength);
  return (text) => {
    let shown = text;
    for (const secret of secrets) shown = shown.replaceAll(secret, mask);
    // Without a backslash, nothing in the text is escaped.
    return skeletons.length > 0 && shown.includes("\\") ? maskEscaped(shown, skeletons) : shown;
  };
}

function maskEscaped(text: string, secrets: readonly string[]): string {
  const { text: skeleton, starts } = skeletonOf(text);
  const ranges = secrets.flatMap((secret) => findOccurrences(secret, skeleton)).sort((a, b) => a.from - b.from);
  const pieces: string[] = [];
  let end = 0;
  for (const { from, to } of ranges) {
    // Secrets may overlap. The rest of the later one is masked together with the earlier one.
    if (from >= end) pieces.push(text.slice(starts[end], starts[from]), mask);
    end = Math.max(end, to);
  }
  return end === 0 ? text : pieces.join("") + text.slice(starts[end]);
}

type TextRange = { readonly from: number; readonly to: number };

function findOccurrences(secret: string, skeleton: string): readonly TextRange[] {
  const ranges: TextRange[] = [];
  for (let from = skeleton.indexOf(secret); from !== -1; from = skeleton.indexOf(secret, from + secret.length))
    ranges.push({ from, to: from + secret.length });
  return ranges;
}

/** A copy with `change` applied to every string and every key. */
export function mapStrings(value: Json, change: (text: string) => string): Json {
  return mapScalars(value, change, (number) => number);
}

/**
 * Like `mapStrings`, but `change` is also applied to the JSON text of each number: a number that changes becomes a string. For content
 * only, because elsewhere numbers have a meaning.
 */
export function mapStringsAndNumbers(value: Json, change: (text: string) => string): Json {
  return mapScalars(value, change, (number) => {
    const text = JSON.stringify(number);
    const changed = change(text);
    return changed === text ? number : changed;
  });
}

function mapScalars(value: Json, mapText: (text: string) => string, mapNumber: (number: number) => Json): Json {
  if (typeof value === "string") return mapText(value);
  if (typeof value === "number") return mapNumber(value);
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => mapScalars(item, mapText, mapNumber));
  const fields = Object.entries(value as { readonly [key: string]: Json });
  return Object.fromEntries(fields.map(([key, item]) => [mapText(key), mapScalars(item, mapText, mapNumber)]));
}
