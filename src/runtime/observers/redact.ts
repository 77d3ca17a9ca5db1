/**
 * Takes secrets out of what is traced, logged to a file or shown (SEC-14, TRC-2).
 *
 * 1. Every shape is matched in time linear in the text: none can begin again within what it has looked at in vain.
 * 2. What is stored for the model is not touched: only hooks change that.
 */
import type { Json } from "../../core/data/message.js";

/** Gives a text back without its secrets. It must not throw. */
export type Redact = (text: string) => string;

export type RedactOptions = {
  /** Secrets by value, wherever they stand. Those shorter than 6 characters are left alone: they would blot out words. */
  readonly values?: readonly string[];
  /** Shapes beside the known ones; each needs the flag `g`. */
  readonly shapes?: readonly RegExp[];
};

const mask = "[redacted]";
const shortestValue = 6;

/**
 * Keys, tokens and passwords as their issuers write them; the first group, where there is one, is kept. None matches a quote, so that
 * JSON stays JSON.
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

/** Makes a redaction: known shapes of keys, and what is given. */
export function createRedaction({ values = [], shapes = [] }: RedactOptions = {}): Redact {
  const secrets = values.filter((value) => value.length >= shortestValue).sort((a, b) => b.length - a.length);
  return (text) => {
    let shown = text;
    for (const secret of secrets) shown = shown.replaceAll(secret, mask);
    for (const shape of shapes) shown = shown.replace(shape, mask);
    for (const shape of knownShapes) shown = shown.replace(shape, (_whole, kept: string) => `${kept}${mask}`);
    return shown;
  };
}

/** A redaction is anybody's code: where it fails, or gives no text, nothing is shown. */
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

/** A copy in which every text, keys included, is redacted. */
export function redactJson(value: Json, redact: Redact): Json {
  if (typeof value === "string") return redact(value);
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((one) => redactJson(one, redact));
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [redact(key), redactJson(one, redact)]));
}
