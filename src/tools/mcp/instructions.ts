/**
 * A server's instructions for the model. They are untrusted: bounded, pinned like a tool, and marked with their origin.
 */
import type { ContextSource } from "../../ports/context.js";
import { formatServer, hashJson, type McpPins, type McpServerOptions } from "./options.js";
import { shortenUntrusted } from "./shorten-untrusted.js";

const maxCharacters = 4_096;

export type Instructions = {
  readonly sources: readonly ContextSource[];
  readonly pin: Pick<McpPins, "instructions">;
  readonly problems: readonly string[];
};

const none: Instructions = { sources: [], pin: {}, problems: [] };

export function createInstructions(text: string | undefined, options: McpServerOptions): Instructions {
  const { name, transport, pins, instructions: isWanted } = options;
  if (isWanted !== true || text === undefined || text.trim() === "") return none;
  const pin = { instructions: hashJson(text) };
  // Pins have no instructions if the server had none, or if the program did not use them.
  if (pins !== undefined && pins.instructions !== pin.instructions)
    return {
      sources: [],
      pin,
      problems: ["The instructions of the server are new or have changed. They are omitted until they are pinned."],
    };
  const shortText = shortenUntrusted(text, maxCharacters);
  const source: ContextSource = {
    name: `MCP server ${name}`,
    load: () => [
      { name: `MCP server ${name}`, path: formatServer(transport).slice(0, 4_000), text: shortText, trust: "project" },
    ],
  };
  return { sources: [source], pin, problems: [] };
}
