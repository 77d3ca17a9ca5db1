/**
 * Marks a question of a tool whose call goes on running while it waits for the answer. Only for questions that come
 * within a request which would be lost if the tool were let go, as MCP servers of 2025-11-25 ask them. No part of the
 * public API.
 */
import type { Question } from "./tool.js";

const heldMark = Symbol("held");

export function markHeld<T>(question: Question<T>): Question<T> {
  return Object.assign({}, question, { [heldMark]: true });
}

export function isHeld(question: Question<unknown>): boolean {
  return heldMark in question;
}
