/**
 * `askPerson()`: the model asks the person whom it works for.
 */
import type { AnyTool } from "../ports/tool.js";
import { defineTool } from "./define.js";

const mostOptions = 20;

const input = {
  type: "object",
  properties: {
    question: { type: "string", minLength: 1, maxLength: 10_000, description: "What the person is asked." },
    options: {
      type: "array",
      items: { type: "string", minLength: 1, maxLength: 500 },
      minItems: 1,
      maxItems: mostOptions,
      uniqueItems: true,
      description: "The answers to choose from. Leave it out for an answer in the person's own words.",
    },
  },
  required: ["question"],
  additionalProperties: false,
} as const;

/**
 * A tool `ask_person` with `{ question, options? }`. The run waits for the answer as it waits for an approval, also for
 * days and through restarts. The person may decline.
 */
export function askPerson(): AnyTool {
  return defineTool({
    name: "ask_person",
    lenientInput: true,
    description:
      "Asks the person whom you work for, and waits for the answer. Use it only if you cannot go on without it, or if a wrong guess would do harm.",
    input,
    readOnly: true,
    durable: true,
    async execute({ question, options }, { ask }) {
      const schema = Array.isArray(options) ? { type: "string", enum: options } : { type: "string" };
      const said = await ask({ message: String(question), name: "answer", schema });
      switch (said.type) {
        case "answered":
          return String(said.value);
        case "declined":
          return said.note === undefined ? "The person does not answer." : `The person does not answer: ${said.note}`;
        case "expired":
          return "Nobody answered in time.";
      }
    },
  });
}
