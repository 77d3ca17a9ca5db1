/**
 * A conversation in a pseudo-terminal with a local server that plays the model.
 */
import { expect, onTestFinished } from "vitest";
import type { World } from "../cli/pawl.js";
import { type Script, startProviderServer } from "../models/provider-server.js";
import { openPawl, type Person } from "./pseudo-terminal.js";

/** @param extraEnv variables of the environment */
export async function startConversation(
  world: World,
  script: Script,
  args: readonly string[] = [],
  extraEnv: { readonly [name: string]: string } = {},
) {
  const server = await startProviderServer("openai-chat", script);
  onTestFinished(() => server.close());
  const env = { OPENAI_BASE_URL: server.baseURL, ...extraEnv };
  const person = openPawl(world, ["--model", "openai-compatible/test", ...args], { rows: 40, env });
  await person.sees("ready");
  return { person, server, env };
}

/** Types what opens a pager, and waits until Pawl has the terminal again: it does not get what is typed before. */
export async function usePager(person: Person, keys: string): Promise<void> {
  const before = person.bytes().length;
  person.type(keys);
  await expect.poll(() => person.bytes().slice(before)).toContain("\x1b[?2004h");
}
