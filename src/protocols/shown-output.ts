/**
 * The output of a call as pages show it.
 */
import type { ToolOutput } from "../index.js";

export function shownOutput(output: ToolOutput): unknown {
  switch (output.type) {
    case "text":
      return output.text;
    case "json":
      return output.value;
    case "content":
      return output.parts;
  }
}

export function textOfOutput(output: ToolOutput): string {
  const value = shownOutput(output);
  return typeof value === "string" ? value : JSON.stringify(value);
}
