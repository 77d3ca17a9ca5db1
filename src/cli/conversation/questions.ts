/**
 * The questions of a session that are open, in the order in which they were asked.
 */
import type { Json, PendingApproval, PublicEvent } from "../../index.js";

export type OpenQuestion = Omit<PendingApproval, "sessionId" | "toolCallId"> & {
  /** The child session that asks; absent if this session asks. */
  readonly childId?: string;
};

type Requested = Extract<PublicEvent, { readonly type: "approval_requested" }>;
type Named = { readonly callKey: string; readonly questionId?: string };

function keyOf({ callKey, questionId }: Named): string {
  return `${callKey} ${questionId ?? ""}`;
}

export type OpenQuestions = {
  readonly all: () => readonly OpenQuestion[];
  readonly ask: (event: Requested) => void;
  readonly answered: (answered: Named) => void;
  /** Says which questions are open. */
  readonly replace: (approvals: readonly PendingApproval[], sessionId: string) => void;
  readonly clear: () => void;
};

export function createOpenQuestions(): OpenQuestions {
  const open = new Map<string, OpenQuestion>();
  const add = (question: OpenQuestion): void => {
    if (!open.has(keyOf(question))) open.set(keyOf(question), question);
  };
  return {
    all: () => [...open.values()],
    ask: ({ at, ...event }) => add({ ...event, askedAt: at }),
    answered: (answered) => {
      open.delete(keyOf(answered));
    },
    replace(approvals, sessionId) {
      const present = new Set(approvals.map(keyOf));
      for (const key of open.keys()) if (!present.has(key)) open.delete(key);
      for (const approval of approvals)
        add({ ...approval, ...(approval.sessionId === sessionId ? {} : { childId: approval.sessionId }) });
    },
    clear: () => open.clear(),
  };
}

/** The beginning of the title of a question: what is asked about a call. */
export function askedOf({ why }: Pick<OpenQuestion, "why">): string {
  return titles[why];
}

const titles: { readonly [Why in OpenQuestion["why"]]: string } = {
  policy: "wants to run",
  provider: "wants to run at the model's provider",
  recovery: "was interrupted, and how it ended is not known",
  external: "waits for a result from outside",
  tool: "asks",
};

/** Why a question is asked, for a person who wonders. */
export function reasonOf({ why, name, input, question }: OpenQuestion): string {
  switch (why) {
    case "policy":
      return (
        question ??
        `${name} can change something, and nobody has allowed it in advance. Tools that only read run without a question.`
      );
    case "provider":
      return `The model's provider runs ${name} itself, and asks before it does.`;
    case "recovery":
      return `The process ended while ${name} ran. It does not run again by itself, because it may have done its work already.`;
    case "external":
      return `${name} runs outside of Pawl. Its result comes from there.`;
    case "tool":
      return `${name} needs an answer from a person before it can go on.${isEmpty(input) ? "" : " Its input is shown above."}`;
  }
}

function isEmpty(input: Json): boolean {
  return typeof input === "object" && input !== null && Object.keys(input).length === 0;
}
