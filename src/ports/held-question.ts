/**
 * Marks a tool's question whose call keeps running while it waits for the answer. Only for questions that arrive within a request that
 * would be lost if the tool were suspended, such as those of MCP servers of version 2025-11-25. Not part of the public API.
 */
import type { Question } from "./tool.js";

const heldMark = Symbol("held");

export function markHeld<T>(question: Question<T>): Question<T> {
  return Object.assign({}, question, { [heldMark]: true });
}

export function isHeld(question: Question<unknown>): boolean {
  return heldMark in question;
}
