/**
 * `todo()`: lets the model keep a plan of its work in the session.
 */
import { isObject } from "../core/data/is-object.js";
import type { Json } from "../core/data/message.js";
import type { Hint } from "../ports/context.js";
import type { SessionData } from "../ports/session-data.js";
import type { AnyTool } from "../ports/tool.js";
import { defineTool } from "./lib/define-tool.js";

/** The plan's key in the session's data. */
const key = "todo";

const statuses = ["open", "in_progress", "done"] as const;

/** One item of the plan. */
export type TodoItem = {
  /** The task. */
  readonly text: string;
  /** The status of the task. */
  readonly status: (typeof statuses)[number];
};

const inputSchema = {
  type: "object",
  properties: {
    items: {
      type: "array",
      maxItems: 100,
      description: "The whole plan, in order. It replaces the previous plan.",
      items: {
        type: "object",
        properties: {
          text: { type: "string", minLength: 1, maxLength: 300, description: "The task, in a few words." },
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
 * A tool `todo` with `{ items: { text, status }[] }`. The plan is stored under `todo` in the session's data, so it survives
 * crashes and compaction. `todoHint` shows the plan to the model again after a compaction.
 */
export function todo(): AnyTool {
  return defineTool({
    name: "todo",
    lenientInput: true,
    description:
      "Keeps a plan of your work. Use it for work of several steps: write the plan when you begin, and send it again whenever a step starts or is done.",
    input: inputSchema,
    readOnly: true,
    sequential: true,
    execute({ items }, { data }) {
      data.set(key, items);
      return formatPlan(items as readonly TodoItem[]);
    },
  });
}

/** A hint that contains the plan while any of its items is not done: for `context: { hints: [todoHint] }`. */
export const todoHint: Hint = Object.freeze({
  name: "todo",
  text(_run: unknown, { data }: { readonly data: SessionData }): string | undefined {
    const items = readItems(data[key]);
    return items.every(({ status }) => status === "done") ? undefined : formatPlan(items);
  },
});

/** Any client can write the session's data, so invalid items are skipped. */
function readItems(plan: Json | undefined): readonly TodoItem[] {
  return Array.isArray(plan) ? (plan.filter(isItem) as readonly unknown[] as readonly TodoItem[]) : [];
}

function isItem(item: Json): boolean {
  if (!isObject(item)) return false;
  const { text, status } = item;
  return typeof text === "string" && statuses.includes(status as TodoItem["status"]);
}

const statusMarks = { open: "[ ]", in_progress: "[>]", done: "[x]" } as const;

function formatPlan(items: readonly TodoItem[]): string {
  if (items.length === 0) return "The plan is empty.";
  return items.map(({ text, status }) => `${statusMarks[status]} ${text}`).join("\n");
}
