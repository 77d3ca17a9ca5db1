/**
 * What a client may request when it sends input to another author's agent.
 *
 * The options of a run override those of the agent, so each of them is a decision of the agent's author. A client that reaches an agent
 * over a network may set only the options that the author names.
 */
import { isObject } from "../../core/data/is-object.js";
import type { ModelSettings } from "../../core/data/model-settings.js";
import { nearestName } from "../../core/data/nearest-name.js";
import { PawlError } from "../../errors.js";
import type { PostOptions } from "./client.js";

/** The run options that can override an author's choices. */
export type ClientRunOptions = Pick<
  PostOptions,
  | "systemPrompt"
  | "activeTools"
  | "toolChoice"
  | "interactive"
  | "providerOptions"
  | "model"
  | "settings"
  | "params"
  | "output"
  | "stopWhen"
>;

/** A run option that clients may set. `settings.reasoning` is one setting of the model calls; `settings` is all of them. */
export type ClientOption = keyof ClientRunOptions | `settings.${keyof ModelSettings}`;

const optionNames: { readonly [Name in keyof ClientRunOptions]-?: true } = {
  systemPrompt: true,
  activeTools: true,
  toolChoice: true,
  interactive: true,
  providerOptions: true,
  model: true,
  settings: true,
  params: true,
  output: true,
  stopWhen: true,
};

const settingNames: { readonly [Name in keyof ModelSettings]-?: true } = {
  temperature: true,
  topP: true,
  topK: true,
  maxOutputTokens: true,
  stopSequences: true,
  seed: true,
  presencePenalty: true,
  frequencyPenalty: true,
  reasoning: true,
  parallelToolCalls: true,
};

const clientOptionNames: readonly string[] = [
  ...Object.keys(optionNames),
  ...Object.keys(settingNames).map((name) => `settings.${name}`),
];

/** Who sends the request, and how it is delivered. These override none of the author's choices. */
const deliveryNames: ReadonlySet<string> = new Set(["agent", "by", "mode", "runId", "skip"]);

/** A client's request before it is checked. */
export type ClientRequest = {
  /** The input of the run. */
  readonly input: unknown;
  /** The options of the run, as an object. */
  readonly options?: unknown;
};

/**
 * Creates the check for an endpoint through which clients send input to your agents. The check throws a PawlError `bad_input` for every run
 * option that is not in the list, and for `providerMetadata` of the input's parts unless `providerOptions` is allowed. It does not check
 * values: `send` does. The server and `pawlObject` use it for their option `clientOptions`.
 * @throws PawlError `bad_configuration` for an unknown name
 *
 * @example
 * ```ts
 * const check = createClientCheck(["settings.reasoning"]);
 * async function receive(session: Session, { input, options }: { input: string; options: SendOptions }, by: string) {
 *   check({ input, options });
 *   await session.send(input, { ...options, by });
 * }
 * ```
 */
export function createClientCheck(allowed: readonly ClientOption[]): (request: ClientRequest) => void {
  if (!Array.isArray(allowed))
    throw new PawlError("bad_configuration", "The allowed client options must be an array of names.");
  for (const name of allowed as readonly unknown[]) checkOptionName(name);
  const names: ReadonlySet<string> = new Set(allowed);
  return ({ input, options }) => {
    const refused = findRefusedOption(options, names);
    if (refused !== null)
      throw new PawlError("bad_input", `Clients may not set the run option ${refused} here. ${formatAllowed(allowed)}`);
    if (!names.has("providerOptions") && hasMetadata(input))
      throw new PawlError(
        "bad_input",
        `The input has a part with providerMetadata. Clients may not set it here, because it contains options for the model's provider (providerOptions). ${formatAllowed(allowed)}`,
      );
  };
}

function checkOptionName(name: unknown): void {
  if (typeof name === "string" && clientOptionNames.includes(name)) return;
  const near = typeof name === "string" ? nearestName(name, clientOptionNames) : undefined;
  const hint = near === undefined ? "" : ` Do you mean ${near}?`;
  throw new PawlError(
    "bad_configuration",
    `Clients cannot be allowed to set the run option ${JSON.stringify(String(name).slice(0, 100))}.${hint} The names are ${clientOptionNames.join(", ")}.`,
  );
}

function formatAllowed(allowed: readonly ClientOption[]): string {
  return `They may set ${allowed.length === 0 ? "none" : allowed.join(", ")}. The author of the service decides that with clientOptions.`;
}

function findRefusedOption(options: unknown, allowed: ReadonlySet<string>): string | null {
  for (const [name, value] of Object.entries(Object(options))) {
    if (allowed.has(name) || deliveryNames.has(name)) continue;
    if (name !== "settings") return JSON.stringify(name.slice(0, 100));
    const setting = Object.keys(Object(value)).find((one) => !allowed.has(`settings.${one}`));
    if (setting !== undefined || !isObject(value)) return JSON.stringify(`settings.${setting ?? ""}`.slice(0, 100));
  }
  return null;
}

/** The input is a list of parts, or of messages that have parts. */
function hasMetadata(input: unknown): boolean {
  return toList(input).some((one) =>
    [one, ...toList(Object(one).parts)].some((part) => Object.hasOwn(Object(part), "providerMetadata")),
  );
}

function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
