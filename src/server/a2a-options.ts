/**
 * The option `a2a`: the agent that the server offers to clients of the Agent2Agent protocol.
 */
import type { Agent } from "../index.js";
import { checkOptionNames, createConfigurationError } from "./option-checks.js";

/** A skill of the agent, listed in its agent card. */
export type A2aSkill = {
  /** The machine-readable name, for example `refund`. */
  readonly id: string;
  /** The human-readable name. Default: the id. */
  readonly name?: string;
  /** Describes the skill. */
  readonly description: string;
  /** Keywords for finding the skill. Default: none. */
  readonly tags?: readonly string[];
  /** Example requests for this skill. Default: none. */
  readonly examples?: readonly string[];
};

/** The agent that the server offers over A2A, and its agent card. */
export type A2aOptions = {
  /** Describes the agent, for other agents and the people who choose it. */
  readonly description: string;
  /** The name of the agent that gets the messages. Default: the server's only agent. */
  readonly agent?: string;
  /** The skills of the agent. Default: one skill, with the agent's name and description. */
  readonly skills?: readonly A2aSkill[];
  /** The version of the agent, chosen by its author. Default: "1". */
  readonly version?: string;
  /**
   * The address at which clients reach `/a2a`, for example `https://agents.example.org/a2a`. Required behind a proxy. Default: the
   * origin of the request for the card.
   */
  readonly url?: string;
};

export type A2aSettings = {
  readonly agent: string;
  readonly description: string;
  readonly version: string;
  readonly skills: readonly Required<A2aSkill>[];
  readonly url: string | undefined;
};

const optionNames: ReadonlySet<string> = new Set(["description", "agent", "skills", "version", "url"]);
const skillNames: ReadonlySet<string> = new Set(["id", "name", "description", "tags", "examples"]);

/** @throws PawlError `bad_configuration` */
export function resolveA2a(options: A2aOptions, agents: readonly Agent[]): A2aSettings {
  checkOptionNames("a2a", options, optionNames);
  const { description, version = "1", url } = options;
  const agent = options.agent ?? findOnlyAgent(agents);
  if (!isText(agent)) throw createConfigurationError("a2a.agent must be the name of an agent.");
  if (!isText(description)) throw createConfigurationError("a2a.description must say what the agent does.");
  if (!isText(version)) throw createConfigurationError("a2a.version must be a non-empty string.");
  if (url !== undefined && !/^https?:\/\//.test(url))
    throw createConfigurationError("a2a.url must be the http or https address of the endpoint.");
  const skills = options.skills ?? [{ id: agent, description }];
  if (!Array.isArray(skills) || skills.length === 0)
    throw createConfigurationError("a2a.skills must be an array with at least one skill.");
  return { agent, description, version, url, skills: skills.map(resolveSkill) };
}

function findOnlyAgent(agents: readonly Agent[]): string {
  const [only, ...others] = agents;
  if (only !== undefined && others.length === 0) return only.options.name ?? "agent";
  throw createConfigurationError("a2a.agent is required, because the server does not have exactly one agent.");
}

function resolveSkill(skill: A2aSkill): Required<A2aSkill> {
  checkOptionNames("a2a.skills", skill, skillNames);
  const { id, name = id, description, tags = [], examples = [] } = skill;
  if (![id, name, description].every(isText) || ![tags, examples].every(isTexts))
    throw createConfigurationError(
      "Each skill in a2a.skills needs an id and a description. name must be a string; tags and examples must be arrays of strings.",
    );
  return { id, name, description, tags, examples };
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every(isText);
}
