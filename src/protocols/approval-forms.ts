/**
 * Converts waiting calls to forms for MCP and A2A clients, and the person's responses to decisions.
 */
import type { ApprovalDecision, PendingApproval } from "../index.js";
import { answers, listAnswerChoices } from "../view/question-choices.js";
import { createFormSchema, type FormContent, readFormValue } from "./question-form.js";

export type Form = { readonly message: string; readonly requestedSchema: object };

/** The response to a form. It comes from the client, so it is untrusted. */
export type FormResponse = { readonly action?: unknown; readonly content?: unknown };

/** Creates the form for a waiting call; null if a form cannot answer it. The person sees the whole input. */
export function createForm(asked: PendingApproval): Form | null {
  const { name, input, question, why } = asked;
  const call = `${name} ${JSON.stringify(input)}`;
  switch (why) {
    case "policy":
      return { message: question ?? `May this call run? ${call}`, requestedSchema: createSchema(why, "Decision") };
    case "provider":
      return {
        message: question ?? `May the model's provider run this call? ${call}`,
        requestedSchema: createSchema(why, "Decision"),
      };
    case "recovery":
      return {
        message: `${question ?? "It is unknown how this call ended."} ${call}`,
        requestedSchema: createSchema(why, "How it ended"),
      };
    case "tool": {
      const requestedSchema = createFormSchema(asked);
      return requestedSchema === null ? null : { message: question ?? `${name} asks.`, requestedSchema };
    }
    case "external":
      return null;
  }
}

/** A form with the names of the answers. An edited input is a field that accompanies the answer "allow". */
function createSchema(why: PendingApproval["why"], title: string): object {
  const names = listAnswerChoices(why).map(({ name }) => name);
  const decision = { type: "string", title, enum: names.filter((name) => name !== "edit") };
  const editedInput = { type: "string", title: "Other input, as JSON" };
  const note = { type: "string", title: "Note for the agent" };
  const properties = names.includes("edit") ? { decision, editedInput, note } : { decision, note };
  return { type: "object", properties, required: ["decision"] };
}

/**
 * The person's decision; null if they closed the form without an answer. For an approval, anything but a clear yes is a denial.
 * An interrupted call cannot be denied: declining the form leaves the call open.
 */
export function toDecision({ action, content }: FormResponse, asked: PendingApproval): ApprovalDecision | null {
  if (action !== "accept" && action !== "decline") return null;
  const fields = (content !== null && typeof content === "object" ? content : {}) as FormContent;
  const isAccepted = action === "accept";
  const note = typeof fields.note === "string" ? fields.note : "";
  if (asked.why === "tool")
    return isAccepted ? answers.reply.decide(readFormValue(fields, asked)) : answers.decline.decide("");
  const choice = isAccepted ? listAnswerChoices(asked.why).find(({ name }) => name === fields.decision) : undefined;
  if (choice?.name === "allow" && asked.why === "policy") return toApproval(fields.editedInput);
  if (choice?.takes === "nothing") return choice.decide();
  if (choice?.takes === "text") return choice.decide(note);
  return asked.why === "policy" || asked.why === "provider" ? answers.deny.decide(note) : null;
}

function toApproval(editedText: unknown): ApprovalDecision {
  if (typeof editedText !== "string" || editedText.trim() === "") return answers.allow.decide();
  try {
    return answers.edit.decide(JSON.parse(editedText));
  } catch {
    return answers.deny.decide("The edited input was not valid JSON, so the call did not run.");
  }
}
