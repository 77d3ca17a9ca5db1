/**
 * The possible answers to a waiting call, with what the page needs to ask for their texts and values.
 */
import {
  answers,
  listAnswerChoices,
  type PlainChoice,
  type TextChoice,
  type ValueChoice,
} from "../../view/question-choices.js";
import type { WaitingCall } from "./app-state.js";
import { toFormFields } from "./input-form.js";

/** An input, a result or a reply that the person writes in a form. */
export type WriteChoice = Pick<ValueChoice, "name" | "key" | "title"> & {
  readonly takes: "value";
  readonly schema: unknown;
  readonly initialValue: unknown;
  readonly decide: ValueChoice["decide"];
};

export type Choice = PlainChoice | TextChoice | WriteChoice;

/** The answers, in the order of the buttons. */
export function listChoices(approval: WaitingCall): readonly Choice[] {
  return listAnswerChoices(approval.why).map((choice): Choice => {
    switch (choice.name) {
      case "edit":
        return { ...choice, schema: approval.tool?.inputSchema, initialValue: approval.input };
      case "reply":
        return toReplyForm(approval.schema);
      case "result":
        return { ...choice, schema: undefined, initialValue: "" };
      default:
        return choice;
    }
  });
}

/** A form edits an object, so a reply of a single value becomes the only field of an object. */
function toReplyForm(schema: unknown): WriteChoice {
  const { reply } = answers;
  const form = {
    type: "object",
    properties: { answer: { title: "Your answer", ...Object(schema) } },
    required: ["answer"],
  };
  const [field] = toFormFields(form) ?? [];
  const isOneValue = field !== undefined && field.kind !== "group" && field.kind !== "list";
  if (!isOneValue) return { ...reply, schema, initialValue: undefined };
  return { ...reply, schema: form, initialValue: undefined, decide: (value) => reply.decide(Object(value).answer) };
}

/** Why a person is asked. */
export const reasonTexts: { readonly [Why in WaitingCall["why"]]: string } = {
  policy: "This tool needs approval before it runs.",
  provider: "The model's provider runs this tool, and asks for approval first.",
  recovery: "The process stopped during this call, so its outcome is unknown.",
  external: "This call runs outside Pawl. The run is waiting for its result.",
  tool: "The tool asks while it runs.",
};
