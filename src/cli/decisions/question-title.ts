/**
 * The title of a question: what is asked about a call.
 */
import type { PendingApproval } from "../../index.js";
import { isOutsideCall, wantsOutside } from "../permissions/decide-sandbox.js";

/** The text after the name of the call. */
export function formatQuestionTitle({ why, name, input }: Pick<PendingApproval, "why" | "name" | "input">): string {
  return why === "policy" && isOutsideCall({ name, input }) ? wantsOutside : titleByReason[why];
}

const titleByReason: { readonly [Why in PendingApproval["why"]]: string } = {
  policy: "wants to run",
  provider: "wants to run at the model's provider",
  recovery: "was interrupted, and how it ended is not known",
  external: "waits for a result from outside",
  tool: "asks",
};
