#!/usr/bin/env node
/**
 * Entry point of the command `pawl`. A conversation shows its prompt before anything else is loaded, and `--version` does not load the
 * program at all.
 */
import { stdin, stdout } from "node:process";
import { openPrompt } from "./screen/early-prompt.js";
import { readDisplaySettings } from "./terminal/display-settings.js";
import { shouldOpenConversation } from "./terminal/should-open-conversation.js";
import { readVersion } from "./version.js";

const words = process.argv.slice(2);
if (words.length === 1 && words[0] === "--version") stdout.write(`${readVersion()}\n`);
else await start();

async function start(): Promise<void> {
  const streams = { input: stdin, output: stdout };
  const display = readDisplaySettings(process.env);
  const isConversation = shouldOpenConversation(words, streams, process.env, display);
  const prompt = isConversation && display !== null ? openPrompt(streams, process.env, display.theme) : null;
  const { runProgram } = await import("./run-program.js");
  await runProgram(prompt, display?.theme);
}
