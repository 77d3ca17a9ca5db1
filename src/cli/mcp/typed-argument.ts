/**
 * Parses text that a person is typing for an MCP server: an argument after `/server:prompt`, or the variable of a resource template
 * after `@`.
 */
import type { McpTypedArgument } from "../../tools/mcp/index.js";

/** An argument that is being typed for a server. */
export type TypedArgument = McpTypedArgument & { readonly server: string };

/** What is being typed, and where it begins in the text. */
export type Typed = { readonly start: number; readonly argument: TypedArgument };

/** A prompt: `docs:review`, and the names of its arguments in order. */
type PromptArguments = { readonly name: string; readonly arguments: readonly string[] };

const wordPattern = /"([^"]*)"|'([^']*)'|(\S+)/g;

/** Splits into words; quotes hold words together, as in a shell. */
export function splitWords(text: string): readonly string[] {
  return [...text.matchAll(wordPattern)].map(([, double, single, plain]) => double ?? single ?? plain ?? "");
}

/** Finds the argument of a prompt at the end of the text; null if there is none. */
export function findPromptArgument(text: string, prompts: readonly PromptArguments[]): Typed | null {
  const [whole, name = ""] = /^\/(\S+)\s+/.exec(text) ?? [];
  const prompt = prompts.find((candidate) => candidate.name === name);
  if (whole === undefined || prompt === undefined) return null;
  const rest = text.slice(whole.length);
  const words = [...rest.matchAll(wordPattern)];
  // A word that begins with a quote and does not end with one goes on to the end of the text.
  const opened = words.findIndex(([, , , plain]) => plain !== undefined && /^["']/.test(plain));
  const last = words.at(-1);
  const isInWord = last !== undefined && last.index + last[0].length === rest.length;
  if (opened === -1 && isInWord && last[3] === undefined) return null;
  const count = opened !== -1 ? opened : isInWord ? words.length - 1 : words.length;
  const start = words[count]?.index ?? rest.length;
  const argumentName = prompt.arguments[count];
  if (argumentName === undefined) return null;
  const [, server = "", promptName = ""] = /^([^:]+):(.+)$/.exec(name) ?? [];
  const given = words.slice(0, count).flatMap(([, double, single, plain], index) => {
    const givenName = prompt.arguments[index];
    return givenName === undefined ? [] : [[givenName, double ?? single ?? plain ?? ""]];
  });
  return {
    start: whole.length + start,
    argument: {
      server,
      of: { prompt: promptName },
      name: argumentName,
      value: rest.slice(opened === -1 ? start : start + 1),
      others: Object.fromEntries(given),
    },
  };
}

/** Formats a value as a word of a command: quoted if necessary. */
export function formatWord(value: string): string {
  return /[\s']/.test(value) ? `"${value}" ` : `${value} `;
}

/** A template with one variable. */
export type Template = {
  /** The text before the variable, which begins with the server's name: `docs:note://`. */
  readonly prefix: string;
  /** Returns what a mention of this text asks the server. */
  readonly toArgument: (mention: string) => TypedArgument;
  /** Returns the whole mention with this value. */
  readonly expand: (value: string) => string;
};

/** Parses a template as mentions have it: `docs:note://{id}`; null if it has several variables, or none. */
export function parseTemplate(name: string): Template | null {
  const [, prefix, operator, variable, suffix = ""] = /^([^{}]*)\{(\+?)(\w+)\}([^{}]*)$/.exec(name) ?? [];
  const [, server, template] = /^([^:]+):(.+)$/s.exec(name) ?? [];
  if (prefix === undefined || variable === undefined || server === undefined || template === undefined) return null;
  const encode = operator === "+" ? encodeURI : encodeURIComponent;
  return {
    prefix,
    toArgument: (mention) => ({
      server,
      of: { template },
      name: variable,
      value: decodeText(mention.slice(prefix.length)),
    }),
    expand: (value) => `${prefix}${encode(value)}${suffix}`,
  };
}

/** The end of the text may be the beginning of an escape. */
function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
