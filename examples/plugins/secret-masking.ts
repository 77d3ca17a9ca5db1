/**
 * A plugin that keeps secrets from the model and out of the log: both know them by name alone, `{{API_TOKEN}}`.
 *
 * Before a tool runs, a secret in its input becomes its name. The tool turns names into secrets itself, by the
 * service `secrets`. After the tool ran, the secrets in its output, errors included, become names again before
 * anything is kept. Keys of known shapes are removed too.
 */
import { isDeepStrictEqual } from "node:util";
import {
  createRedaction,
  type Hook,
  type Plugin,
  redactJson,
  redactOutput,
  type UserMessage,
  type UserPart,
} from "pawl";

/** The service `secrets`, for tools and other plugins. */
export type Secrets = {
  /** The text with names in the place of secrets. */
  readonly mask: (text: string) => string;
  /** The text with secrets in the place of their names; for the tool that needs one, and for nobody else. */
  readonly reveal: (text: string) => string;
};

/** @throws Error if a secret is too short to be told from words */
export function createSecretMasking(values: { readonly [name: string]: string }): Plugin {
  const secrets = secretsOf(values);
  return {
    name: "secret-masking",
    version: "1.0.0",
    setup({ registerHook, registerService }) {
      registerService("secrets", secrets);
      registerHook(maskingHook(secrets.mask));
    },
  };
}

function secretsOf(values: { readonly [name: string]: string }): Secrets {
  // The longest first: one secret may begin with another.
  const known = Object.entries(values).sort(([, a], [, b]) => b.length - a.length);
  for (const [name, value] of known)
    if (value.length < 8)
      throw new Error(`The secret ${name} is shorter than 8 characters: masking it would hit words.`);
  const redact = createRedaction();
  return {
    mask: (text) => redact(known.reduce((shown, [name, value]) => shown.replaceAll(value, () => `{{${name}}}`), text)),
    reveal: (text) =>
      text.replace(/\{\{([\w-]{1,100})\}\}/g, (written, name: string) =>
        Object.hasOwn(values, name) ? (values[name] ?? written) : written,
      ),
  };
}

/** If a hook fails, the call is blocked, the output withheld, or the step not made: nothing passes unmasked. */
function maskingHook(mask: Secrets["mask"]): Hook {
  return {
    name: "secret-masking",
    onFailure: "closed",
    beforeRun: ({ input }) => whereChanged("input", input, maskInput(input, mask)),
    beforeLLMCall: ({ systemPrompt = "" }) => whereChanged("systemPrompt", systemPrompt, mask(systemPrompt)),
    beforeToolCall: ({ input }) => whereChanged("input", input, redactJson(input, mask)),
    afterToolCall: ({ output }) => whereChanged("output", output, redactOutput(output, mask)),
  };
}

/** The answer of a hook; nothing if the hook changes nothing. */
function whereChanged<Key extends string, Value>(
  key: Key,
  before: Value,
  after: Value,
): { readonly [name in Key]: Value } | undefined {
  return isDeepStrictEqual(before, after) ? undefined : ({ [key]: after } as { readonly [name in Key]: Value });
}

function maskInput(input: readonly UserMessage[], mask: Secrets["mask"]): readonly UserMessage[] {
  return input.map((message) => ({ ...message, parts: message.parts.map((part) => maskPart(part, mask)) }));
}

/** Leaves files unchanged: it cannot see a secret in a screenshot. */
function maskPart<Part extends UserPart>(part: Part, mask: Secrets["mask"]): Part {
  return part.type === "text" ? { ...part, text: mask(part.text) } : part;
}
