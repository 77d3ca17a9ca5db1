/**
 * `todo()`: the model keeps a plan of its work with the session.
 */
import type { Json } from "../core/data/message.js";
import type { Hint } from "../ports/context.js";
import type { SessionData } from "../ports/session-data.js";
import type { AnyTool } from "../ports/tool.js";
import { defineTool } from "./lib/define-tool.js";

/** The key of the session's data under which the plan is kept. */
const key = "todo";

const statuses = ["open", "in_progress", "done"] as const;

/** One item of the list. */
export type TodoItem = {
  /** What is to be done. */
  readonly text: string;
  /** How far it is. */
  readonly status: (typeof statuses)[number];
};

const inputSchema = {
  type: "object",
  properties: {
    items: {
      type: "array",
      maxItems: 100,
      description: "The whole plan, in order. It takes the place of the plan before.",
      items: {
        type: "object",
        properties: {
          text: { type: "string", minLength: 1, maxLength: 300, description: "What is to be done, in a few words." },
          status: { type: "string", enum: statuses },
        },
        required: ["text", "status"],
        additionalProperties: false,
      },
    },
  },
  required: ["items"],
  additionalProperties: false,
} as const;

/**
 * A tool `todo` with `{ items: { text, status }[] }`. The plan is kept under `todo` in the session's data, so it
 * survives crashes and compaction. `todoHint` tells the model of it again after a compaction.
 */
export function todo(): AnyTool {
  return defineTool({
    name: "todo",
    lenientInput: true,
    description:
      "Keeps a plan of your work. Use it for work of several steps: write the plan when you begin, and send it anew whenever a step begins or is done.",
    input: inputSchema,
    readOnly: true,
    sequential: true,
    execute({ items }, { data }) {
      data.set(key, items);
      return formatPlan(items as readonly TodoItem[]);
    },
  });
}

/** A hint with the plan, as long as something of it is not done: for `context: { hints: [todoHint] }`. */
export const todoHint: Hint = Object.freeze({
  name: "todo",
  text(_run: unknown, { data }: { readonly data: SessionData }): string | undefined {
    const items = readItems(data[key]);
    return items.every(({ status }) => status === "done") ? undefined : formatPlan(items);
  },
});

/** Anybody may change the session's data: what is no item is left out. */
function readItems(plan: Json | undefined): readonly TodoItem[] {
  return Array.isArray(plan) ? (plan.filter(isItem) as readonly unknown[] as readonly TodoItem[]) : [];
}

function isItem(item: Json): boolean {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return false;
  const { text, status } = item as { readonly [name: string]: Json };
  return typeof text === "string" && statuses.includes(status as TodoItem["status"]);
}

const statusMarks = { open: "[ ]", in_progress: "[>]", done: "[x]" } as const;

function formatPlan(items: readonly TodoItem[]): string {
  if (items.length === 0) return "The plan is empty.";
  return items.map(({ text, status }) => `${statusMarks[status]} ${text}`).join("\n");
}
