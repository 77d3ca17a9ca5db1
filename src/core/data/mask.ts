/**
 * Masks secrets that are known by value, in text and in JSON.
 */
import { skeletonOf } from "./escapes.js";
import type { Json } from "./message.js";

/** What stands in place of a secret. No character of it needs an escape in JSON. */
export const mask = "[redacted]";

/** Shorter secrets would also match parts of words. */
export const shortestSecret = 6;

/**
 * Returns a function that masks these secrets, also where JSON has escaped them once or several times. Secrets shorter than
 * `shortestSecret` are ignored. Takes time linear in the text.
 */
export function createMask(values: readonly string[]): (text: string) => string {
  const secrets = values.filter((value) => value.length >= shortestSecret).sort((a, b) => b.length - a.length);
  const skeletons = secrets.map((secret) => skeletonOf(secret).text).filter(({ length }) => length >= shortestSecret);
  return (text) => {
    let shown = text;
    for (const secret of secrets) shown = shown.replaceAll(secret, mask);
    // Without a backslash, nothing in the text is escaped.
    return skeletons.length > 0 && shown.includes("\\") ? maskEscaped(shown, skeletons) : shown;
  };
}

function maskEscaped(text: string, secrets: readonly string[]): string {
  const { text: skeleton, starts } = skeletonOf(text);
  const found = secrets.flatMap((secret) => placesOf(secret, skeleton)).sort((a, b) => a.from - b.from);
  const pieces: string[] = [];
  let end = 0;
  for (const { from, to } of found) {
    // Secrets may overlap: the rest of the later one is masked with the earlier one.
    if (from >= end) pieces.push(text.slice(starts[end], starts[from]), mask);
    end = Math.max(end, to);
  }
  return end === 0 ? text : pieces.join("") + text.slice(starts[end]);
}

type Place = { readonly from: number; readonly to: number };

function placesOf(secret: string, skeleton: string): readonly Place[] {
  const places: Place[] = [];
  for (let from = skeleton.indexOf(secret); from !== -1; from = skeleton.indexOf(secret, from + secret.length))
    places.push({ from, to: from + secret.length });
  return places;
}

/** A copy in which `change` was applied to every string and every key. */
export function mapStrings(value: Json, change: (text: string) => string): Json {
  return mapScalars(value, change, (number) => number);
}

/** Like `mapStrings`, and numbers are changed as JSON writes them: a number that changes becomes a string. For content only: elsewhere numbers count. */
export function mapStringsAndNumbers(value: Json, change: (text: string) => string): Json {
  return mapScalars(value, change, (number) => {
    const text = JSON.stringify(number);
    const changed = change(text);
    return changed === text ? number : changed;
  });
}

function mapScalars(value: Json, ofText: (text: string) => string, ofNumber: (number: number) => Json): Json {
  if (typeof value === "string") return ofText(value);
  if (typeof value === "number") return ofNumber(value);
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return (value as readonly Json[]).map((one) => mapScalars(one, ofText, ofNumber));
  const fields = Object.entries(value as { readonly [key: string]: Json });
  return Object.fromEntries(fields.map(([key, one]) => [ofText(key), mapScalars(one, ofText, ofNumber)]));
}
