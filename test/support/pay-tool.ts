/**
 * A tool that needs approval, and that notes what it was called with.
 */
import { defineTool } from "../../src/index.js";

export function createPayTool(inputs: unknown[]) {
  return defineTool({
    name: "pay",
    description: "Pays.",
    input: { type: "object", properties: { cents: { type: "number" } } },
    needsApproval: true,
    execute: (input) => {
      inputs.push(input);
      return "paid";
    },
  });
}
