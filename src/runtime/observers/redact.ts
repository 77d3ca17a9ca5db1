/**
 * Removes secrets from texts that are traced, logged to a file or shown (SEC-14, TRC-2).
 *
 * 1. Every pattern takes time linear in the text: none backtracks over text that it has failed to match.
 * 2. Texts that are stored for the model are not redacted: only hooks can change those.
 */

import { aList, checkOptions, type OptionTable } from "../../check-options.js";
import { skeletonOf } from "../../core/data/escapes.js";
import type { Json } from "../../core/data/message.js";

/** Returns a text without its secrets. */
export type Redact = (text: string) => string;

/** What is removed from texts. */
export type RedactOptions = {
  /**
   * Secrets by value. They are also found where JSON has escaped them, once or several times. Values shorter than 6
   * characters are ignored, because they would also match parts of words.
   */
  readonly values?: readonly string[];
  /** Patterns in addition to the built-in ones. Each needs the flag `g`. */
  readonly shapes?: readonly RegExp[];
};

const redactRules: OptionTable<RedactOptions> = { values: aList, shapes: aList };

const mask = "[redacted]";
const shortestValue = 6;

/**
 * Keys, tokens and passwords as their issuers write them. The first group, if there is one, stays in the text. No
 * pattern matches a quote, so that JSON stays JSON.
 */
const knownShapes: readonly RegExp[] = [
  // Anthropic, OpenAI, OpenRouter, DeepSeek and their like
  /\b(sk-(?:ant-|proj-|or-|svcacct-)?)[A-Za-z0-9_-]{16,}/g,
  // Stripe
  /\b((?:sk|rk|pk)_(?:live|test)_)[A-Za-z0-9]{10,}/g,
  // Google
  /\b(AIza)[A-Za-z0-9_-]{30,}/g,
  // Amazon Web Services
  /\b((?:AKIA|ASIA))[A-Z0-9]{16}\b/g,
  // GitHub, GitLab, npm, Slack, xAI, Groq, Hugging Face
  /\b((?:gh[pousr]|github_pat|npm|xai|gsk|hf)_)[A-Za-z0-9_]{20,}/g,
  /\b(glpat-)[A-Za-z0-9_-]{20,}/g,
  /\b(xox[abeoprs]-)[A-Za-z0-9-]{10,}/g,
  // JSON Web Tokens
  /(?<![\w-])(eyJ)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g,
  // HTTP authorization, and passwords in addresses
  /\b((?:Bearer|Basic) )[A-Za-z0-9+/_.~=-]{16,}/g,
  /(:\/\/[^\s/:@"]{1,100}:)[^\s/@"]{1,200}(?=@)/g,
  /(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)(?:[A-Za-z0-9+/=\s]|\\(?!")){1,20000}/g,
];

/** What every text holds that a known shape matches. Most texts hold nothing of it, and are looked through once. */
const mayHoldKnown =
  /sk[-_]|[rp]k_|AIza|A[KS]IA|gh[pousr]_|github_pat_|npm_|xai_|gsk_|hf_|glpat-|xox|eyJ|Bearer |Basic |:\/\/|-----BEGIN/;

/** Creates a redaction that removes keys of known shapes, the given values, and what the given patterns match. */
export function createRedaction(options: RedactOptions = {}): Redact {
  checkOptions("createRedaction()", redactRules, options);
  const { values = [], shapes = [] } = options;
  const secrets = values.filter((value) => value.length >= shortestValue).sort((a, b) => b.length - a.length);
  const skeletons = secrets.map((secret) => skeletonOf(secret).text).filter(({ length }) => length >= shortestValue);
  return (text) => {
    let shown = text;
    for (const secret of secrets) shown = shown.replaceAll(secret, mask);
    // Without a backslash, nothing in the text is escaped.
    if (skeletons.length > 0 && shown.includes("\\")) shown = maskEscaped(shown, skeletons);
    for (const shape of shapes) shown = shown.replace(shape, mask);
    if (mayHoldKnown.test(shown))
      for (const shape of knownShapes) shown = shown.replace(shape, (_whole, prefix: string) => `${prefix}${mask}`);
    return shown;
  };
}

/** Masks secrets in whatever way JSON has escaped them. */
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

/** A redaction may be the author's code: if it throws or returns no text, the whole text is masked. */
export function guarded(redact: Redact): Redact {
  return (text) => {
    try {
      const given: unknown = redact(text);
      return typeof given === "string" ? given : mask;
    } catch {
      return mask;
    }
  };
}

/** A copy in which all texts and all keys are redacted. */
export function redactJson(value: Json, redact: Redact): Json {
  if (typeof value === "string") return redact(value);
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((one) => redactJson(one, redact));
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [redact(key), redactJson(one, redact)]));
}
