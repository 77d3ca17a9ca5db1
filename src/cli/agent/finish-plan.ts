/**
 * The tool with which the model shows its plan in plan mode. When the person accepts the plan, the mode ends.
 */
import { type AnyTool, defineTool, type Hint, PawlError, type ToolContext } from "../../index.js";
import { modeKey, modeOf, toStoredMode } from "../permissions/mode.js";
import { planTool } from "../permissions/rule.js";
import { toOneLine } from "../terminal/text.js";

/** A plan of this length fits in a question, which has at most 10,000 characters. */
const maxSteps = 30;

const inputSchema = {
  type: "object",
  properties: {
    steps: {
      type: "array",
      minItems: 1,
      maxItems: maxSteps,
      items: { type: "string", minLength: 1, maxLength: 300 },
      description: "What you will do, in order: one sentence each, with the files that you will change.",
    },
  },
  required: ["steps"],
  additionalProperties: false,
} as const;

/** The person's possible answers, by the mode in which the work continues. */
const answers = { ask: "start, and ask before changes", edits: "start, and edit files without asking" } as const;

/** Accepting a plan ends the mode and stores its steps as the `todo` list, in the same log entry as the result. */
export function finishPlan(): AnyTool {
  return defineTool({
    name: planTool,
    lenientInput: true,
    description:
      "Only in plan mode: shows the person the plan, and waits. When they accept it, plan mode ends, and you do what the plan says.",
    input: inputSchema,
    readOnly: true,
    sequential: true,
    durable: true,
    async execute({ steps }, { ask, data, sessionId, step }) {
      const plan = steps as readonly string[];
      // After the answer, the tool runs again, and the person may have changed the mode meanwhile.
      const mode = await step("mode", () => modeOf({ sessionId, data: data.all() }));
      if (mode !== "plan") return "There is no plan mode now: go on with the work.";
      const message = `Start with this plan?\n${plan.map((text, at) => `${at + 1}. ${toOneLine(text)}`).join("\n")}`;
      const answer = await ask({ message, name: "plan", schema: { type: "string", enum: Object.values(answers) } });
      switch (answer.type) {
        case "answered":
          if (answer.value === answers.edits) data.set(modeKey, toStoredMode(sessionId, "edits"));
          else data.delete(modeKey);
          return `The person accepts the plan, and plan mode has ended.\nBegin with the first step.${keepSteps(plan, data) ? " The plan is in the list of `todo`." : ""}`;
        case "declined":
          return `The person does not accept the plan${answer.note === undefined ? "" : `: ${answer.note.replace(/\.$/, "")}`}.\nIf they say what is missing, change the plan and show it again. If nobody can be asked, end with the plan as your answer.`;
        case "expired":
          return "The person did not answer in time. Say what the plan is, and end.";
      }
    },
  });
}

/**
 * Stores the steps as the `todo` list.
 * @returns false if the session's data has no room for them; plan mode ends anyway
 */
function keepSteps(plan: readonly string[], data: ToolContext["data"]): boolean {
  try {
    data.set(
      "todo",
      plan.map((text) => ({ text, status: "open" })),
    );
    return true;
  } catch (error) {
    if (error instanceof PawlError && error.code === "bad_input") return false;
    throw error;
  }
}

/** Tells the model that plan mode is on. */
export const planHint: Hint = Object.freeze({
  name: "mode",
  text({ sessionId }, { data }) {
    if (modeOf({ sessionId, data }) !== "plan") return undefined;
    return "Plan mode is on: you can read, and run commands that change nothing, but no file of the folder can be changed. Find out what is needed, and show the person a plan with finish_plan. The work begins when they accept it.";
  },
} satisfies Hint);
