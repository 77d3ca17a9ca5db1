/**
 * The settings of `pawl.config.json`. This table is the single source for parsing the file, `pawl config`, the trust in a folder and the
 * JSON Schema.
 */
import { nearestName } from "../../core/index.js";
import type { Json, PromptCache } from "../../index.js";
import { readHostPattern } from "../../tools/sandbox/hosts.js";
import { isAddressRange } from "../../tools/web/address-rules.js";
import { readingNames } from "../permissions/known-commands.js";
import { canBeTurnedOff, toolsElsewhere, toolsToTurnOff } from "../permissions/rule.js";
import { joinWords } from "../terminal/text.js";
import { themes } from "../terminal/text-style.js";
import { findAliasesProblem, isModelName, isVariableName } from "./model-aliases.js";

/** The type of a value. */
export type SettingKind =
  | { readonly type: "text" }
  | { readonly type: "whole number" }
  | { readonly type: "number" }
  | { readonly type: "yes or no" }
  | { readonly type: "one of"; readonly choices: readonly string[] }
  | { readonly type: "some of"; readonly choices: readonly string[] }
  | { readonly type: "texts" }
  | { readonly type: "names of tools" }
  | { readonly type: "names of files" }
  | { readonly type: "names of variables" }
  | { readonly type: "hosts" }
  | { readonly type: "addresses" }
  | { readonly type: "models" }
  | { readonly type: "names of models" };

export type SettingRule = {
  readonly kind: SettingKind;
  readonly about: string;
  /** The effect if a folder sets it. The value is shown after these words. */
  readonly effect?: string;
};

const promptCaches: readonly PromptCache[] = ["auto", "5m", "1h", "off"];

const wholeNumberKind = { type: "whole number" } as const;
const stringList = { type: "texts" } as const;

