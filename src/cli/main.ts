#!/usr/bin/env node
/**
 * The command `pawl`. It shows the prompt of a conversation first, and loads everything else behind it.
 */
import { stdin, stdout } from "node:process";
import { opensConversation } from "./opens-conversation.js";
import { ownLook } from "./own-look.js";
import { openPrompt } from "./screen/prompt.js";

const streams = { input: stdin, output: stdout };
const look = ownLook(process.env);
const isConversation = opensConversation(process.argv.slice(2), streams, process.env, look);
const prompt = isConversation && look !== null ? openPrompt(streams, process.env, look.theme) : null;
const { runProgram } = await import("./run-program.js");
await runProgram(prompt, look?.theme);
