/**
 * Removes secrets from text that is traced, logged to a file or shown (SEC-14, TRC-2).
 *
 * 1. Every pattern takes time linear in the text: none backtracks over text that it has failed to match.
 * 2. Text that is stored for the model is not redacted: only hooks can change it.
 */

import { anArray, checkOptions, type OptionTable } from "../../check-options.js";
import { createMask, mapStrings, mapStringsAndNumbers, mask } from "../../core/data/mask.js";
import type { FilePart, Json, ToolOutput, UserPart } from "../../core/data/message.js";
import { decodeBase64, encodeBase64 } from "../../platform/bytes.js";

/** Returns text without its secrets. */
export type Redact = (text: string) => string;

/** What to remove from text. */
export type RedactOptions = {
  /**
   * Secrets by value. They are also found where JSON has escaped them, once or several times. Values shorter than 6
   * characters are ignored, because they would also match parts of words.
   */
  readonly values?: readonly string[];
  /** Patterns in addition to the built-in ones. Each needs the flag `g`. */
  readonly shapes?: readonly RegExp[];
};

const redactRules: OptionTable<RedactOptions> = { values: anArray, shapes: anArray };

/**
 * Keys, tokens and passwords as their issuers write them. The first group, if any, stays in the text. No pattern matches a quote, so that
 * JSON stays valid.
 */
const knownShapes: readonly RegExp[] = [
  // Anthropic, OpenAI, OpenRouter, DeepSeek and similar providers
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
  // HTTP authorization, and passwords in URLs
  /\b((?:Bearer|Basic) )[A-Za-z0-9+/_.~=-]{16,}/g,
  /(:\/\/[^\s/:@"]{1,100}:)[^\s/@"]{1,200}(?=@)/g,
  /(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)(?:[A-Za-z0-9+/=\s]|\\(?!")){1,20000}/g,
];

/** A fast pre-check: every match of a known shape contains a match of this pattern, and most texts contain none. */
const knownShapeHint =
  /sk[-_]|[rp]k_|AIza|A[KS]IA|gh[pousr]_|github_pat_|npm_|xai_|gsk_|hf_|glpat-|xox|eyJ|Bearer |Basic |:\/\/|-----BEGIN/;

/** Creates a redaction that removes keys of known shapes, the given values, and matches of the given patterns. */
export function createRedaction(options: RedactOptions = {}): Redact {
  checkOptions("createRedaction()", redactRules, options);
  const { values = [], shapes = [] } = options;
  const maskValues = createMask(values);
  return (text) => {
    let redacted = maskValues(text);
    for (const shape of shapes) redacted = redacted.replace(shape, mask);
    if (knownShapeHint.test(redacted))
      for (const shape of knownShapes)
        redacted = redacted.replace(shape, (_whole, prefix: string) => `${prefix}${mask}`);
    return redacted;
  };
}

/** A redaction may be an author's code: if it throws or does not return a string, the whole text is masked. */
export function createGuardedRedact(redact: Redact): Redact {
  return (text) => {
    try {
      const given: unknown = redact(text);
      return typeof given === "string" ? given : mask;
    } catch {
      return mask;
    }
  };
}

/** Returns a copy with all strings and keys redacted. Numbers are kept, because the value may be an event, which needs them. */
export function redactJson(value: Json, redact: Redact): Json {
  return mapStrings(value, redact);
}

/** The same for the input of a call or the value of an output: a number that contains a secret becomes a string. */
export function redactContent(value: Json, redact: Redact): Json {
  return mapStringsAndNumbers(value, redact);
}

/**
 * Removes secrets from an output: from its text, from all strings, numbers and keys of its data, and from its text files.
 * Other files do not change: a secret in a picture is not detected.
 *
 * @example
 * ```ts
 * const redact = createRedaction({ values: [bankToken] });
 * const mask: Hook = { name: "mask", onFailure: "closed", afterToolCall: ({ output }) => ({ output: redactOutput(output, redact) }) };
 * ```
 */
export function redactOutput(output: ToolOutput, redact: Redact): ToolOutput {
  switch (output.type) {
    case "text":
      return { ...output, text: redact(output.text) };
    case "json":
      return { ...output, value: redactContent(output.value, redact) };
    case "content":
      return { ...output, parts: output.parts.map((part) => redactPart(part, redact)) };
  }
}

function redactPart(part: UserPart, redact: Redact): UserPart {
  if (part.type === "text") return { ...part, text: redact(part.text) };
  const filename = part.filename === undefined ? {} : { filename: redact(part.filename) };
  if (!isTextFile(part)) return { ...part, ...filename };
  const text = new TextDecoder().decode(decodeBase64(part.data));
  const redacted = redact(text);
  // Files that are not UTF-8 stay unchanged unless something in them is masked.
  return {
    ...part,
    ...filename,
    ...(redacted === text ? {} : { data: encodeBase64(new TextEncoder().encode(redacted)) }),
  };
}

function isTextFile({ mediaType, data }: FilePart): boolean {
  const isText = /^text\/|^application\/(?:[\w.-]{1,50}\+)?(?:json|xml|yaml)\b/i.test(mediaType);
  return isText && !/^(?:https?|blob):/i.test(data.slice(0, 8));
}
