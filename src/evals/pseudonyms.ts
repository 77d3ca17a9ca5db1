/**
 * Replaces personal data with pseudonyms. Equal strings get the same pseudonym, so the results of a case still match its calls.
 *
 * 1. Mail addresses, card and account numbers, and phone numbers are found by their shape and check digits, and secrets as in
 *    traces. Names of people have no shape: they are found under the keys that the author lists, and then everywhere.
 * 2. Each replacement takes time linear in the text, times the number of names that begin with the same character.
 */
import type { Json } from "../core/data/message.js";
import { createRedaction } from "../runtime/observers/redact.js";

export type Pseudonyms = {
  /** Learns the values of the listed keys. */
  readonly collect: (value: Json) => void;
  /** Replaces personal data in every string of a value. */
  readonly apply: (value: Json) => Json;
};

type Shape = {
  readonly kind: string;
  readonly pattern: RegExp;
  readonly matches?: (text: string) => boolean;
};

const shapes: readonly Shape[] = [
  { kind: "mail", pattern: /[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{2,63}){1,5}/g },
  { kind: "card", pattern: /\b\d(?:[ -]?\d){12,18}\b/g, matches: hasLuhnDigit },
  { kind: "account", pattern: /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{2,4}){3,8}\b/g, matches: hasIbanDigits },
  { kind: "phone", pattern: /\+\d[\d ()/-]{7,18}\d/g },
];

/** A shorter value would match parts of other words everywhere. */
const minNameCharacters = 2;
/** Smaller numbers are amounts and counts rather than identifiers. */
const minHiddenNumber = 1000;

/** @param keys the members whose values are replaced, wherever those values occur: `["name", "street"]` */
export function createPseudonyms(keys: readonly string[] = []): Pseudonyms {
  const names = createNames();
  const hidden = new Set(keys.map((key) => key.toLowerCase()));
  const removeSecrets = createRedaction();

  function collect(value: Json): void {
    if (typeof value === "string") {
      const inner = parseInner(value);
      if (inner !== undefined) collect(inner);
      return;
    }
    if (typeof value !== "object" || value === null) return;
    if (Array.isArray(value)) {
      for (const item of value as readonly Json[]) collect(item);
      return;
    }
    for (const [key, member] of Object.entries(value)) {
      if (hidden.has(key.toLowerCase())) hide(key.toLowerCase(), member);
      collect(member);
    }
  }

  function hide(kind: string, value: Json): void {
    // A mail address becomes another mail address, so that the tool's schema still accepts it.
    if (typeof value === "string" && value.length >= minNameCharacters) names.add(findShape(value) ?? kind, value);
    else if (typeof value === "number" && Math.abs(value) >= minHiddenNumber) names.addNumber(value);
    else if (typeof value === "object" && value !== null)
      for (const [key, member] of Object.entries(value)) hide(Array.isArray(value) ? kind : key.toLowerCase(), member);
  }

  function replaceShapes(text: string): string {
    let replaced = text;
    for (const { kind, pattern, matches } of shapes)
      replaced = replaced.replace(pattern, (found) =>
        names.isPseudonym(found) || (matches !== undefined && !matches(found)) ? found : names.add(kind, found),
      );
    return replaced;
  }

  function applyIn(value: Json, isHidden: boolean): Json {
    if (typeof value === "string") return replaceShapes(names.replace(removeSecrets(value)));
    if (typeof value === "number") return isHidden ? (names.pseudonymOfNumber(value) ?? value) : value;
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return (value as readonly Json[]).map((item) => applyIn(item, isHidden));
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [
        replaceShapes(key),
        applyIn(member, isHidden || hidden.has(key.toLowerCase())),
      ]),
    );
  }

  return { collect, apply: (value) => applyIn(value, false) };
}

/** The kind of a string that consists of exactly one mail address, card, account or phone number. */
function findShape(text: string): string | undefined {
  return shapes.find(({ pattern, matches }) => {
    const [found] = text.match(pattern) ?? [];
    return found === text && (matches === undefined || matches(found));
  })?.kind;
}

/** The names that were found, by first character, longest first. */
function createNames() {
  const byStart = new Map<string, { readonly name: string; readonly pseudonym: string }[]>();
  const pseudonyms = new Map<string, string>();
  const numbers = new Map<number, number>();
  const given = new Set<string>();
  const counts = new Map<string, number>();

  function register(name: string, pseudonym: string): void {
    if (pseudonyms.has(name)) return;
    pseudonyms.set(name, pseudonym);
    const start = name.charAt(0);
    const list = byStart.get(start) ?? [];
    list.push({ name, pseudonym });
    list.sort((one, other) => other.name.length - one.name.length);
    byStart.set(start, list);
  }

  function add(kind: string, name: string): string {
    const known = pseudonyms.get(name);
    if (known !== undefined) return known;
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    const pseudonym = kind === "mail" ? `mail${count}@example.com` : `${kind}-${count}`;
    given.add(pseudonym);
    register(name, pseudonym);
    // Also registers the name as it appears in JSON text, and in JSON text within JSON text.
    const once = JSON.stringify(name).slice(1, -1);
    register(once, pseudonym);
    register(JSON.stringify(once).slice(1, -1), pseudonym);
    return pseudonym;
  }

  function addNumber(number: number): void {
    if (numbers.has(number)) return;
    const pseudonym = 900_000_000 + numbers.size + 1;
    numbers.set(number, pseudonym);
    register(String(number), String(pseudonym));
  }

  function replace(text: string): string {
    if (pseudonyms.size === 0) return text;
    const pieces: string[] = [];
    let from = 0;
    for (let at = 0; at < text.length; ) {
      const found = byStart
        .get(text.charAt(at))
        ?.find(({ name }) => text.startsWith(name, at) && isWhole(text, at, name));
      if (found === undefined) {
        at += 1;
        continue;
      }
      pieces.push(text.slice(from, at), found.pseudonym);
      at += found.name.length;
      from = at;
    }
    return pieces.length === 0 ? text : pieces.join("") + text.slice(from);
  }

  return {
    add,
    addNumber,
    replace,
    isPseudonym: (text: string) => given.has(text),
    pseudonymOfNumber: (number: number) => numbers.get(number),
  };
}

const letterOrDigit = /[A-Za-z0-9]/;

/** "Ann" is not replaced in "Annual". Scripts that are written without spaces have no such boundary. */
function isWhole(text: string, at: number, name: string): boolean {
  const isJoined = (inner: string, outer: string) => letterOrDigit.test(inner) && letterOrDigit.test(outer);
  const end = at + name.length;
  return !isJoined(name.charAt(0), text.charAt(at - 1)) && !isJoined(name.charAt(name.length - 1), text.charAt(end));
}

/** Parses a string that contains a JSON object or array. */
export function parseInner(text: string): Json | undefined {
  if (!/^\s{0,100}[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

function hasLuhnDigit(text: string): boolean {
  const digits = [...text.replace(/\D/g, "")].reverse().map(Number);
  const sum = digits.reduce((total, digit, index) => {
    if (index % 2 === 0) return total + digit;
    return total + (digit > 4 ? 2 * digit - 9 : 2 * digit);
  }, 0);
  return sum % 10 === 0;
}

/** The check digits of an IBAN: its number modulo 97 is 1. */
function hasIbanDigits(text: string): boolean {
  const plain = text.replaceAll(" ", "");
  if (plain.length < 15 || plain.length > 34) return false;
  let rest = 0;
  for (const character of plain.slice(4) + plain.slice(0, 4)) {
    const value = Number.parseInt(character, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}
