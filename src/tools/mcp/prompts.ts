/**
 * The prompts of an MCP server: untrusted text that a person may send.
 */
import { showHidden } from "../../core/data/hidden-characters.js";
import type { Connection } from "./connection.js";
import type { McpRequestOptions } from "./options.js";

/** A prompt of a server. Its texts are untrusted. */
export type McpPrompt = {
  readonly name: string;
  /** What the server says about the prompt. Untrusted text. */
  readonly description?: string;
  /** In the server's order. */
  readonly arguments: readonly {
    readonly name: string;
    /** What the server says about the argument. Untrusted text. */
    readonly description?: string;
    /** Whether the prompt requires it. */
    readonly required: boolean;
  }[];
};

/** The text of a prompt. */
export type McpPromptText = {
  /** The texts of its messages, in order. Other content is replaced by a note such as `[image]`. */
  readonly messages: readonly {
    /** Whose message it is. */
    readonly role: "user" | "assistant";
    /** The text. Untrusted. */
    readonly text: string;
  }[];
};

const maxPrompts = 500;
const maxArguments = 32;
const maxMessages = 64;
const maxCharacters = 256 * 1024;

/** Unchecked data of a server. */
type Untrusted = { readonly [field: string]: unknown };

type Prompts = {
  readonly prompts: (options?: McpRequestOptions) => Promise<readonly McpPrompt[]>;
  readonly prompt: (
    name: string,
    args?: Readonly<Record<string, string>>,
    options?: McpRequestOptions,
  ) => Promise<McpPromptText>;
};

export function createPrompts(connection: Connection): Prompts {
  return {
    async prompts({ signal = new AbortController().signal } = {}) {
      const { items } = await connection.list("prompts", signal);
      return items.slice(0, maxPrompts).flatMap(readPrompt);
    },
    async prompt(name, args = {}, { signal = new AbortController().signal } = {}) {
      const { messages } = Object(
        await connection.request("prompts/get", { name, arguments: args }, signal),
      ) as Untrusted;
      if (!Array.isArray(messages))
        throw new Error(`The MCP server sent no messages for the prompt ${JSON.stringify(name)}.`);
      let remaining = maxCharacters;
      return {
        messages: messages.slice(0, maxMessages).map((message) => {
          const { role, content } = Object(message) as Untrusted;
          const text = showHidden(formatContent(content)).slice(0, remaining);
          remaining -= text.length;
          return { role: role === "assistant" ? ("assistant" as const) : ("user" as const), text };
        }),
      };
    },
  };
}

/** A prompt without a valid name cannot be requested, so it is omitted. */
function readPrompt(item: unknown): readonly McpPrompt[] {
  const { name, description, arguments: given } = Object(item) as Untrusted;
  if (typeof name !== "string" || name === "" || name.length > 200) return [];
  const all = Array.isArray(given) ? given.slice(0, maxArguments) : [];
  return [
    {
      name,
      ...(typeof description === "string" ? { description: showHidden(description).slice(0, 2_000) } : {}),
      arguments: all.flatMap((argument) => {
        const { name: argumentName, description: about, required } = Object(argument) as Untrusted;
        if (typeof argumentName !== "string" || argumentName === "" || argumentName.length > 200) return [];
        const text = typeof about === "string" ? { description: showHidden(about).slice(0, 2_000) } : {};
        return [{ name: argumentName, ...text, required: required === true }];
      }),
    },
  ];
}

function formatContent(content: unknown): string {
  const { type, text, uri, resource } = Object(content) as Untrusted;
  if (type === "text" && typeof text === "string") return text;
  const embedded = Object(resource) as Untrusted;
  if (type === "resource" && typeof embedded.text === "string") return embedded.text;
  const address = [uri, embedded.uri].find((one) => typeof one === "string");
  return `[${typeof type === "string" ? type.slice(0, 50) : "content"}${address === undefined ? "" : ` ${String(address).slice(0, 500)}`}]`;
}
