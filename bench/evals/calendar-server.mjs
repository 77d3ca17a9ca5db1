/**
 * A calendar as an MCP server over standard input and output. Each call is a line in the file that it is given, because
 * it is an effect outside. With "renamed", the argument `date` is named `day`.
 */
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [, , log, mode] = process.argv;
const argument = mode === "renamed" ? "day" : "date";
const tool = {
  name: "find_slots",
  description: "Finds the free slots of a day.",
  inputSchema: {
    type: "object",
    properties: { [argument]: { type: "string" } },
    required: [argument],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: true },
};

function answer({ method, params }) {
  if (method === "initialize")
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "calendar", version: "1" },
    };
  if (method === "tools/list") return { tools: [tool] };
  if (method !== "tools/call") return {};
  appendFileSync(log, "find_slots\n");
  return { content: [{ type: "text", text: `${params.arguments[argument]}: 09:00 and 14:00` }] };
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  if (request.id !== undefined)
    process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: request.id, result: answer(request) })}\n`);
}
