/**
 * Formats the output of a call for display.
 */
import type { ToolOutput } from "../index.js";

export function toDisplayValue(output: ToolOutput): unknown {
  switch (output.type) {
    case "text":
      return output.text;
    case "json":
      return output.value;
    case "content":
      return output.parts;
  }
}

export function formatOutput(output: ToolOutput): string {
  const value = toDisplayValue(output);
  return typeof value === "string" ? value : JSON.stringify(value);
}
