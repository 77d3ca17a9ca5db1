/**
 * Describes how a malformed call of the model was repaired.
 */
import type { PublicEvent } from "../../index.js";
import { toOneLine, truncate } from "../terminal/text.js";

type Repair = NonNullable<Extract<PublicEvent, { readonly type: "tool_call" }>["repair"]>;

const maxNoteColumns = 500;

/** `read_file: offset is read as 1, required is left out` */
export function formatRepair(tool: string, { problem, changes }: Repair): string {
  return truncate(toOneLine(`${tool}, as the model meant it: ${changes?.join(", ") ?? problem}`), maxNoteColumns);
}
