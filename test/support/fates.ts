/**
 * Calls whose fate is told beforehand, for tests of what holds whatever becomes of a call.
 */
import { type CanExecuteTool, defineTool, done, type Json } from "../../src/index.js";
import type { ScriptedCall } from "../../src/testing/scripted-model.js";

export type Fate =
  | "ok"
  | "throw"
  /** Its result fills a small window. */
  | "long"
  /** It ends the run. */
  | "done"
  | "deny"
  | "policy throws"
  | "policy says nothing"
  /** There is no such tool. */
  | "missing"
  | "bad arguments";

export type FatedCall = {
  readonly fate: Fate;
  /** The provider's. */
  readonly id?: string;
};

export const manyWords = "A sentence of some length that fills the window. ".repeat(10);

export const actTool = defineTool({
  name: "act",
  description: "Acts.",
  input: { type: "object", properties: { fate: { type: "string" } }, required: ["fate"] },
  async execute({ fate }) {
    await null;
    if (fate === "throw") throw new Error("thrown");
    if (fate === "done") return done("Over.");
    return fate === "long" ? manyWords : "ok";
  },
});

/** A call of `act`; `distinguishingFields` make it differ from others: calls that repeat one another have rules of their own. */
export function createFatedCall(
  { fate, id }: FatedCall,
  distinguishingFields: { readonly [key: string]: Json },
): ScriptedCall {
  return {
    name: fate === "missing" ? "missing" : actTool.name,
    ...(id === undefined ? {} : { id }),
    ...(fate === "bad arguments"
      ? { raw: `{ ${Object.values(distinguishingFields).join(" ")}` }
      : { input: { fate, ...distinguishingFields } }),
  };
}

export const fatedPermission: CanExecuteTool = ({ input }) => {
  const { fate } = input as { readonly fate?: Fate };
  if (fate === "policy throws") throw new Error("no idea");
  if (fate === "policy says nothing") return undefined as never;
  return fate === "deny" ? "deny" : "allow";
};
