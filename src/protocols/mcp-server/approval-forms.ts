/**
 * Converts waiting calls to forms of an MCP client, and the person's responses to decisions.
 */
import type { ApprovalDecision, PendingApproval } from "../../index.js";
import { createFormSchema, type FormContent, readFormValue } from "../question-form.js";

export type Form = { readonly message: string; readonly requestedSchema: object };

/** The response to a form. It comes from the client, so it is untrusted. */
export type FormResponse = { readonly action?: unknown; readonly content?: unknown };

/** The form for a waiting call; null if a form cannot answer it. The person sees the whole input. */
export function createForm(asked: PendingApproval): Form | null {
  const { name, input, question, why } = asked;
  const call = `${name} ${JSON.stringify(input)}`;
  switch (why) {
    case "policy":
      return { message: question ?? `May this call run? ${call}`, requestedSchema: approvalForm };
    case "provider":
      return {
        message: question ?? `May the model's provider run this call? ${call}`,
        requestedSchema: providerApprovalForm,
      };
    case "recovery":
      return { message: `${question ?? "Nobody knows how this call ended."} ${call}`, requestedSchema: recoveryForm };
    case "tool": {
      const requestedSchema = createFormSchema(asked);
      return requestedSchema === null ? null : { message: question ?? `${name} asks.`, requestedSchema };
    }
    case "external":
      return null;
  }
}

const note = { type: "string", title: "Note for the agent" } as const;
const decisionField = { type: "string", title: "Decision", enum: ["allow", "deny"] } as const;
const editedInput = { type: "string", title: "Other input, as JSON" } as const;
const approvalForm = {
  type: "object",
  properties: { decision: decisionField, editedInput, note },
  required: ["decision"],
} as const;
const providerApprovalForm = {
  type: "object",
  properties: { decision: decisionField, note },
  required: ["decision"],
} as const;
const recoveryForm = {
  type: "object",
  properties: { decision: { type: "string", title: "How it ended", enum: ["done", "failed", "run_again"] }, note },
  required: ["decision"],
} as const;

/**
 * The person's decision; null if they closed the form without an answer. For an approval, everything but a clear yes is
 * a no. An interrupted call cannot be refused: declining the form leaves the call open.
 */
export function toDecision({ action, content }: FormResponse, asked: PendingApproval): ApprovalDecision | null {
  if (action !== "accept" && action !== "decline") return null;
  const fields = (content !== null && typeof content === "object" ? content : {}) as FormContent;
  const isAccepted = action === "accept";
  const noteOption = typeof fields.note === "string" && fields.note !== "" ? { note: fields.note } : {};
  switch (asked.why) {
    case "tool":
      return isAccepted ? { type: "reply", value: readFormValue(fields, asked) } : { type: "decline" };
    case "recovery":
      return isAccepted ? toRecoveryDecision(fields) : null;
    case "policy":
    case "provider":
      if (!isAccepted || fields.decision !== "allow") return { type: "deny", ...noteOption };
      return asked.why === "policy" ? toApproval(fields.editedInput) : { type: "approve" };
    case "external":
      return null;
  }
}

function toRecoveryDecision({ decision, note }: FormContent): ApprovalDecision | null {
  const noteText = typeof note === "string" ? note : "";
  switch (decision) {
    case "done":
      return { type: "result", output: noteText || "The person says that this call has done its work." };
    case "failed":
      return { type: "fail", ...(noteText === "" ? {} : { note: noteText }) };
    case "run_again":
      return { type: "rerun" };
    default:
      return null;
  }
}

function toApproval(editedText: unknown): ApprovalDecision {
  if (typeof editedText !== "string" || editedText.trim() === "") return { type: "approve" };
  try {
    return { type: "modify", input: JSON.parse(editedText) };
  } catch {
    return { type: "deny", note: "The other input was not JSON, so the call did not run." };
  }
}