/** Keyed by the path in the file. */
export const settingTable: { readonly [key: string]: SettingRule } = {
  model: {
    kind: { type: "text" },
    about: "The model of new sessions: provider/model, or demo.",
    effect: "sets the model",
  },
  models: {
    kind: { type: "models" },
    about: "Your own names for models, with their settings. If two files have the same name, the stronger file wins.",
    effect: "names models, their addresses and the keys that they get",
  },
  fallbacks: {
    kind: { type: "names of models" },
    about: "Models to try in order after a model has failed: provider/model, or your own names. Default: none.",
    effect: "sets the models that take over when one fails, and so who gets the conversation",
  },
  promptCache: {
    kind: { type: "one of", choices: promptCaches },
    about: "How long providers are asked to cache prompts. Default: 1h in conversations, auto elsewhere.",
    effect: "sets how providers cache prompts, which changes what runs cost",
  },
  "limits.maxSteps": {
    kind: wholeNumberKind,
    about: "The maximum number of model calls in a run.",
    effect: "sets the limit maxSteps",
  },
  "limits.maxTokens": {
    kind: wholeNumberKind,
    about: "The maximum number of tokens in a run, input and output together.",
    effect: "sets the limit maxTokens",
  },
  "limits.maxCostUsd": {
    kind: { type: "number" },
    about: "The maximum cost of a run, in US dollars.",
    effect: "sets the limit maxCostUsd",
  },
  "limits.maxWallClockMs": {
    kind: wholeNumberKind,
    about: "The maximum duration of a run, in milliseconds.",
    effect: "sets the limit maxWallClockMs",
  },
  "systemPrompt.append": {
    kind: { type: "text" },
    about: "Text that is appended to the system prompt.",
    effect: "adds to the system prompt",
  },
  "shell.on": {
    kind: { type: "yes or no" },
    about:
      "Whether the agent can run commands. Default: in conversations, which ask first; elsewhere only with --allow-shell.",
    effect: "decides whether the agent can run commands on this machine",
  },
  "shell.sandbox": {
    kind: { type: "one of", choices: ["auto", "required", "off"] },
    about: "auto: a sandbox if one works on this machine. required: no commands without one. off: no sandbox.",
    effect: "sets the sandbox of commands",
  },
  "shell.hosts": {
    kind: { type: "hosts" },
    about:
      "Hosts that commands in the sandbox reach without a question: npm, api.example.org, *.example.org, db.example.org:5432.",
    effect: "lets commands reach these hosts",
  },
  "shell.addresses": {
    kind: { type: "addresses" },
    about: "Private addresses and ranges that these hosts may resolve to: 10.1.0.0/16.",
    effect: "lets the hosts of commands resolve to these private addresses",
  },
  "shell.show": {
    kind: stringList,
    about: "Files and folders outside of the folder that commands in the sandbox can read.",
    effect: "shows commands these files and folders",
  },
  "shell.write": {
    kind: stringList,
    about: "Folders outside of the folder that commands in the sandbox can write.",
    effect: "lets commands write these folders",
  },
  "shell.outside": {
    kind: { type: "one of", choices: ["ask", "never"] },
    about: "ask: a command may ask to run outside of the sandbox. never: it may not.",
    effect: "decides whether commands may ask to run outside of the sandbox",
  },
  "shell.ask": {
    kind: { type: "one of", choices: ["always", "outside"] },
    about: "outside: commands in the sandbox run without a question, unless they ask for more than it gives.",
    effect: "decides which commands run without a question",
  },
  "shell.timeoutMs": { kind: wholeNumberKind, about: "The maximum duration of a command, in milliseconds." },
  "shell.env": {
    kind: { type: "names of variables" },
    about: "Your environment variables that commands get in addition to basic ones such as PATH.",
    effect: "gives commands these variables of yours",
  },
  "shell.unasked": {
    kind: { type: "some of", choices: readingNames },
    about: "Commands that run without a question because they only read, by their names. []: none.",
    effect: "decides which reading commands run without a question",
  },
  "tools.off": {
    kind: { type: "names of tools" },
    about: "Tools that the agent does not have, by their names.",
    effect: "turns tools off",
  },
  "context.files": {
    kind: { type: "names of files" },
    about: "Names of the files with instructions for agents. In each folder, the first file that exists is used.",
    effect: "gives the model the files named",
  },
  "context.maxBytes": { kind: wholeNumberKind, about: "The maximum size of all these files together, in bytes." },
  "skills.off": {
    kind: stringList,
    about: "Skills that are hidden from the model, by their names.",
    effect: "turns skills off",
  },
  "ui.theme": {
    kind: { type: "one of", choices: themes },
    about: "auto: the colors of the terminal, if it has some. none: no colors.",
    effect: "sets the colors of the conversation",
  },
  "ui.screenReader": {
    kind: { type: "yes or no" },
    about: "Whether a conversation only appends text, as with --screen-reader.",
    effect: "decides whether the conversation has a live screen",
  },
  "ui.bell": {
    kind: { type: "one of", choices: ["off", "when-waiting"] },
    about: "when-waiting: a conversation rings the bell of the terminal when a call waits for your answer.",
  },
  "ui.notify": {
    kind: { type: "one of", choices: ["auto", "off"] },
    about:
      "auto: a conversation shows a notification on the desktop when a call waits for your answer or long work has ended, if the window has no focus.",
  },
};

/** The defaults. A setting that is not listed here has no default value. */
export const settingDefaults: { readonly [key: string]: Json } = {
  "shell.sandbox": "auto",
  "shell.hosts": [],
  "shell.addresses": [],
  "shell.show": [],
  "shell.write": [],
  "shell.outside": "ask",
  "shell.ask": "always",
  "shell.timeoutMs": 120_000,
  "shell.env": [],
  "shell.unasked": readingNames,
  "tools.off": [],
  "context.files": ["AGENTS.md", "CLAUDE.md"],
  "context.maxBytes": 65_536,
  "skills.off": [],
  "ui.theme": "auto",
  "ui.screenReader": false,
  "ui.bell": "off",
  "ui.notify": "auto",
};

