/**
 * The options of a run that may come over the wire: those of `ClientSession.send`, which checks their values.
 */
import type { PostOptions } from "../../index.js";
import { flag, json, objectOf, text } from "../shape.js";

export const postOptions = objectOf({
  systemPrompt: text("Takes the place of the agent's.", 100_000),
  activeTools: json("The names of the tools that the model may use."),
  toolChoice: json("Whether the model may, must or must not call tools."),
  interactive: flag("False: calls that would ask somebody are denied."),
  providerOptions: json("Options for the model's provider."),
  model: text("One of the agent's models, by its name."),
  settings: json("Settings of the model calls."),
  output: json("The JSON Schema of the answer."),
  stopWhen: json("Stop conditions."),
});

/** The cast trusts the library, which checks the values. */
export function postOptionsIn(options: unknown): PostOptions {
  return (options ?? {}) as PostOptions;
}
