/**
 * The settings of an agent, in the form that the agent takes.
 */
import type { PromptCache } from "../../index.js";
import { findSettingValue, type ResolvedConfiguration } from "./resolve-configuration.js";

export type AgentSettings = {
  readonly systemPromptEnd: string | undefined;
  /** Null if no setting turns the shell on or off. */
  readonly shellIsOn: boolean | null;
  readonly shell: {
    readonly timeoutMs: number;
    readonly env: { readonly [name: string]: string };
  };
  readonly sandbox: SandboxSettings;
  /** The commands that run without a question because they only read. */
  readonly unasked: readonly string[];
  readonly toolsOff: ReadonlySet<string>;
  readonly skillsOff: readonly string[];
  /** Null if no setting configures prompt caching. */
  readonly promptCache: PromptCache | null;
  readonly contextFiles: { readonly names: readonly string[]; readonly maxBytes: number };
};

export type SandboxSettings = {
  readonly mode: "auto" | "required" | "off";
  readonly hosts: readonly string[];
  readonly addresses: readonly string[];
  readonly show: readonly string[];
  readonly write: readonly string[];
  /** Whether a command may ask to run outside. */
  readonly outside: "ask" | "never";
  /** Which commands ask. */
  readonly ask: "always" | "outside";
};

export function toAgentSettings(
  { settings }: Pick<ResolvedConfiguration, "settings">,
  environment: { readonly [name: string]: string | undefined } = process.env,
): AgentSettings {
  // The table of the settings has checked each value.
  const value = <T>(key: string) => findSettingValue(settings, key) as T;
  const env = value<readonly string[]>("shell.env").flatMap((name) => {
    const currentValue = environment[name];
    return currentValue === undefined ? [] : [[name, currentValue] as const];
  });
  return {
    systemPromptEnd: value("systemPrompt.append"),
    shellIsOn: value<boolean | undefined>("shell.on") ?? null,
    shell: { timeoutMs: value("shell.timeoutMs"), env: Object.fromEntries(env) },
    sandbox: {
      mode: value("shell.sandbox"),
      hosts: value("shell.hosts"),
      addresses: value("shell.addresses"),
      show: value("shell.show"),
      write: value("shell.write"),
      outside: value("shell.outside"),
      ask: value("shell.ask"),
    },
    unasked: value("shell.unasked"),
    toolsOff: new Set(value<readonly string[]>("tools.off")),
    skillsOff: value("skills.off"),
    promptCache: value<PromptCache | undefined>("promptCache") ?? null,
    contextFiles: { names: value("context.files"), maxBytes: value("context.maxBytes") },
  };
}
