/**
 * The run options that a client may send, if the server's `clientOptions` allows them. `ClientSession.send` checks their values.
 */
import { type ClientRunOptions, PawlError } from "../../index.js";
import { ServerError } from "../server-error.js";
import type { ServerSettings } from "../server-settings.js";
import { anyJson, boolean, object, string } from "../shape.js";

export const runOptionsShape = object({
  systemPrompt: string("Replaces the agent's system prompt.", 100_000),
  activeTools: anyJson("The names of the tools that the model may use."),
  toolChoice: anyJson("Whether the model may, must or must not call tools."),
  interactive: boolean("False: calls that would ask a person are denied."),
  providerOptions: anyJson("Options for the model's provider."),
  model: string("One of the agent's models, by its name."),
  settings: anyJson("Settings of the model calls."),
  params: anyJson("The params of the run, passed to the agent's tools, hooks and policies."),
  output: anyJson("The JSON Schema of the run's output."),
  stopWhen: anyJson("Stop conditions."),
});

/**
 * Parses the options in a body. The cast is safe, because the library checks the values.
 * @throws PawlError `bad_input` for options that clients of this server may not set
 */
export function parseRunOptions(
  { input, options = {} }: { readonly input?: unknown; readonly options?: unknown },
  { checkClient }: ServerSettings,
): ClientRunOptions {
  checkClient({ input, options });
  return options as ClientRunOptions;
}

/** Reports an invalid option, such as a schema for `output`, as the client's mistake instead of the server author's. */
export async function withClientErrors<Result>(sending: Promise<Result>): Promise<Result> {
  try {
    return await sending;
  } catch (error) {
    if (error instanceof PawlError && error.code === "bad_configuration")
      throw new ServerError("bad_input", error.message);
    throw error;
  }
}