/** Describes what is wrong with a value; null if it is valid. */
export function findSettingProblem(kind: SettingKind, value: Json): string | null {
  switch (kind.type) {
    case "text":
      return typeof value === "string" && value.trim() !== "" ? null : "must be a string that is not empty";
    case "whole number":
      return Number.isSafeInteger(value) && Number(value) > 0 ? null : "must be a number above 0, without a fraction";
    case "number":
      return typeof value === "number" && value > 0 ? null : "must be a number above 0";
    case "yes or no":
      return typeof value === "boolean" ? null : "must be true or false";
    case "one of":
      return kind.choices.some((choice) => choice === value) ? null : `must be ${joinWords(kind.choices, "or")}`;
    case "some of": {
      const isKnown = (one: Json) => kind.choices.some((choice) => choice === one);
      return isList(value, isKnown) ? null : `must be a list of some of these: ${kind.choices.join(", ")}`;
    }
    case "texts":
      return isList(value, (one) => typeof one === "string" && one !== "") ? null : "must be a list of names";
    case "names of tools":
      return findToolsProblem(value);
    case "names of files":
      return isList(value, (one) => typeof one === "string" && /^[^/\\\0]{1,255}$/.test(one)) && value.length > 0
        ? null
        : "must be a list of names of files, without folders";
    case "names of variables":
      return isList(value, isVariableName) ? null : "must be a list of names of environment variables";
    case "hosts":
      return findHostsProblem(value);
    case "addresses":
      return isList(value, (one) => typeof one === "string" && isAddressRange(one))
        ? null
        : 'must be a list of addresses such as "10.1.2.3", or ranges such as "10.1.0.0/16"';
    case "models":
      return findAliasesProblem(value);
    case "names of models":
      return isList(value, (one) => typeof one === "string" && isModelName(one)) && value.length <= maxFallbacks
        ? null
        : `must be a list of at most ${maxFallbacks} models: provider/model, or your own names`;
  }
}

/**
 * A name that resembles a tool is probably misspelled, and the tool that it means would stay on: it is refused. Any other name turns
 * nothing off, and may be a tool of another version of Pawl: it is only reported, as an unknown name in a permission rule is accepted.
 */
function findToolsProblem(value: Json): string | null {
  if (!isList(value, (one) => typeof one === "string")) return "must be a list of tools";
  for (const tool of listUnknownTools(value)) {
    const nearest = findNearestTool(tool);
    if (nearest !== undefined) return `names ${JSON.stringify(tool)}, which is not a tool (did you mean ${nearest}?)`;
  }
  return null;
}

/** The names in a value of `tools.off` that are not tools. */
export function listUnknownTools(value: Json): readonly string[] {
  return Array.isArray(value) ? value.map(String).filter((tool) => !canBeTurnedOff(tool)) : [];
}

export function describeUnknownTool(tool: string): string {
  return `names ${JSON.stringify(tool)}, which is not a tool (the tools are ${toolsToTurnOff.join(", ")})`;
}

function findNearestTool(tool: string): string | undefined {
  return toolsElsewhere.get(tool) ?? nearestName(tool, toolsToTurnOff);
}

function findHostsProblem(value: Json): string | null {
  if (!isList(value, (one) => typeof one === "string")) return "must be a list of hosts";
  for (const host of value) {
    const pattern = readHostPattern(String(host));
    if (typeof pattern === "string") return `has ${JSON.stringify(host)}, which is not valid: ${pattern}`;
  }
  return null;
}

const maxInList = 200;
/** Each has its own attempts, so a run with more would only fail later. */
export const maxFallbacks = 10;

function isList(value: Json, isValid: (one: Json) => boolean): value is readonly Json[] {
  return Array.isArray(value) && value.length <= maxInList && value.every(isValid);
}
