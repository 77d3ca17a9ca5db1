/**
 * Describes the end of an agent in the background, for a person.
 */
import { reasons } from "../../core/index.js";
import type { PublicEventOf } from "../../index.js";
import { sanitize, toOneLine } from "../terminal/text.js";

type EndEvent = PublicEventOf<"run_started" | "run_queued" | "steered">;

/** For example `Agent reviewer has failed (max_steps)`. */
export function formatEndedAgent({ by = "", finishedChild = "", childReason }: EndEvent): {
  readonly text: string;
  readonly color: "dim" | "yellow" | "red";
} {
  // `by` names the agent as its session knows it, with the agent that called it: "agent pawl/reviewer".
  const name = sanitize(toOneLine(by.replace(/^agent /, "").replace(/^.*\//, ""))) || finishedChild.slice(0, 8);
  const status = childReason === undefined ? "completed" : reasons[childReason].status;
  switch (status) {
    case "completed":
      return { text: `Agent ${name} has ended`, color: "dim" };
    case "failed":
      return { text: `Agent ${name} has failed (${childReason})`, color: "red" };
    case "aborted":
      return { text: `Agent ${name} was stopped (${childReason})`, color: "yellow" };
  }
}
