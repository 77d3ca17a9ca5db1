/**
 * `askPerson()`: lets the model ask the person that it works for.
 */
import type { AnyTool } from "../ports/tool.js";
import { defineTool } from "./lib/define-tool.js";

const maxOptions = 20;

const inputSchema = {
  type: "object",
  properties: {
    question: { type: "string", minLength: 1, maxLength: 10_000, description: "The question for the person." },
    options: {
      type: "array",
      items: { type: "string", minLength: 1, maxLength: 500 },
      minItems: 1,
      maxItems: maxOptions,
      uniqueItems: true,
      description: "The answers to choose from. Omit it to get an answer in the person's own words.",
    },
  },
  required: ["question"],
  additionalProperties: false,
} as const;

const advice = "Continue without the answer if you can, and state what you assumed.";

/**
 * A tool `ask_person` with `{ question, options? }`. The run waits for the answer as for an approval, for days if necessary, and
 * across restarts. The person may decline.
 */
export function askPerson(): AnyTool {
  return defineTool({
    name: "ask_person",
    lenientInput: true,
    description:
      "Asks the person you work for, and waits for the answer. Use it only if you cannot continue without the answer, or if a wrong guess would do harm.",
    input: inputSchema,
    readOnly: true,
    durable: true,
    async execute({ question, options }, { ask }) {
      const schema = Array.isArray(options) ? { type: "string", enum: options } : { type: "string" };
      const answer = await ask({ message: String(question), name: "answer", schema });
      switch (answer.type) {
        case "answered":
          return String(answer.value);
        case "declined":
          return `The person declined to answer${answer.note === undefined ? "" : `: ${answer.note.replace(/\.$/, "")}`}.\n${advice}`;
        case "expired":
          return `No answer arrived in time.\n${advice}`;
      }
    },
  });
}
