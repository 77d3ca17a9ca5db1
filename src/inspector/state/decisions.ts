/**
 * What can be decided about a call that waits. Each kind of question has a yes, an answer of one's own, and a no.
 */
import type { ApprovalDecision } from "../../index.js";
import type { Waiting } from "./app-state.js";

type Choice = { readonly label: string };

export type Choices = {
  /** One sentence: why somebody is asked. */
  readonly why: string;
  readonly yes: (Choice & { readonly decision: ApprovalDecision }) | null;
  /** An input, a result or a reply that is written here. */
  readonly own:
    | (Choice & {
        readonly schema: unknown;
        readonly before: unknown;
        readonly decisionOf: (value: unknown) => ApprovalDecision;
      })
    | null;
  readonly no: (Choice & { readonly decisionOf: (note: string) => ApprovalDecision }) | null;
};

export function choicesOf(approval: Waiting): Choices {
  switch (approval.why) {
    case "policy":
    case "provider":
      return approvalChoices(approval);
    case "recovery":
      return {
        why: "The process stopped while this call ran. Nobody knows whether it was done.",
        yes: { label: "Run again", decision: { type: "rerun" } },
        own: {
          ...{ label: "Give the result", schema: undefined, before: "" },
          decisionOf: (output) => ({ type: "result", output }),
        },
        no: {
          label: "Count as failed",
          decisionOf: (note) => ({ type: "fail", ...noted(note) }),
        },
      };
    case "external":
      return {
        why: "This call is done outside of Pawl. The run waits for its result.",
        yes: null,
        own: {
          ...{ label: "Give the result", schema: undefined, before: "" },
          decisionOf: (output) => ({ type: "result", output }),
        },
        no: {
          ...{ label: "It failed" },
          decisionOf: (note) => ({ type: "result", output: note === "" ? "The call failed." : note, isError: true }),
        },
      };
    case "tool":
      return {
        why: "The tool asks while it runs.",
        yes: null,
        own: {
          ...{ label: "Reply", schema: approval.schema, before: undefined },
          decisionOf: (value) => ({ type: "reply", value }),
        },
        no: { label: "Decline", decisionOf: (note) => ({ type: "decline", ...noted(note) }) },
      };
  }
}

function approvalChoices({ why, tool, input }: Waiting): Choices {
  return {
    why:
      why === "provider"
        ? "The model's provider runs this tool, and asks before it does."
        : "This tool runs only after somebody has allowed it.",
    yes: { label: "Approve", decision: { type: "approve" } },
    own:
      why === "provider"
        ? null
        : {
            ...{ label: "Edit", schema: tool?.inputSchema, before: input },
            decisionOf: (edited) => ({ type: "modify", input: edited }),
          },
    no: { label: "Deny", decisionOf: (note) => ({ type: "deny", ...noted(note) }) },
  };
}

function noted(note: string): { readonly note?: string } {
  return note.trim() === "" ? {} : { note: note.trim() };
}
