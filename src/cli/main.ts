#!/usr/bin/env node
/**
 * The command `pawl`. It shows the prompt of a conversation first, and loads everything else behind it.
 */
import { stdin, stdout } from "node:process";
import { opensConversation } from "./opens-conversation.js";
import { openPrompt } from "./screen/prompt.js";

const streams = { input: stdin, output: stdout };
const isConversation = opensConversation(process.argv.slice(2), streams, process.env);
const prompt = isConversation ? openPrompt(streams, process.env) : null;
const { runProgram } = await import("./run-program.js");
await runProgram(prompt);
