/**
 * The possible decisions about a waiting call, and their keys.
 */
import type { ApprovalDecision } from "../../index.js";
import type { WaitingCall } from "./app-state.js";
import { toFormFields } from "./input-form.js";

/** One way to answer, with its key. */
export type Choice = { readonly key: string; readonly label: string } & (
  | { readonly type: "send"; readonly decision: ApprovalDecision }
  /** An input, a result or a reply that the person writes. */
  | {
      readonly type: "write";
      readonly schema: unknown;
      readonly initialValue: unknown;
      readonly toDecision: (value: unknown) => ApprovalDecision;
    }
  /** A denial, with a note that may be empty. */
  | { readonly type: "note"; readonly toDecision: (note: string) => ApprovalDecision }
);

export type WriteChoice = Extract<Choice, { readonly type: "write" }>;
export type NoteChoice = Extract<Choice, { readonly type: "note" }>;

export type Choices = {
  /** One sentence that explains why a person is asked. */
  readonly why: string;
  /** In the order of the buttons. */
  readonly choices: readonly Choice[];
};

/** The same keys as in the terminal: `y` and `n` for approvals, `d`, `f` and `a` for an interrupted call. */
export function listChoices(approval: WaitingCall): Choices {
  switch (approval.why) {
    case "policy":
    case "provider":
      return approvalChoices(approval);
    case "recovery":
      return {
        why: "The process stopped while this call ran. Nobody knows whether it was done.",
        choices: [
          {
            type: "write",
            key: "d",
            label: "It is done",
            schema: undefined,
            initialValue: "",
            toDecision: (output) => ({
              type: "result",
              output: output === "" ? "The person says that this call has done its work." : output,
            }),
          },
          { type: "note", key: "f", label: "It failed", toDecision: (note) => ({ type: "fail", ...pickNote(note) }) },
          { type: "send", key: "a", label: "Run it again", decision: { type: "rerun" } },
        ],
      };
    case "external":
      return {
        why: "This call is done outside of Pawl. The run waits for its result.",
        choices: [
          {
            type: "write",
            key: "e",
            label: "Give the result",
            schema: undefined,
            initialValue: "",
            toDecision: (output) => ({ type: "result", output }),
          },
          {
            type: "note",
            key: "f",
            label: "It failed",
            toDecision: (note) => ({ type: "result", output: note === "" ? "The call failed." : note, isError: true }),
          },
        ],
      };
    case "tool":
      return {
        why: "The tool asks while it runs.",
        choices: [
          replyChoice(approval.schema),
          { type: "note", key: "n", label: "Decline", toDecision: (note) => ({ type: "decline", ...pickNote(note) }) },
        ],
      };
  }
}

/** A form edits an object, so an answer of one value is the only field of one. */
function replyChoice(schema: unknown): WriteChoice {
  const base = { type: "write", key: "e", label: "Reply", initialValue: undefined } as const;
  const form = {
    type: "object",
    properties: { answer: { title: "Your answer", ...Object(schema) } },
    required: ["answer"],
  };
  const [field] = toFormFields(form) ?? [];
  const isOneValue = field !== undefined && field.kind !== "group" && field.kind !== "list";
  if (!isOneValue) return { ...base, schema, toDecision: (value) => ({ type: "reply", value }) };
  return { ...base, schema: form, toDecision: (value) => ({ type: "reply", value: Object(value).answer }) };
}

function approvalChoices({ why, tool, input }: WaitingCall): Choices {
  const edit: Choice = {
    type: "write",
    key: "e",
    label: "Edit",
    schema: tool?.inputSchema,
    initialValue: input,
    toDecision: (edited) => ({ type: "modify", input: edited }),
  };
  return {
    why:
      why === "provider"
        ? "The model's provider runs this tool, and asks before it does."
        : "This tool runs only after somebody has allowed it.",
    choices: [
      { type: "send", key: "y", label: "Approve", decision: { type: "approve" } },
      ...(why === "provider" ? [] : [edit]),
      { type: "note", key: "n", label: "Deny", toDecision: (note) => ({ type: "deny", ...pickNote(note) }) },
    ],
  };
}

function pickNote(note: string): { readonly note?: string } {
  return note.trim() === "" ? {} : { note: note.trim() };
}
