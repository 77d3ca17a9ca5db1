/**
 * The values that an MCP server suggests while a person types an argument of a prompt or of a resource template.
 */
import type { Connection } from "./connection.js";
import type { McpRequestOptions } from "./options.js";

/** An argument that is being typed. */
export type McpTypedArgument = {
  /** Whose argument it is. */
  readonly of:
    | {
        /** The name of a prompt. */
        readonly prompt: string;
      }
    | {
        /** A template of resource addresses. */
        readonly template: string;
      };
  /** The name of the argument, or of the variable of the template. */
  readonly name: string;
  /** The text so far. */
  readonly value: string;
  /** The values of the other arguments, by their names, as far as they are known. */
  readonly others?: Readonly<Record<string, string>>;
};

/** The maximum length of a value. The MCP library accepts at most 100 values. */
const maxCharacters = 2_000;

/** Unchecked data of a server. */
type Untrusted = { readonly [field: string]: unknown };

type Completions = {
  readonly complete: (typed: McpTypedArgument, options?: McpRequestOptions) => Promise<readonly string[]>;
};

export function createCompletions(connection: Connection): Completions {
  return {
    async complete({ of, name, value, others = {} }, { signal = new AbortController().signal } = {}) {
      const ref = "prompt" in of ? { type: "ref/prompt", name: of.prompt } : { type: "ref/resource", uri: of.template };
      const context = Object.keys(others).length === 0 ? {} : { context: { arguments: others } };
      const result = await connection.complete({ ref, argument: { name, value }, ...context }, signal);
      const { values } = Object((Object(result) as Untrusted).completion) as Untrusted;
      if (!Array.isArray(values)) return [];
      return values.filter((item): item is string => typeof item === "string" && item.length <= maxCharacters);
    },
  };
}
