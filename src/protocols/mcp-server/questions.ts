/**
 * Calls that wait, as forms of an MCP client; and what the person filled in, as answers.
 */
import type { ApprovalDecision, PendingApproval } from "../../index.js";
import { type FormContent, formSchemaOf, valueOfForm } from "../question-form.js";

export type Form = { readonly message: string; readonly requestedSchema: object };

/** The response to a form. It comes from the client, so nothing about it is certain. */
export type FormResponse = { readonly action?: unknown; readonly content?: unknown };

/** The form for a call that waits; null if a form cannot answer it. The person sees the whole input. */
export function formOf(asked: PendingApproval): Form | null {
  const { name, input, question, why } = asked;
  const call = `${name} ${JSON.stringify(input)}`;
  switch (why) {
    case "policy":
      return { message: question ?? `May this call run? ${call}`, requestedSchema: approval };
    case "provider":
      return {
        message: question ?? `May the model's provider run this call? ${call}`,
        requestedSchema: providerApproval,
      };
    case "recovery":
      return { message: `${question ?? "Nobody knows how this call ended."} ${call}`, requestedSchema: recovery };
    case "tool": {
      const requestedSchema = formSchemaOf(asked);
      return requestedSchema === null ? null : { message: question ?? `${name} asks.`, requestedSchema };
    }
    case "external":
      return null;
  }
}

const note = { type: "string", title: "Note for the agent" } as const;
const allowed = { type: "string", title: "Decision", enum: ["allow", "deny"] } as const;
const editedInput = { type: "string", title: "Other input, as JSON" } as const;
const approval = {
  type: "object",
  properties: { decision: allowed, editedInput, note },
  required: ["decision"],
} as const;
const providerApproval = { type: "object", properties: { decision: allowed, note }, required: ["decision"] } as const;
const recovery = {
  type: "object",
  properties: { decision: { type: "string", title: "How it ended", enum: ["done", "failed", "run_again"] }, note },
  required: ["decision"],
} as const;

/**
 * What the person decided; null if they closed the form without an answer. To an approval, whatever is not a clear yes is
 * a no. To a call that was interrupted there is no "no": a form that is declined leaves it open.
 */
export function decisionOf({ action, content }: FormResponse, asked: PendingApproval): ApprovalDecision | null {
  if (action !== "accept" && action !== "decline") return null;
  const fields = (content !== null && typeof content === "object" ? content : {}) as FormContent;
  const isGiven = action === "accept";
  const said = typeof fields.note === "string" && fields.note !== "" ? { note: fields.note } : {};
  switch (asked.why) {
    case "tool":
      return isGiven ? { type: "reply", value: valueOfForm(fields, asked) } : { type: "decline" };
    case "recovery":
      return isGiven ? recovered(fields) : null;
    case "policy":
    case "provider":
      if (!isGiven || fields.decision !== "allow") return { type: "deny", ...said };
      return asked.why === "policy" ? allowedInput(fields.editedInput) : { type: "approve" };
    case "external":
      return null;
  }
}

function recovered({ decision, note }: FormContent): ApprovalDecision | null {
  const words = typeof note === "string" ? note : "";
  switch (decision) {
    case "done":
      return { type: "result", output: words || "The person says that this call has done its work." };
    case "failed":
      return { type: "fail", ...(words === "" ? {} : { note: words }) };
    case "run_again":
      return { type: "rerun" };
    default:
      return null;
  }
}

function allowedInput(edited: unknown): ApprovalDecision {
  if (typeof edited !== "string" || edited.trim() === "") return { type: "approve" };
  try {
    return { type: "modify", input: JSON.parse(edited) };
  } catch {
    return { type: "deny", note: "The other input was not JSON, so the call did not run." };
  }
}
