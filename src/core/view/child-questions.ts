/**
 * The questions of child sessions, as their parent shows them.
 *
 * The parent's log records which entry of a child was reported to it. The questions are those that were open after this entry of the
 * child's log, so a parent shows the same questions whenever its log is read.
 */

import { findChildCalls } from "../machine/child-reports.js";
import type { Event } from "../machine/event.js";
import { callOf, type State } from "../machine/state.js";
import type { PendingApproval } from "./pending-approval.js";

/** An entry of a child session. */
export type ChildPlace = { readonly childId: string; readonly seq: number };

/**
 * Returns the questions that a child session had open after its entry `seq`, including those of its own children. `seq` is undefined if the
 * child has not reported yet.
 */
export type ChildQuestions = (childId: string, seq: number | undefined) => readonly PendingApproval[];

export const noQuestions: ChildQuestions = () => [];

/** The entries in the logs of children whose questions are shown by an entry's public events. */
export function questionPlaces(before: State, event: Event, after: State): readonly ChildPlace[] {
  const reports: ChildPlace[] = [];
  const add = (childId: string | undefined, seq: number | undefined): void => {
    if (childId !== undefined && seq !== undefined) reports.push({ childId, seq });
  };
  if (event.type === "child_waiting") {
    const earlier = findEarlierReport(before, event.callKey);
    add(earlier?.childId, earlier?.seq);
    add(event.childId, event.childSeq);
  }
  if (after.status === "awaiting_human" && (before.status !== "awaiting_human" || event.type === "child_waiting"))
    for (const { childId, childSeq } of findChildCalls(after)) add(childId, childSeq);
  return reports;
}

function findEarlierReport(before: State, callKey: string): ChildPlace | undefined {
  const call = callOf(before, callKey);
  if (call === undefined || !("childSeq" in call) || call.childSeq === undefined || call.childId === undefined)
    return undefined;
  return { childId: call.childId, seq: call.childSeq };
}

/**
 * The questions in a child's report that were not open at its previous report. A child that does not wait may have some: questions of a
 * tool that keeps running.
 */
export function findNewQuestions(
  before: State,
  event: Extract<Event, { readonly type: "child_waiting" }>,
  questions: ChildQuestions,
): readonly PendingApproval[] {
  const earlier = findEarlierReport(before, event.callKey);
  const known = earlier === undefined ? [] : questions(earlier.childId, earlier.seq);
  return questions(event.childId, event.childSeq).filter((one) => !known.some((other) => isSameQuestion(one, other)));
}

function isSameQuestion(one: PendingApproval, other: PendingApproval): boolean {
  return (
    one.sessionId === other.sessionId &&
    one.callKey === other.callKey &&
    one.questionId === other.questionId &&
    one.askedAt === other.askedAt &&
    one.inputHash === other.inputHash
  );
}
