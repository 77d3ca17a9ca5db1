/**
 * Answers the questions of a trial as people answered them in the record.
 *
 * A question is matched by its tool and input and, if a tool asks, by the question's id. The second such question gets the second
 * answer, and so on; the last answer is repeated.
 */
import type { PendingApproval } from "../core/view/pending-approval.js";
import { PawlError } from "../errors.js";
import type { ApprovalDecision } from "../runtime/agent/answer-types.js";
import type { EvalCase, RecordedAnswer, RecordedCall } from "./case.js";
import { toKey } from "./read-record.js";
import type { Departure } from "./trial.js";

/** How to answer a question that has no recorded answer. `stop` ends the trial at this question. */
export type Unanswered = "stop" | "approve" | "deny" | ((approval: PendingApproval) => ApprovalDecision);

export type RecordedPeople = {
  /** The decision of a person; null if the trial ends here. */
  readonly decide: (approval: PendingApproval) => ApprovalDecision | null;
  /** The result of a call that another program ran; null if the trial ends here. */
  readonly findResult: (approval: PendingApproval) => RecordedCall | null;
};

export function createRecordedPeople(
  { answers = [], calls = [] }: EvalCase,
  unanswered: Unanswered,
  onDeparture: (departure: Departure) => void,
): RecordedPeople {
  const used = new Map<string, number>();

  /** Returns the next item for the same question. The last item is repeated. */
  function takeNext<Item>(items: readonly Item[], key: string): Item | undefined {
    const count = used.get(key) ?? 0;
    used.set(key, count + 1);
    return items[Math.min(count, items.length - 1)];
  }

  function depart({ name, input }: PendingApproval, missing: Departure["missing"]): null {
    onDeparture({ agent: "", tool: name, input, missing });
    return null;
  }

  return {
    decide(approval) {
      const { name, input, questionId, why } = approval;
      const wanted = toKey(input);
      const isSame = (one: RecordedAnswer) =>
        one.tool === name && toKey(one.input) === wanted && (questionId === undefined || one.questionId === questionId);
      const found = takeNext(answers.filter(isSame), `${why} ${name} ${questionId ?? ""} ${wanted}`);
      if (found !== undefined) return toDecision(found);
      if (typeof unanswered === "function") return unanswered(approval);
      if (unanswered === "stop") return depart(approval, "answer");
      if (why === "tool") return { type: "decline", note: "No person answers in this trial." };
      return unanswered === "approve"
        ? { type: "approve" }
        : { type: "deny", note: "No person approves in this trial." };
    },
    findResult(approval) {
      const wanted = toKey(approval.input);
      const equal = calls.filter((call) => call.tool === approval.name && toKey(call.input) === wanted);
      return takeNext(equal, `result ${approval.name} ${wanted}`) ?? depart(approval, "result");
    },
  };
}

function toDecision({ answer, value, note }: RecordedAnswer): ApprovalDecision {
  const said = note === undefined ? {} : { note };
  switch (answer) {
    case "modify":
      return { type: "modify", input: value };
    case "reply":
      return { type: "reply", value };
    case "decline":
      return { type: "decline", ...said };
    case "deny":
      return { type: "deny", ...said };
    // The time limit for the answer had passed, and the call did not run.
    case "expired":
      return { type: "deny", note: note ?? "No answer arrived in time." };
    // The person chose to run a call of unknown outcome again.
    case "rerun":
    case "approve":
      return { type: "approve" };
    default:
      throw new PawlError("bad_input", `Unknown type ${JSON.stringify(answer)} of an answer in the case.`);
  }
}
